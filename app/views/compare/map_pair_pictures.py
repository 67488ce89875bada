"""Two maps on the photo, on one scale and one grid, and their difference: rollout, and the attention of a layer."""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from app import texts
from app.components.component_files import media_url
from app.components.figure import picture_container, show_downloads, show_explanation_fold
from app.components.picture.picture import map_scale_bar, picture
from app.shell import lecture_mode, query_controls, shared_selection
from app.state.recordings import cached_outliers, model_comparisons, relevance_maps
from app.state.recordings.model_comparisons import PairKey
from app.views.compare.model_pair import ControlPlaces, ModelPair, side_columns
from app.widgets import outlier_masking
from vitcore import figures
from vitcore.figures.drawing import Drawing
from vitcore.figures.heat_overlay import heat_colour_scale, scale_top
from vitcore.figures.relevance import relevance_scale_top
from vitcore.grid import Grid

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from vitcore.forward.compare_models import Comparison, MapPair

VIEWS = ("pair", "curtain")  # side by side, or one picture with a curtain between both, which a lecture begins with


def rename_query_and_choose_key(page_key: str, shared_key: str, is_shared: bool) -> str:
    """The control's key: `shared_key`, of the selection that all pages share, where it is of the first model alone."""
    if is_shared:
        shared_selection.rename_query_params_and_rerun({page_key: shared_key})
    return shared_key if is_shared else page_key


def selected_place_key(comparison: Comparison) -> str:
    """The key of the place that is asked: where each cell is one patch of both models, it is that patch."""
    return rename_query_and_choose_key("query", shared_selection.PATCH, is_shared=not comparison.grid.resampled)


def show_maps(
    pair: ModelPair, comparison: Comparison, maps: MapPair, kind: str, map_key: Hashable, cell: int | None, places: ControlPlaces
) -> None:
    """Both maps on one scale, side by side or of one photo behind a curtain; `map_key` tells maps of a kind apart."""
    text = pair.texts
    unit, most = text[f"unit {kind}"], scale_top(maps.stacked, 1)
    tops = [most * even for even in maps.even_shares]
    scale, *scales = (heat_colour_scale(values, most, 1) for values in (maps.stacked, *maps.stacked))
    outliers_of_both = [_map_outliers(comparison, which, mask) for which, mask in enumerate(maps.both)]
    overlays = [
        relevance_maps.opaque_heat_map_uri(comparison, (kind, map_key, key), False, mask, top)
        for key, mask, top in zip("ab", maps.both, tops, strict=True)
    ]
    shown: dict[str, Any] = {"unit": unit, "cell": cell}

    def take(which: int, key: str, name: str) -> None:
        mask, found = maps.both[which], outliers_of_both[which]
        of_model = tops[which], text[f"picture.{kind}"], name, pair.mode, found.patches, maps.even_shares[which]
        make = partial(_map_figure, pair.key, which, mask, *of_model)
        note = text.join_sentences((text[f"how {kind}"], found.sentence))
        show_downloads(make, f"{key}_{kind}", note, subjects=pair.file_subjects(key), file_stem=kind, **{f"{kind}_{key}": mask})

    view = VIEWS[0]
    if pair.of_one_photo:
        with places.row:
            view = query_controls.button_row(text, "view", list(VIEWS), VIEWS[lecture_mode.is_lecture()])
    if view == "curtain":
        one, two = picture_container().container(key="curtain").columns(2, gap="large")
        with one:
            sides: list[Any] = ["left", "right"]
            for place, letter, name, side in zip(st.columns(2), "AB", pair.names, sides, strict=True):
                place.subheader(f"{letter} · {texts.escape_markdown(name)}", anchor=False, text_alignment=side)
            second = {
                "overlay": overlays[1], "values": (100 * maps.both[1]).ravel().tolist(), "marks": outliers_of_both[1].patches,
                "names": ["A", "B"], "label": text["divider"], "even": 100 * maps.even_shares[1],
            }  # fmt: skip
            label = f"{text[f'picture.{kind}']}: {pair.names[0]}, {pair.names[1]}"
            found = _joint_outliers(pair, outliers_of_both)._replace(patches=outliers_of_both[0].patches)
            _draw_map(comparison, "both_maps", label, overlays[0], 100 * maps.both[0], map_outliers=found, other=second,
                      even=100 * maps.even_shares[0], **shown)  # fmt: skip
            with st.container(horizontal=True, vertical_alignment="center"):
                map_scale_bar(scale, "both_scale")
                for which, (key, name) in enumerate(zip("ab", pair.names, strict=True)):
                    take(which, key, name)
        below = places.below
    else:
        two, below = places.below.columns(2, gap="large") if pair.of_one_photo else (places.below, places.below)
        for which, ((place, key, name), mask) in enumerate(zip(side_columns(pair), maps.both, strict=True)):
            with place:
                label = f"{text[f'picture.{kind}']}: {name}"
                _draw_map(comparison, f"{key}_map", label, overlays[which], 100 * mask, map_outliers=outliers_of_both[which],
                          even=100 * maps.even_shares[which], which=which, **shown)  # fmt: skip
                with st.container(horizontal=True, vertical_alignment="center"):
                    map_scale_bar(scales[which], f"{key}_scale")
                    take(which, key, name)
    outlier_masking.show_note_and_switch(_joint_outliers(pair, outliers_of_both), "maps", always_switch=True)
    if pair.of_one_photo:
        with two:
            _show_difference(pair, comparison, maps, (kind, map_key), cell, outliers_of_both)
    with below:
        _show_sentences(pair, comparison, maps, kind)


