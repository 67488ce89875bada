"""The page below its title: the photo to cover patches on, and the controls whose values are in the address."""

from functools import partial

import streamlit as st

from app import texts
from app.components.cover.cover import cover
from app.components.figure import picture_container, picture_menus_container, show_downloads, show_explanation_fold
from app.components.pending_choices import mark_controls_drawn, restore_pending_choices
from app.shell import copy_link, load_page_visit, query_controls
from app.state import step_animations
from app.state.jobs import map_test_jobs
from app.state.recordings import covered_photos
from app.state.visit.visit import Visit
from app.views.cover import cover_message, covering_question
from app.views.cover.cover_message import CoverVisit
from app.widgets import outlier_masking
from vitcore import figures

COVERED, FILL, MAP, COUNT, ORDER = "covered", "fill", "cover_map", "cover_count", "cover_order"  # controls
PHOTO_STATE, PRESSED_STATE, DRAWS_STATE = "_cover_photo", "_cover_pressed", "_cover_draws"
FILLS = ("mean", "blur", "noise", "neighbour", "removed")
ORDERS = ("strongest", "weakest", "chance")


@st.fragment
def show_cover(model: str, text: texts.Prose) -> None:
    """The page's pictures and controls; runs on its own when something is touched, and holds nothing in between."""
    visit = load_page_visit.load_fragment_visit(model, text)
    vit, photo = visit.vit, visit.photo
    outlier_masking.set_masking(outlier_masking.is_masking_on())  # the address follows
    restore_pending_choices(COVERED, FILL, MAP, COUNT, ORDER)
    if st.session_state.get(PHOTO_STATE, photo.key) != photo.key:
        st.session_state[COVERED] = ""
    st.session_state[PHOTO_STATE] = photo.key
    above, pictures = picture_menus_container(), picture_container()
    with above:
        asked = _controls(visit)
    with pictures:
        cover(cover_message.cover_message(asked), key="cover", target=COVERED, fill_target=FILL)
    with st.container(horizontal=True, vertical_alignment="center"):
        limits = text.join_sentences((text["limits"], map_test_jobs.map_robustness_sentences(vit, asked.map_name)))
        show_explanation_fold(text["how"], limits, text["source"], is_map=True)
        _cover_download_button(asked)
        outlier_masking.show_switch_if_outliers(visit, "cover")
    if asked.recording.labels:
        covering_question.show_covering_question(asked)
    fill = asked.fill if asked.covered and asked.fill != FILLS[0] else None
    copy_link.offer_handout(covered=asked.covered or None, fill=fill, **copy_link.USUAL_ROLLOUT)
    mark_controls_drawn()


def _controls(visit: Visit) -> CoverVisit:
    text, vit, grid = visit.texts, visit.vit, visit.grid
    why = covered_photos.why_not_removable(vit)
    fills = tuple(one for one in FILLS if one != "removed" or not why)
    fill = query_controls.button_row(text, FILL, list(fills))  # unseen: the picture has the same buttons
    names = covered_photos.coverable_map_names(vit)
    elsewhere = [covering_question.map_titles(names, lang) for lang in texts.LANGUAGES]  # as a link may have it
    titles = covering_question.map_titles(names)
    name = query_controls.select_menu(text["map"], titles, MAP, elsewhere, width=200, help=text["map help"])
    count = query_controls.slider(text["count"], COUNT, 1, grid.patches, max(1, grid.patches // 5), width=160)
    order = query_controls.button_row(text, ORDER, list(ORDERS))
    st.button(text["cover them"], key="cover_them", type="primary", on_click=st.session_state.update, kwargs={PRESSED_STATE: True})
    masked = outlier_masking.is_masking_applied(visit)
    if st.session_state.pop(PRESSED_STATE, False):
        draws = st.session_state[DRAWS_STATE] = st.session_state.get(DRAWS_STATE, -1) + (order == "chance")
        values = covered_photos.map_by_name(visit.recording, name, masked, vit)
        st.session_state[COVERED] = covered_photos.encode_ranked_patches(values, count, order, max(0, draws), grid)

    def readable(code: str) -> str:
        """Another grid's patches become this one's."""
        return covered_photos.encode_patches(covered_photos.decode_patches(code, grid), grid)

    return visit.extend(
        CoverVisit, covered=query_controls.hidden_code_field(text["covered"], COVERED, readable), fill=fill, fills=fills,
        about=why or (text["only a transformer"] if fill == "removed" else ""), map_name=name, count=count,
    )  # fmt: skip


def _cover_download_button(visit: CoverVisit) -> None:
    """Nothing where this model can't do without what is covered."""
    covered = cover_message.covered_pass_or_problem(visit)
    if isinstance(covered, str):
        return
    rec, grid, text, mode = visit.recording, visit.grid, visit.texts, visit.mode
    shown = outlier_masking.recording_masked_if_on(visit)
    pixels, rollout = covered_photos.covered_pixels(rec, visit.covered, visit.fill), covered.rollout
    title = outlier_masking.title_with_masking(
        text["download title"].format(readout=visit.readout), outlier_masking.is_masking_on()
    )
    unit, words = text["percent of all"], {"title": text["film title"], "step": text["film step"]}
    moving = partial(step_animations.covering_animation, visit.vit.name, visit.photo.key, visit.covered, visit.fill, words, mode)
    show_downloads(
        lambda: figures.relevance(100 * rollout, pixels, grid, title, unit, mode=mode, even_share=100 * grid.even_share),
        "cover", cover_message.covering_sentence(visit, covered), subjects=visit.subjects, file_stem="covered patches",
        covered=covered_photos.decode_patches(visit.covered, grid), logits_before=rec.logits, logits_after=covered.logits,
        rollout_before=shown.rollout(), rollout_after=rollout, class_attention_before=shown.pooled_attention(visit.vit.blocks - 1),
        class_attention_after=covered.class_attention, animation=moving if visit.covered else None,
    )  # fmt: skip
