"""The page Tokens below its title: the two photos, and below them the controls that keep what is chosen in the address."""

from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from app import texts
from app.components.figure import picture_container, show_downloads, show_explanation_fold
from app.components.pending_choices import mark_controls_drawn, restore_pending_choices
from app.components.tokens.tokens import VIEWS, tokens
from app.shell import load_page_visit, photo_picker, query_controls, shared_selection
from app.state import step_animations
from app.state.recordings import cached_recordings, patch_token_bytes_for_browser
from app.state.visit.visit import Visit
from app.texts import escape_markdown
from app.views.tokens.photo_search_section import show_photo_search
from app.views.tokens.tokens_message import TokensVisit, patch_name, tokens_message
from app.views.tokens.word_match_section import show_word_match
from app.widgets import outlier_masking
from vitcore import figures
from vitcore.translation import decimal, percent

TARGETS = {
    "patch": shared_selection.PATCH, "layer": shared_selection.LAYER, "view": "tokens_view", "threshold": "threshold",
    "mask": outlier_masking.STATE_KEY, "lines": "match_lines",
}  # fmt: skip
MOST_DEVIATIONS = 3.0  # of the first component, that the threshold goes to
USUAL_SEGMENTS = 5
DEPTH = 3  # quarters of the way up is the layer shown at first: the last one is about the answer more than about places


@st.fragment
def show_tokens(model: str, text: texts.Prose) -> None:
    """The pictures and their controls; runs on its own when something is chosen, and holds nothing in between."""
    visit = load_page_visit.load_fragment_visit(model, text)
    outlier_masking.set_masking(outlier_masking.is_masking_on())  # a touch in the picture sets it; the address follows
    restore_pending_choices(*TARGETS.values())
    pictures = picture_container()
    chosen = _controls(visit)
    below = st.container()
    with pictures:
        if said := patch_token_bytes_for_browser.why_no_tokens(visit.recording, chosen.source):
            st.info(escape_markdown(said), icon=":material/info:")
        else:
            tokens(tokens_message(chosen), key="tokens", targets=TARGETS)
            with below:
                _tokens_download_button(chosen)
    show_explanation_fold(
        text["how"], text.join_sentences((text["limits"], _matched_sentences(chosen), _segment_sentences(chosen)))
    )
    if not said:
        show_photo_search(chosen)
        show_word_match(chosen)
    mark_controls_drawn()


def _matched_sentences(visit: TokensVisit) -> str:
    """How often a best match of such tokens finds the part that it should, of the photos on which parts were marked."""
    found = patch_token_bytes_for_browser.marked_point_accuracy(visit.source, visit.layer, visit.vit)
    if found is None:
        return ""
    shares = {name: percent(getattr(found, name), 0) for name in ("matched", "same_place", "by_chance")}
    return visit.texts.fill("matched points", pairs=found.pairs, points=found.points, layer=found.layer, **shares)


def _segment_sentences(visit: TokensVisit) -> str:
    """How well segments fit outlines that people drew, beside thresholds of maps, where that of this model ships."""
    found = patch_token_bytes_for_browser.segment_ious_by_name(visit.vit)
    if not found:
        return ""
    best = found["kmeans"]
    ious = {name: decimal(one.iou, 2) for name, one in found.items()}
    return visit.texts.fill("measured segments", photos=best.photos, count=best.segment_count, layer=best.layer, **ious)


def _controls(visit: Visit) -> TokensVisit:
    """The controls; the picture and its keys set them, too."""
    text, vit = visit.texts, visit.vit
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="tokens_controls"):
        second = photo_picker.second_photo_menu(visit, text["second photo"])
        words = {kind: f"kind {kind}" for kind in patch_token_bytes_for_browser.KINDS}
        kind = query_controls.word_menu(text["kind"], text, words, "tokens_of", width=200, help=text["kind help"])
        layer = query_controls.layer_slider(text["layer control"], vit, DEPTH * vit.blocks // 4, width=200)
        patch = query_controls.optional_number_input(text["patch control"], shared_selection.PATCH, visit.grid.patches, width=120)
        with st.popover(text["settings"], icon=":material/tune:"):
            view = query_controls.button_row(text, "tokens_view", list(VIEWS))
            lines = st.toggle(text["matches"], key="match_lines", bind="query-params", help=text["matches help"])
            whiten = st.toggle(text["whiten"], True, key="whiten", bind="query-params", help=text["whiten help"])
            query_controls.reset_control_if_out_of_range(
                "threshold", -MOST_DEVIATIONS, MOST_DEVIATIONS, 0.0
            )  # the page's picture sets it, too
            threshold = st.slider(text["threshold"], -MOST_DEVIATIONS, MOST_DEVIATIONS, 0.0, 0.1, key="threshold",
                                  bind="query-params", help=text["threshold help"])  # fmt: skip
            method = query_controls.button_row(text, "grouping", list(patch_token_bytes_for_browser.METHODS))
            most = min(patch_token_bytes_for_browser.MOST_SEGMENTS, visit.grid.patches)
            count = query_controls.slider(text["segment count"], "segments", 2, most, min(USUAL_SEGMENTS, most))
            outlier_masking.outlier_masking_switch(visit, "tokens")
    return replace(visit, patch=patch, layer=layer).extend(
        TokensVisit,
        second=cached_recordings.second_recording(vit, second.photo),
        second_title=second.title,
        source=kind,
        view=view,
        whiten=whiten,
        threshold=float(threshold),
        method=method,
        count=count,
        mask=outlier_masking.is_masking_on(),
        lines=lines,
    )


def _tokens_download_button(visit: TokensVisit) -> None:
    """The picture as it is shown of the layer that is chosen, and its principal components; of a chosen patch, its like."""
    both, grid, mode, layer, shown = visit.both, visit.grid, visit.mode, visit.layer, visit.shown
    _, first, share = patch_token_bytes_for_browser.components_of_layer(*both, visit.source, shown.mask, visit.whiten, layer)
    colours = patch_token_bytes_for_browser.shown_colours(*both, shown, layer)
    photos = [cached_recordings.input_picture(one)[0] for one in both]
    names, captions, token, cosines = [visit.recording.photo.name, visit.second_title], list[str](), "", dict[str, Any]()
    film_title = visit.texts["title strip" if shown.patch is not None else f"film {shown.title}"]
    range_words = visit.texts["cosine range"]
    if shown.patch is not None:
        cosines["cosine"], ends = patch_token_bytes_for_browser.cosines_and_ends(*both, shown.kind, shown.mask, shown.patch, layer)
        captions, token = step_animations.cosine_range_words(range_words, names, ends), patch_name(visit, shown.patch)
    title = outlier_masking.title_with_masking(visit.texts[f"title {shown.title}"].format(layer=layer, token=token), shown.mask)
    moving = partial(
        step_animations.token_animation, visit.vit.name, visit.photo.key, visit.second.photo.key, shown,
        film_title.format(token=token), mode, range_words, names,
    )  # fmt: skip
    show_downloads(
        lambda: figures.token_colours(colours, photos, grid, captions or names, title, mode), "tokens", subjects=visit.subjects,
        file_stem=f"token {shown.title} layer {layer}", colours=colours, first_component=first, share_of_variance=share,
        animation=moving, **cosines,
    )  # fmt: skip
