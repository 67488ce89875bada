"""Below the page's pictures: photos that are nearest to this one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from app import permissions, texts
from app.components.figure import show_explanation_fold
from app.components.page_style.page_style import scale_to_page_px
from app.shell import photo_ids_and_titles, photo_picker, query_controls
from app.state.jobs import photo_search_job
from app.state.jobs.photo_search_job import Own
from app.texts import escape_markdown
from app.views.tokens.tokens_message import TokensVisit, patch_name
from app.widgets.button_until_done import button_holding_press
from vitcore.translation import decimal

if TYPE_CHECKING:
    from vitcore.tokens.photo_search import PhotoIndex

WHERE, BY, FOLDER = "search_in", "search_by", "search_folder"  # controls
PICTURE_PX = 150


def show_photo_search(visit: TokensVisit) -> None:
    """The controls, and the wall of photos where an index is there."""
    text = visit.texts
    st.markdown(f"## {text['search title']}")
    with st.container(horizontal=True, vertical_alignment="bottom", key="search_controls"):
        where = query_controls.button_row(text, WHERE, ["gallery", "own"])
        by = query_controls.button_row(text, BY, ["photo", "patch"], help=text["search_by help"])
        own = _own_photos(visit) if where == "own" else ("", ())
        index = _index(visit, where == "gallery", own)
    if index is None:
        return
    patch = None if by == "photo" else visit.grid.middle if visit.patch is None else visit.patch
    _show_wall(visit, index, patch, where == "gallery")
    for problem in index.problems[:5]:
        st.caption(f":material/broken_image: {escape_markdown(problem)}")


def _own_photos(visit: TokensVisit) -> Own:
    """A folder's path, on a server that opens folders, or files that are dropped in."""
    text, path = visit.texts, ""
    if permissions.is_allowed("paths"):
        path = st.text_input(text[FOLDER], key=FOLDER, bind="query-params", width=scale_to_page_px(260))
    photo_picker.translate_upload_buttons()
    most = text.fill("search most", count=photo_search_job.max_searched_photos())
    files = st.file_uploader(
        text["search files"], photo_picker.FILE_TYPES, True, key="search_files", max_upload_size=25, help=most
    )  # fmt: skip
    return path.strip(), () if path.strip() else [(one.file_id, one.name, one.getvalue()) for one in files or ()]


def _index(visit: TokensVisit, is_gallery: bool, own: Own) -> PhotoIndex | None:
    """The index that is there, or the button that makes it, with its progress."""
    text, vit, place = visit.texts, visit.vit, st.empty()
    found = photo_search_job.gallery_index_if_made(vit) if is_gallery else photo_search_job.own_index_if_made(vit, own)
    if found:
        return found
    with (
        place,
        button_holding_press(text["search"], "search", key="search", type="primary", icon=":material/search:",
                   disabled=not (is_gallery or any(own))) as is_pressed,
    ):  # fmt: skip
        if not is_pressed:
            return None
        bar, problem = place.progress(0.0, text["searching"]), ""

        def progress(done: int, count: int) -> None:
            bar.progress(done / count, text.fill("search done", done=done, count=count))

        if is_gallery:
            found = photo_search_job.gallery_index(vit.name, vit, progress)
        else:
            problem = photo_search_job.make_own_index(vit, own, progress)
            found = photo_search_job.own_index_if_made(vit, own)
    place.empty()
    if problem:
        st.error(escape_markdown(problem), icon=":material/broken_image:")
    return found


def _show_wall(visit: TokensVisit, index: PhotoIndex, patch: int | None, is_gallery: bool) -> None:
    """The nearest photos, the likest first, each with its cosine; those of the gallery by their titles."""
    text = visit.texts
    said = text["search of photo"]
    if patch is not None:
        said = text["search of patch"].format(token=patch_name(visit, patch), layer=index.layer)
    st.caption(said)
    shown = (
        {f"{row['id']}.jpg": row["title"] for row in photo_ids_and_titles.translated_samples(texts.language())}
        if is_gallery
        else {}
    )
    with st.container(horizontal=True, gap="small", key="search_wall"):
        for one in photo_search_job.nearest_photos(visit.recording, index, patch, is_gallery, visit.vit):
            name = escape_markdown(shown.get(one.name, one.name))
            caption = text["search found"].format(name=name, cosine=decimal(one.cosine, 2))
            st.image(one.picture, caption, width=scale_to_page_px(PICTURE_PX), alt=caption)
    show_explanation_fold(text["search how"].format(layer=index.layer), text["search limits"])
