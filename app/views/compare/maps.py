"""Two maps on the photo, on one scale and one grid, and their difference: rollout, and the attention of a layer."""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from app import selection, texts
from app.components import address
from app.components.figure import aside, downloads, explain
from app.components.picture.picture import picture
from app.furniture import controls, outliers
from app.state import insights
from app.state.beside import comparisons
from app.views.compare.pair import Pair, sides

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from numpy.typing import NDArray

    from vitcore.forward.compare_models import Comparison, MapPair

Me = tuple[str, str, str]  # both models and the photo, by what they are kept under


def rollout(pair: Pair, comparison: Comparison) -> None:
    """What was gathered through all layers."""
    text = pair.text
    with st.container(horizontal=True, vertical_alignment="bottom"):
        cell = _asked(pair, comparison)
        with st.popover(text["settings"], icon=":material/tune:", key="rollout_settings"):
            helps = texts.prose("common")
            fusion = controls.choice(text, "fusion", ["mean", "max", "min"], help=helps["fusion help"])
            settings: dict[str, Any] = {"fusion": fusion}
            for key, name, start in (("discard", "discard_ratio", 0), ("residual", "residual", 50)):
                settings[name] = controls.slider(text[key], key, 0, 95, start, help=helps[f"{key} help"]) / 100
    settings |= {outliers.KEY: True} if outliers.on() else {}
    items = tuple(sorted(settings.items()))
    maps = comparisons.rollouts(comparison, cell, items, pair.vits)
    _shown(pair, comparison, maps, "rollout", (cell, items), cell)


def attention(pair: Pair, comparison: Comparison) -> None:
    """What is attended to in one layer; in the other model, in the layer at the same depth."""
    from vitcore.forward.compare_models import layer_at_same_depth

    text = pair.text
    blocks, heads = [vit.blocks for vit in pair.vits], min(vit.heads for vit in pair.vits)
    deep = max(blocks)
    key = _key("both_layer", selection.LAYER, shared=blocks[0] == deep)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        layer = controls.slider(text["layer"], key, 0, deep - 1, deep - 1, width=260)
        head = controls.head(text["one head"], heads, text["mean of heads"], width=150)
        cell = _asked(pair, comparison)
    first, second = (layer if count == deep else layer_at_same_depth(layer, deep, count) for count in blocks)
    here = (first, second)
    if blocks[0] != blocks[1]:
        st.caption(text["other layer"].format(first=here[0], second=here[1], blocks=blocks[0], others=blocks[1]))
    maps = comparisons.attentions(comparison, cell, here, head, pair.vits)
    _shown(pair, comparison, maps, "attention", (cell, here, head, outliers.on()), cell)


def _key(of_two: str, of_all: str, shared: bool) -> str:
    """The control's key: that of the selection `of_all` pages where it is of the first model alone, else one of this page's."""
    if shared:
        selection.rename({of_two: of_all})
    return of_all if shared else of_two


def _place(comparison: Comparison) -> str:
    """The key of the place that is asked: where each cell is one patch of both models, it is that patch."""
    return _key("query", selection.PATCH, shared=not comparison.grid.resampled)


