"""The photo picker: a menu of titles, the gallery, an uploader and the camera; and the menu of a page's second photo."""

from typing import Any, NamedTuple

import streamlit as st

from app import texts
from app.components.gallery.gallery import picture_gallery
from app.shell import missing_photo_or_model, photo_ids_and_titles, query_controls
from app.shell.query_controls import rewrite_query_param
from app.state.photos import sample_photos, uploaded_photo
from app.state.visit import current_model
from app.state.visit.visit import Visit
from app.streamlit_selectors import fill_selectors
from app.texts import escape_markdown
from vitcore.images import MAX_BYTES, MAX_JPEG_PIXELS, MAX_PIXELS

# The file picker's filter; what can be shown is for `open_photo` to say
FILE_TYPES = ["image", "heic", "heif", "avif", "npy", "npz"]
SECOND_PHOTO = "second_photo"
LIKELY_SECOND = ("cat", "red-panda")  # the first of them that isn't the first photo is shown at first
B_PHOTO = "b_photo"  # the second photo of *Compare*, where a photo that was chosen on another page is not asked for
# By the page's address
SECOND_PHOTO_MENUS = {"compare": B_PHOTO, "tokens": SECOND_PHOTO, "switch": SECOND_PHOTO, "report": SECOND_PHOTO}
SECOND_UPLOADERS = {SECOND_PHOTO: "second_file", B_PHOTO: "b_file"}  # by the menus of second photos
FRAME_UPLOADERS = ("file", "bar_file", "camera")  # around the page; what is dropped on the page itself goes to the first


def show_photo_picker() -> None:
    text, rows = texts.prose("common"), sample_photos.sample_photo_rows()
    own_photo = uploaded_photo.current_uploaded_photo()
    ids = [row["id"] for row in rows] + ([uploaded_photo.PHOTO_ID] if own_photo else [])
    if closest := photo_ids_and_titles.match_photo_id(st.query_params.get("photo", ""), ids):
        rewrite_query_param("photo", closest, closest)
    missing_photo_or_model.note_missing_photo(
        ids, lambda: {title for lang in texts.LANGUAGES for title in photo_ids_and_titles.photo_titles_by_id(lang, ids).values()}
    )
    if st.session_state.get("photo", ids[0]) not in ids:
        st.session_state["photo"] = rows[0]["id"]
    chosen = photo_menu(text["photo"], ids, "photo", help=text["photo help"])
    own_photo_caption = own_photo and text["own photo"].format(id=text["your photo"], name=escape_markdown(own_photo[1]))
    with st.empty():  # always there: tabs that move down fall back to their first
        if own_photo_caption and chosen == uploaded_photo.PHOTO_ID:
            st.caption(own_photo_caption)
    gallery_tab, upload_tab, camera_tab = st.tabs([text["gallery"], text["upload"], text["camera"]])
    with gallery_tab:
        sample_photo_gallery(chosen, key="gallery")
    with upload_tab:
        if own_photo_caption and chosen != uploaded_photo.PHOTO_ID:
            st.caption(own_photo_caption)
        photo_uploader("file")
    with camera_tab:
        st.caption(text["camera kept"])
        if st.toggle(text["use camera"], key="camera_on"):
            st.camera_input(text["take picture"], key="camera", on_change=_receive_photo, args=("camera",))


def sample_photo_gallery(chosen: str, *, key: str) -> None:
    """The sample photos, small; a click chooses one."""
    rows = photo_ids_and_titles.translated_samples(texts.language())
    images = [sample_photos.sample_thumbnail(row["id"]) for row in rows]
    picture_gallery(rows, images, chosen, key=key, target="photo", label=texts.prose("common")["samples"])


