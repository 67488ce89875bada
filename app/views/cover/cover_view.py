"""The page below its title: the photo to cover patches on, and the controls whose values are in the address."""

from dataclasses import dataclass

import streamlit as st

from app import texts
from app.components import page_theme
from app.components.cover.cover import cover
from app.components.figure import explain, lead
from app.components.pending_choices import mark_drawn, restore_pending
from app.shell import copy_link, query_controls
from app.shell.address import rewrite_code
from app.state.models import loaded_models
from app.state.recordings import covered_photos, recordings
from app.state.visit import current_photo
from app.state.visit.visit import Visit
from app.views.cover import cover_download, cover_message, predict_first
from app.views.cover.map_titles import map_titles
from app.widgets import map_numbers, outlier_masking

COVERED, FILL, MAP, COUNT, ORDER = "covered", "fill", "cover_map", "cover_count", "cover_order"  # controls
PHOTO_STATE, PRESSED_STATE, DRAWS_STATE = "_cover_photo", "_cover_pressed", "_cover_draws"
FILLS = ("mean", "blur", "noise", "neighbour", "removed")
ORDERS = ("strongest", "weakest", "chance")


@dataclass(frozen=True, eq=False, kw_only=True)
class CoverVisit(Visit):
    """What is covered, as text; with what; and the map that the button and the whole object ask, with how many patches of it."""

    covered: str
    fill: str
    fills: tuple[str, ...]  # those that this model can be shown
    about: str  # what is to be said of them
    map_name: str
    count: int


@st.fragment
def show_cover(model: str, text: texts.Prose) -> None:
    """The page's pictures and controls; runs on its own when something is touched, and holds nothing in between."""
    vit, photo = loaded_models.loaded(model), current_photo.load_photo()
    visit = Visit(vit=vit, photo=photo, recording=recordings.recording(vit, photo), mode=page_theme.current(), texts=text)
    outlier_masking.set_masking(outlier_masking.is_on())  # the address follows
    restore_pending(COVERED, FILL, MAP, COUNT, ORDER)
    if st.session_state.get(PHOTO_STATE, photo.key) != photo.key:
        st.session_state[COVERED] = ""
    st.session_state[PHOTO_STATE] = photo.key
    pictures = lead()
    asked = _controls(visit)
    with pictures:
        cover(cover_message.cover_message(asked), key="cover", target=COVERED, fill_target=FILL)
    with st.container(horizontal=True, vertical_alignment="center"):
        limits = text.joined((text["limits"], map_numbers.measured_sentences(vit, asked.map_name)))
        explain(text["how"], limits, text["source"], is_map=True)
        cover_download.download_button(asked)
        outlier_masking.switch_if_any(visit, "cover")
    if asked.recording.labels:
        predict_first.show_question(asked, asked.map_name, asked.count, asked.fill)
    fill = asked.fill if asked.covered and asked.fill != FILLS[0] else None
    copy_link.offer_handout(covered=asked.covered or None, fill=fill, **copy_link.USUAL_ROLLOUT)
    mark_drawn()


def _controls(visit: Visit) -> CoverVisit:
    text, vit, grid = visit.texts, visit.vit, visit.grid
    why = covered_photos.why_not_removable(vit)
    fills = tuple(one for one in FILLS if one != "removed" or not why)
    with st.container(horizontal=True, vertical_alignment="bottom", key="cover_controls"):
        fill = query_controls.button_row(text, FILL, list(fills))  # unseen: the picture has the same buttons
        names = covered_photos.map_names(vit)
        elsewhere = [map_titles(names, lang) for lang in texts.LANGUAGES]  # as a link may have it
        name = query_controls.select_menu(text["map"], map_titles(names), MAP, elsewhere, width=200, help=text["map help"])
        count = query_controls.slider(text["count"], COUNT, 1, grid.patches, max(1, grid.patches // 5), width=160)
        order = query_controls.button_row(text, ORDER, list(ORDERS))
        st.button(
            text["cover them"], key="cover_them", type="primary", on_click=st.session_state.update, kwargs={PRESSED_STATE: True}
        )
    masked = outlier_masking.applies_to(visit)
    if st.session_state.pop(PRESSED_STATE, False):
        draws = st.session_state[DRAWS_STATE] = st.session_state.get(DRAWS_STATE, -1) + (order == "chance")
        values = covered_photos.map_values(visit.recording, name, masked, vit)
        st.session_state[COVERED] = covered_photos.first_patches(values, count, order, max(0, draws), grid)
    return visit.extend(
        CoverVisit,
        covered=_covered_control(visit),
        fill=fill,
        fills=fills,
        about=why or (text["only a transformer"] if fill == "removed" else ""),
        map_name=name,
        count=count,
    )


def _covered_control(visit: Visit) -> str:
    """The field that keeps what is covered in the address; it is not seen. Another grid's patches become this one's."""
    given = st.session_state.get(COVERED, st.query_params.get(COVERED, ""))
    code = covered_photos.encode_patches(covered_photos.decode_patches(given or "", visit.grid), visit.grid)
    if given and code != given:
        rewrite_code(COVERED, code)
    st.text_input(visit.texts["covered"], key=COVERED, bind="query-params")
    return code