def _asked(pair: Pair, comparison: Comparison) -> int | None:
    """The place that is asked, or None for where the answer is read."""
    text, count, key = pair.text, comparison.grid.rows * comparison.grid.cols, _place(comparison)
    label = texts.prose("patches")["patch"] if key == selection.PATCH else text["place"]
    asks = st.toggle(text["ask"], key="ask", bind="query-params", value=False, help=text["ask help"])
    middle = (comparison.grid.rows // 2) * comparison.grid.cols + comparison.grid.cols // 2
    cell = controls.number(label, key, count, middle, width=130, disabled=not asks)
    return cell if asks else None


def _shown(pair: Pair, comparison: Comparison, maps: MapPair, kind: str, of: Hashable, cell: int | None) -> None:
    """Both maps side by side on one scale, and below them their difference beside what it says; `of` tells maps of a kind apart."""
    import numpy as np

    from vitcore.figures.heat_overlay import scale_on_photo, scale_top
    from vitcore.report import comparison_handout

    text = pair.text
    aside(key="aside_grid").caption(comparison_handout.on(comparison.grid))
    both, unit = np.stack(maps.both), text[f"unit {kind}"]
    most, even = scale_top(both), float(both.mean())
    scale = scale_on_photo(100 * both, 100 * most, unit)
    each: list[outliers.Found] = []
    for which, ((place, key, name), mask) in enumerate(zip(sides(pair), maps.both, strict=True)):
        each.append(found := _outliers(pair, comparison, which, mask))
        with place:
            drawn = comparisons.overlay(comparison, (kind, of, key), most, mask)
            label = f"{text[f'picture.{kind}']}: {name}"
            _picture(pair, comparison, f"{key}_map", label, drawn, 100 * mask, unit, cell, 100 * even, found)
            controls.bar(scale, f"{key}_scale")
            make = partial(gathered, pair.me, mask, most, text[f"picture.{kind}"], name, pair.mode, found.patches, even)
            note = text.joined((text[f"how {kind}"], found.told))
            downloads(make, f"{key}_{kind}", note, of=pair.of(key), called=kind, **{f"{kind}_{key}": mask})
    outliers.beside(_together(pair, each), "maps", always=True)
    one, two = st.columns(2, gap="large")
    with one:
        _difference(pair, comparison, maps, (kind, of), cell, each)
    with two:
        st.markdown(controls.verbatim(comparison_handout.of_maps(maps.both, maps.difference, maps.rank_correlation)))
        explain(text.joined([text[f"how {kind}"], text["how difference"]]), text[f"limits {kind}"])
        make = partial(differing, pair.me, maps.difference, text["difference"], text["points"], pair.mode)
        downloads(make, f"{kind}_difference", text["difference"], of=pair.of("a", "b"), difference=maps.difference)


def _outliers(pair: Pair, comparison: Comparison, which: int, values: NDArray) -> outliers.Found:
    """The cells in which outlier tokens of a model hold much of its map, and what is said of them."""
    from vitcore.forward.compare_models import outliers_in_common_map

    rec = comparison.recordings[which].rec
    cells, patches = outliers_in_common_map(comparison, which, values)
    found = outliers.of_grid(patches, len(insights.outliers(rec).patches), rec.grid)
    return found if found.masked else found._replace(patches=cells)


def _together(pair: Pair, each: list[outliers.Found]) -> outliers.Found:
    """What is said below both: of each by its letter."""
    said = [f"{letter}: {one.told}" for letter, one in zip("AB", each, strict=True) if one.told]
    return outliers.Found([], pair.text.joined(said), max(one.of for one in each), any(one.masked for one in each))


def _difference(
    pair: Pair, comparison: Comparison, maps: MapPair, of: Hashable, cell: int | None, each: list[outliers.Found]
) -> None:  # fmt: skip
    """The first less the second, in percentage points; what is framed in either is framed here. The scale reaches an even share."""
    from vitcore.figures.heat_overlay import scale_on_photo
    from vitcore.figures.relevance import limit

    marks = sorted({cell for one in each for cell in one.patches})
    found = outliers.Found(marks, pair.text.joined(dict.fromkeys(one.told for one in each if one.patches)), 0, False)
    text, values = pair.text, maps.difference
    most = limit(values, True, 100 / values.size)
    st.markdown(f"## {text['difference']}")
    drawn = comparisons.overlay_signed(comparison, of, most, values)
    _picture(pair, comparison, "differ", text["difference"], drawn, values, text["points"], cell, found=found)
    controls.bar(scale_on_photo(values, most, text["points"], signed=True), "differ_scale")


def _picture(
    pair: Pair, comparison: Comparison, key: str, label: str, over: str, values: NDArray, unit: str, cell: int | None,
    even: float | None = None, found: outliers.Found | None = None,
) -> None:  # fmt: skip
    """One of the three: pointed at together, and a touch asks the place in both models."""
    grid, grids = comparison.grid, comparison.recordings[0].rec.grid
    (left, top, right, bottom), step = grid.box, grids.step_px
    if grid.resampled:  # then in pixels of the photo
        step = round((bottom - top) / grid.rows), round((right - left) / grid.cols)
    photo, detail = (
        address(file, "image/jpeg", f"compared{part}") for part, file in enumerate(comparisons.photograph(comparison))
    )
    picture(
        photo, grid.rows, grid.cols, step, key=key, label=label, target=_place(comparison), also=("ask", True), selected=cell,
        overlay=over, detail=detail, values=values.ravel().tolist(), unit=unit, even=even, lines=False, group="compared",
        marks=found.patches if found else (), told=found.told if found else "",
    )  # fmt: skip


def gathered(
    me: Me, mask: NDArray, most: float, title: str, name: str, mode: Any, marks: list[int], even: float
) -> go.Figure:
    """A map as a figure, made when it is asked for: what waits for that holds no photo and no model."""
    from vitcore import figures
    from vitcore.forward.compare_models import common_photo
    from vitcore.grid import Grid

    photo = common_photo(comparisons.again(*me)[0])
    grid = Grid.from_map(mask)
    return figures.outlined(figures.gathered(mask, photo, grid, title, most, mode, name, even), marks, grid)


def differing(me: Me, values: NDArray, title: str, unit: str, mode: Any) -> go.Figure:
    """A difference as a figure, as `gathered` makes them."""
    from vitcore import figures
    from vitcore.forward.compare_models import common_photo
    from vitcore.grid import Grid

    photo = common_photo(comparisons.again(*me)[0])
    return figures.relevance(values, photo, Grid.from_map(values), title, unit, signed=True, mode=mode,
                             least=100 / values.size)  # fmt: skip