def _show_sentences(pair: ModelPair, comparison: Comparison, maps: MapPair, kind: str) -> None:
    """Of one photo, where the maps differ most; how to read them; and of one photo the difference's downloads."""
    from vitcore.report import comparison_handout

    text = pair.texts
    if pair.of_one_photo:
        st.markdown(texts.escape_markdown(comparison_handout.map_difference_sentence(maps.difference, maps.rank_correlation)))
    grid_sentence = texts.escape_markdown(comparison_handout.common_grid_sentence(comparison.grid, pair.of_one_photo))
    how = [text[f"how {kind}"], *([text["how difference"]] if pair.of_one_photo else []), grid_sentence]
    with st.container(horizontal=True):
        show_explanation_fold(text.join_sentences(how), text[f"limits {kind}"], is_map=True)
        if pair.of_one_photo:
            make = partial(_difference_figure, pair.key, maps.difference, text["difference"], text["points"], pair.mode)
            show_downloads(make, f"{kind}_difference", text["difference"], subjects=pair.file_subjects("a", "b"),
                      difference=maps.difference)  # fmt: skip


def _map_outliers(comparison: Comparison, which: int, values: NDArray) -> outlier_masking.MapOutliers:
    """The cells in which outlier tokens of a model hold much of its map, and what is said of them."""
    from vitcore.forward.compare_models import outliers_in_common_map

    rec = comparison.recordings[which].rec
    cells, patches = outliers_in_common_map(comparison, which, values)
    found = outlier_masking.map_outliers_of_patches(patches, len(cached_outliers.find_outlier_tokens(rec).patches), rec.grid)
    return found if found.masked else found._replace(patches=cells)


def _joint_outliers(pair: ModelPair, outliers_of_both: list[outlier_masking.MapOutliers]) -> outlier_masking.MapOutliers:
    """What is said below both: of each by its letter."""
    sentences = [f"{letter}: {one.sentence}" for letter, one in zip("AB", outliers_of_both, strict=True) if one.sentence]
    return outlier_masking.MapOutliers(
        [],
        pair.texts.join_sentences(sentences),
        max(one.total for one in outliers_of_both),
        any(one.masked for one in outliers_of_both),
    )


def _show_difference(
    pair: ModelPair, comparison: Comparison, maps: MapPair, map_key: Hashable, cell: int | None,
    outliers_of_both: list[outlier_masking.MapOutliers],
) -> None:  # fmt: skip
    """The first less the second, in percentage points; what is framed in either is framed here. The scale reaches an even share."""
    marks = sorted({cell for one in outliers_of_both for cell in one.patches})
    map_outliers = outlier_masking.MapOutliers(
        marks, pair.texts.join_sentences(dict.fromkeys(one.sentence for one in outliers_of_both if one.patches)), 0, False
    )
    text, values = pair.texts, maps.difference
    most = relevance_scale_top(values, True, 100 / values.size)
    st.markdown(f"### {text['difference']}")
    drawn = relevance_maps.opaque_heat_map_uri(comparison, map_key, True, values, most, pair.mode)
    _draw_map(comparison, "differ", text["difference"], drawn, values, text["points"], cell, map_outliers=map_outliers)
    map_scale_bar(heat_colour_scale(values, most, signed_unit=text["points"], mode=pair.mode), "differ_scale")


def _draw_map(
    comparison: Comparison, key: str, label: str, overlay: str, values: NDArray, unit: str, cell: int | None,
    even: float | None = None, map_outliers: outlier_masking.MapOutliers | None = None, other: dict[str, Any] | None = None,
    which: int = 0,
) -> None:  # fmt: skip
    """One of the pictures: pointed at together, and a touch asks the place in both models."""
    grid, grids = comparison.grid, comparison.recordings[0].rec.grid
    which = 0 if comparison.of_one_photo else which  # both show the same part
    (left, top, right, bottom), step = comparison.seen_box(which), grids.step_px
    if grid.resampled:  # then in pixels of the photo
        step = round((bottom - top) / grid.rows), round((right - left) / grid.cols)
    photo, detail = (
        media_url(file, "image/jpeg", f"compared{which}{part}")
        for part, file in enumerate(model_comparisons.common_photo_jpegs(comparison, which))
    )
    picture(
        photo, grid.rows, grid.cols, step, key=key, label=label, target=selected_place_key(comparison), also_choose=("ask", True),
        selected=cell, overlay=overlay, detail=detail, values=values.ravel().tolist(), unit=unit, even_share=even, lines=False,
        group="compared", marks=map_outliers.patches if map_outliers else (),
        marks_sentence=map_outliers.sentence if map_outliers else "", other=other,
    )  # fmt: skip


def _map_figure(
    pair_key: PairKey,
    which: int,
    mask: NDArray,
    scale_top: float,
    title: str,
    name: str,
    mode: Any,
    marks: list[int],
    even_share_of_model: float,
) -> Drawing:
    """A map as a figure, made when it is asked for: what waits for that holds no photo and no model."""
    from vitcore.forward.compare_models import common_photo

    photo = common_photo(model_comparisons.comparison_from_keys(pair_key)[0], which=which)
    grid = Grid.from_map(mask)
    return figures.frame_outliers(
        figures.attention_on_photo(mask, photo, grid, title, scale_top, mode, name, even_share_of_model), marks, grid
    )


def _difference_figure(pair_key: PairKey, values: NDArray, title: str, unit: str, mode: Any) -> Drawing:
    """A difference as a figure, as `gathered` makes them."""
    from vitcore.forward.compare_models import common_photo

    photo = common_photo(model_comparisons.comparison_from_keys(pair_key)[0])
    return figures.relevance(values, photo, Grid.from_map(values), title, unit, signed=True, mode=mode, min_top=100 / values.size)
