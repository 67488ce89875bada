"""One side of the rollout lab: a method with its settings, the map that it draws, and what the map can't tell."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app import texts
from app.components.figure import show_downloads, show_explanation_fold
from app.components.pending_choices import set_control
from app.components.picture.picture import map_scale_bar, picture
from app.shell import copy_link, query_controls, shared_selection
from app.shell.page_switch import request_page
from app.state.jobs import map_test_jobs
from app.state.memory import memory_cache
from app.state.recordings import relevance_maps
from app.views.rollout import method_settings, rollout_sentences
from app.views.rollout.rollout_visit import RolloutVisit
from app.widgets import outlier_masking
from vitcore import figures
from vitcore.figures.drawing import Drawing
from vitcore.figures.heat_overlay import heat_colour_scale
from vitcore.figures.paper_style import paper_style_note, paper_style_photo
from vitcore.figures.relevance import relevance_scale_top
from vitcore.figures.theme_colours import pixels_to_data_uri
from vitcore.grid import Grid
from vitcore.translation import translated_labels, two_digits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from vitcore.analysis.relevance import RelevanceMethod
    from vitcore.forward.relevance import Relevance


@dataclass(frozen=True, eq=False)
class MethodMap:
    """One method's map (rows, cols) as it was computed, and as it is shown: in `unit`, under `title`."""

    method: RelevanceMethod
    settings: dict[str, Any]
    values: NDArray
    shown_values: NDArray
    unit: str
    title: str
    outliers: outlier_masking.MapOutliers
    relevance: Relevance | None = None

    def cache_key(self, visit: RolloutVisit) -> Hashable:
        """What tells this map from others of the same photo and model."""
        asked = visit.target_class if self.method.asks_class else visit.patch
        return self.method.name, asked, tuple(sorted(self.settings.items()))

    def even_share(self, grid: Grid) -> float | None:
        """What a token gets of evenly spread attention, as shown; None of a map that is no share of all tokens."""
        return None if self.method.asks_class else 100 * grid.even_share


def method_panel(
    visit: RolloutVisit, key_prefix: str, picture_place: DeltaGenerator, changes_place: DeltaGenerator, side_name: str = ""
) -> MethodMap | None:
    """One side: its picture, and below it the method, its settings and what is said; None where the method is not defined.

    In `changes_place` stands which settings are not as usual, of the side that is `side_name` so.
    """
    text = visit.texts
    with picture_place:
        above, row, below = st.container(), st.container(horizontal=True, vertical_alignment="bottom"), st.container()
    with row:
        defined = relevance_maps.defined_methods(visit.vit.is_global)
        words = {name: f"method.{name}" for name in defined}
        usual = "chefer" if key_prefix and visit.target_class is not None else "rollout"
        place_of_usual = list(defined).index(usual) if visit.vit.is_global else int(not key_prefix)
        name = query_controls.word_menu(text[f"{key_prefix}method"], text, words, f"{key_prefix}method", index=place_of_usual)
        method = defined[name]
        box = st.popover(text["settings"], icon=":material/tune:", key=f"{key_prefix}settings")
    if method.asks_class and visit.target_class is None:
        above.info(text["no class to ask"], icon=":material/info:")
        return None
    with box:
        values = method_settings.setting_controls(visit, method, key_prefix)
    if not key_prefix:  # the left side's go along to the handout, even if a visitor leaves while this page computes
        copy_link.remember_page_settings(text.page)
        settings = {key: values[key] for key in copy_link.USUAL_ROLLOUT if key in values}
        copy_link.offer_handout(patch=visit.patch, ask=visit.patch is not None, **settings)
    with above:
        try:
            method_map = _compute_map(visit, method, method_settings.settings_for_vitcore(visit, method, values))
        except memory_cache.MemoryBudgetError:
            st.warning(texts.prose("common")["no room now"], icon=":material/memory:")
            return None
        _draw_map(visit, method_map, key_prefix)
        outlier_masking.show_note_and_switch(
            method_map.outliers, f"{key_prefix}gathered", maskable=not method.asks_class, always_switch=True
        )
    with changes_place:
        method_settings.show_changed_settings(text, key_prefix, values, side_name)
    with below:
        _strongest_patch(visit, method_map, key_prefix)
    with row:
        _explanations(visit, method_map)
        _download(visit, method_map, key_prefix)
    return method_map


def _strongest_patch(visit: RolloutVisit, method_map: MethodMap, prefix: str) -> None:
    """Which patch gave most or stands out most; of what follows attention, a way to where it, or the asked patch, looks itself."""
    patch = int(abs(method_map.shown_values).argmax())
    row, col = visit.grid.row_col(patch)
    sentence = visit.texts[
        "most" if not method_map.method.asks_class else "stands out" if method_map.method.signed else "spoke most"
    ]
    label = translated_labels(visit.recording.labels)[visit.target_class] if visit.target_class is not None else ""
    share, even = method_map.shown_values.flat[patch], method_map.even_share(visit.grid)
    facts = {"share": f"{share:.3g}", "times": two_digits(share / even) if even else "", "unit": method_map.unit}
    st.markdown(sentence.format(patch=patch, row=row, col=col, label=texts.escape_markdown(label), **facts))
    if method_map.method.asks_class:
        return
    there = patch if visit.patch is None else visit.patch
    # no link: Streamlit drops from one what a control of the page that is left holds, and carries over what that held
    st.button(visit.texts["to explorer"].format(patch=there), key=f"{prefix}to_explorer", icon=":material/arrow_forward:",
              type="tertiary", on_click=_request_explorer, args=(there,))  # fmt: skip