def photo_uploader(key: str) -> None:
    """Where a visitor drops in a photo, and what was wrong with the last one that was dropped here."""
    text = texts.prose("common")
    translate_upload_buttons()
    mega = {"mb": MAX_BYTES // 2**20, "most": MAX_PIXELS // 10**6, "jpeg": MAX_JPEG_PIXELS // 10**6}
    limits = text["drop limits"].format(**mega)
    st.file_uploader(
        text["drop"], FILE_TYPES, key=key, on_change=_receive_photo, args=(key,), max_upload_size=mega["mb"], help=limits
    )
    control, chosen, kind = _target(key)
    if st.session_state.get(control) == chosen and (mine := uploaded_photo.current_uploaded_photo(kind)):
        st.caption(text["drop shown"].format(name=escape_markdown(mine[1])))
    if key not in FRAME_UPLOADERS:
        _show_upload_error(key)


def translate_upload_buttons() -> None:
    """The word on the buttons of all uploaders of a page, in the visitor's language: Streamlit has no setting for it."""
    if texts.language() != texts.DEFAULT:
        word = fill_selectors(":st(file-dropzone) > span button :st(markdown-container) p")
        label = texts.prose("common")["upload"]
        st.html(f'<style>{word} {{ font-size: 0 }} {word}::after {{ content: "{label}"; font-size: 1rem }}</style>')


def show_photo_refusal() -> None:
    """Above the page: why a photo is not shown that was dropped on it, or into a picker around it."""
    for key in FRAME_UPLOADERS:
        _show_upload_error(key)


def _show_upload_error(key: str) -> None:
    problem, shown, where = st.session_state.get("_photo_problem") or (None, None, None)
    if problem and where == key and shown == st.session_state.get("photo"):  # once another is chosen it is old news
        st.error(escape_markdown(problem), icon=":material/broken_image:")


def _receive_photo(key: str) -> None:
    """A file or a snapshot has come in: show it if it can be shown, else say why not and change nothing."""
    file = st.session_state[key]
    st.session_state["_photo_problem"] = None
    if file is not None:
        name = texts.prose("common")["snapshot"] if key == "camera" else file.name
        control, chosen, kind = _target(key)
        problem = uploaded_photo.receive_photo(file.getvalue(), name, kind, current_model.model_bands())
        if problem is None:
            st.session_state[control] = chosen
        else:
            st.session_state["_photo_problem"] = problem, st.session_state["photo"], key
            st.toast(escape_markdown(problem), icon=":material/broken_image:", duration="long")  # seen wherever one has scrolled to


def bands_menu(count: int) -> None:
    """Which of a photo's bands are shown as its red, green and blue, or of two as grey."""
    text, shown = texts.prose("common"), uploaded_photo.shown_bands(count)
    colours = ("red", "green", "blue") if len(shown) == 3 else ("grey",)
    with st.popover(text["bands"], icon=":material/palette:"), st.container(horizontal=True):
        for place, colour in enumerate(colours):
            st.selectbox(
                text[f"band {colour}"], range(count), shown[place], key=f"band_{colour}", on_change=_show_bands, args=(colours,),
                width=100,
            )  # fmt: skip


def _show_bands(colours: tuple[str, ...]) -> None:
    uploaded_photo.set_shown_bands(tuple(st.session_state[f"band_{colour}"] for colour in colours))


def _target(key: str) -> tuple[str, str, str]:
    """Of an uploader: the menu that its photo is chosen in, the photo's id there, and what it is kept as."""
    for menu, uploader in SECOND_UPLOADERS.items():
        if key == uploader:
            return menu, uploaded_photo.SECOND_ID, uploaded_photo.SECOND
    return "photo", uploaded_photo.PHOTO_ID, uploaded_photo.FIRST


def photo_menu(label: str, ids: list[str], key: str, **control_options: Any) -> str:
    """A menu of photos by their titles; a link with an id, or with the title in another language, works too."""
    every = [photo_ids_and_titles.photo_titles_by_id(lang, ids) for lang in texts.LANGUAGES]
    return query_controls.select_menu(
        label, photo_ids_and_titles.photo_titles_by_id(texts.language(), ids), key, every, **control_options
    )


class SecondPhoto(NamedTuple):
    """A photo of the gallery, or an upload, by its id, and its title in the visitor's language."""

    photo: str
    title: str


def _second_photo_ids(visit: Visit, control: str) -> list[str]:
    """The gallery's photos and the visitor's own without the first one; what the menu `control` has is kept among them.

    For a model of other than three bands there are only the visitor's own; without a second one it is the first again.
    """
    ids = [row["id"] for row in sample_photos.sample_photo_rows() if row["id"] != visit.sample and visit.photo.bands is None]
    own = [one for one, kind in uploaded_photo.KINDS.items() if uploaded_photo.has_photo_for_bands(visit.vit.bands, kind)]
    if visit.photo.whose and uploaded_photo.PHOTO_ID in own and (ids or len(own) > 1):
        own.remove(uploaded_photo.PHOTO_ID)
    usual = next((one for one in LIKELY_SECOND if one in ids), None)
    same = [uploaded_photo.SAME_PHOTO] if control == B_PHOTO else []
    ids = [*same, *([usual] if usual else []), *(one for one in ids if one != usual), *own]
    if st.session_state.get(control) not in (None, *ids):
        st.session_state[control] = ids[0]
    return ids


def _tell_missing_second_photo(ids: list[str], control: str) -> None:
    """Say it where a link names a second photo that is not here: somebody's own."""
    own = [one for one, kind in uploaded_photo.KINDS.items() if uploaded_photo.current_uploaded_photo(kind)]
    given, known = st.query_params.get(control), [*ids, *own, *(row["id"] for row in sample_photos.sample_photo_rows())]
    if given and given not in known:
        titles = [photo_ids_and_titles.photo_titles_by_id(lang, known).values() for lang in texts.LANGUAGES]
        if not any(given in there for there in titles):
            st.toast(texts.prose("common")["missing second photo"], icon=":material/hide_image:", duration="infinite")


def second_photo_menu(visit: Visit, label: str, control: str = SECOND_PHOTO) -> SecondPhoto:
    """A menu of the gallery and own photos; beside it, where a second photo is dropped in."""
    ids = _second_photo_ids(visit, control)
    _tell_missing_second_photo(ids, control)
    chosen = photo_menu(label, ids, control, width=200)
    with st.popover(texts.prose("common")["own second photo"], icon=":material/upload:"):
        photo_uploader(SECOND_UPLOADERS[control])
        st.caption(texts.prose("common")["second photo kept"])
    return SecondPhoto(chosen, photo_ids_and_titles.photo_titles_by_id(texts.language(), ids)[chosen])