def _request_explorer(patch: int) -> None:
    set_control(shared_selection.PATCH, patch)
    request_page("attention")


def _compute_map(visit: RolloutVisit, method: RelevanceMethod, chosen: dict[str, Any]) -> MethodMap:
    """The map of a method, and how it is shown."""
    title = visit.title_from_layer(visit.texts[f"title.{method.name}"], chosen)
    unit = visit.texts[f"unit.{method.name}"]
    items = tuple(sorted(chosen.items()))
    if not method.asks_class:
        rollout_map = relevance_maps.rollout_map(visit.recording, visit.patch, items, visit.vit)
        map_outliers = outlier_masking.outliers_in_map(visit, rollout_map)
        rollout_title = outlier_masking.title_with_masking(title.format(who=visit.query_phrase), map_outliers.masked)
        return MethodMap(method, chosen, rollout_map, 100 * rollout_map, unit, rollout_title, map_outliers)
    assert visit.target_class is not None, "asked for by `side`"
    with st.spinner(visit.texts["computing"]):
        computed = relevance_maps.relevance_of_class(visit.recording, method.name, visit.target_class, items, visit.vit)
    shown = relevance_maps.map_in_shown_unit(method.name, computed.maps)
    class_title = title.format(label=translated_labels(visit.recording.labels)[visit.target_class])
    map_outliers = outlier_masking.outliers_in_map(visit, computed.maps, method.needs_attention, masked=False)
    return MethodMap(method, chosen, computed.maps, shown, unit, class_title, map_outliers, computed)


def _draw_map(visit: RolloutVisit, method_map: MethodMap, prefix: str) -> None:
    """The picture of a side, with its scale; or as the paper draws it, beside the photo."""
    grid, signed, even = visit.grid, method_map.method.signed, method_map.even_share(visit.grid)
    most = relevance_scale_top(method_map.shown_values, signed, even_share=even)
    st.markdown(f"## {texts.escape_markdown(method_map.title)}")
    arguments: dict[str, Any] = {
        "key": f"{prefix}gathered", "label": method_map.title,
        "target": "patch", "also_choose": ("ask", True), "selected": None if method_map.method.asks_class else visit.patch,
        "lines": False, "values": method_map.shown_values.ravel().tolist(), "unit": method_map.unit, "even_share": even,
        "marks": method_map.outliers.patches, "marks_sentence": method_map.outliers.sentence,
    }  # fmt: skip
    if visit.style == "paper" and not signed:
        beside, place = st.columns(2)
        beside.image(visit.input_picture)
        drawn = pixels_to_data_uri(paper_style_photo(method_map.values, visit.input_picture, grid), photo=True)
        with place:
            picture(drawn, grid.rows, grid.cols, grid.step_px, **arguments)
        said = paper_style_note()
        st.caption(said[0].upper() + said[1:])
        return
    values, mode = method_map.shown_values, visit.mode
    overlay = relevance_maps.opaque_heat_map_uri(visit.recording, method_map.cache_key(visit), signed, values, most, mode)
    picture(visit.photo_url, grid.rows, grid.cols, grid.step_px, overlay=overlay, detail=visit.detail_url, **arguments)
    scale = heat_colour_scale(values, most, even, method_map.unit if signed else None, mode)
    map_scale_bar(scale, f"{prefix}gathered_scale")


def _explanations(visit: RolloutVisit, method_map: MethodMap) -> None:
    """What a side measures, what it can't tell, and where it is from."""
    text, name, computed = visit.texts, method_map.method.name, method_map.relevance
    complete = ""
    if computed and computed.incomplete:
        st.caption(computed.incomplete)
    if computed and computed.gaps:
        complete = text.fill("complete", rise=computed.rises[0], gap=computed.gaps[0], total=method_map.values.sum())
    limits = text.join_sentences((text[f"limits.{name}"], map_test_jobs.map_robustness_sentences(visit.vit, name)))
    show_explanation_fold(text.join_sentences((_how_to_read(visit, name), complete)), limits, text[f"source.{name}"], is_map=True)


def _how_to_read(visit: RolloutVisit, method: str) -> str:
    how = visit.texts[f"how.{method}"]
    return (
        visit.texts.join_sentences((how, rollout_sentences.prefix_tokens_hold_rest_sentence(visit))) if method == "rollout" else how
    )


def _download(visit: RolloutVisit, method_map: MethodMap, prefix: str) -> None:
    """The picture and its numbers, to take along."""
    text, name = visit.texts, method_map.method.name
    grid, photo_shown = visit.grid, visit.input_picture  # downloads keep what they name, not all of `visit`
    start = None if method_map.method.asks_class else visit.patch
    style, mode, marks = visit.style, visit.mode, method_map.outliers.patches
    note = text.join_sentences((_how_to_read(visit, name), method_map.outliers.sentence))

    def make() -> Drawing:
        drawn = figures.relevance(
            method_map.shown_values, photo_shown, grid, method_map.title, method_map.unit, signed=method_map.method.signed,
            style=style, mode=mode, query_patch=start, even_share=method_map.even_share(grid),
        )  # fmt: skip
        return figures.frame_outliers(drawn, marks, grid)

    show_downloads(make, f"{prefix}{name}", note, subjects=visit.subjects, file_stem=name, **{name: method_map.values})
