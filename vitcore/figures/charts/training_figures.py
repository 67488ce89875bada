"""A training drawn: its curves over the steps, drawn pictures to learn from, and photos of a moment on scales that stay."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from vitcore.figures.attention import heat_figure, largest_value_words
from vitcore.figures.drawing import Axis, Drawing, HoverGrid, Label, Margin, Points, RasterLayer, StraightLine, picture_axes
from vitcore.figures.theme_colours import CATEGORICAL, Mode, tile_mosaic
from vitcore.grid import Grid
from vitcore.translation import percent, say

MASKED_PHOTO_SIDE_PX = 384  # the longer side of a masked photo as drawn, so that hatching is fine
HATCH_GREYS = (132, 176)  # the two greys of a masked patch
TITLE_GAP = 0.4  # above the drawn pictures of a difficulty, in pictures: room for a line of words
FIRST = 0.7  # where step 0 stands on a logarithmic axis


class TrainingCurve(NamedTuple):
    """A curve over steps: "raw" is faint, "line" is drawn over it, "dots" are single measurements."""

    name: str
    steps: NDArray
    values: NDArray
    kind: str = "line"


def training_curves(
    curves_over_steps: list[TrainingCurve], title: str, unit: str, mode: Mode = "light", at: int | None = None, last: int = 0,
    log_steps: bool = False, subtitle: str = "", limits: tuple[float, float] | None = None,
) -> Drawing:  # fmt: skip
    """Curves over training steps up to `last`, with a marker at step `at`; y from 0, or between `limits`."""
    drawn = [line for line in curves_over_steps if len(line.steps)]
    raw, smooth = ([line for line in drawn if (line.kind == "raw") is faint] for faint in (True, False))
    traces = [_curve(line, CATEGORICAL[i], log_steps) for part in (raw, smooth) for i, line in enumerate(part)]
    end = max([last, 2, *(int(line.steps[-1]) for line in drawn)])
    top = max([float(line.values.max()) for line in drawn], default=1.0)
    marker = [] if at is None else [StraightLine(x=max(at, FIRST) if log_steps else at, colour="accent", line_px=2.5)]
    steps = (float(np.log10(FIRST)), float(np.log10(end * 1.04))) if log_steps else (0, end * 1.02)
    return Drawing(
        title=title, subtitle=subtitle, mode=mode, height_px=320, marks=traces, shapes=marker,
        x=Axis(title=say("training step"), log=log_steps, range=steps),
        y=Axis(title=unit, range=limits or (0, 1.06 * max(top, 1e-9))), legend="above" if len(drawn) > 1 else "",
        margin=Margin(left=62, below=52, above=24 if subtitle else 48),
    )  # fmt: skip


def _curve(line: TrainingCurve, colour: str, log_steps: bool) -> Points:
    raw, dots = line.kind == "raw", line.kind == "dots"
    return Points(
        x=np.maximum(line.steps, FIRST) if log_steps else line.steps, y=line.values.astype(np.float32), name=line.name,
        colour=colour, line_px=1.2 if raw else 2.4, marker_px=7 if dots else 0, opacity=0.6 if raw else 1,
        hover=say("step {step}: {name} {value}", step="%{x:,}", name=line.name, value="%{y:.3f}"),
    )  # fmt: skip


def attention_on_photo(
    shares: NDArray, photo: NDArray[np.uint8] | Image.Image, grid: Grid, title: str, top: float, mode: Mode = "light",
    subtitle: str = "", even_share: float | None = None, query_patch: int | None = None,
) -> Drawing:  # fmt: skip
    """(rows, cols) shares of attention on the photo; colours run from 0 to `top`, the same in every frame of a film.

    The scale counts in times an `even_share` of all tokens (default: the map's mean). A `query_patch` that was asked is outlined.
    """
    subtitle = largest_value_words(100 * shares, say("% of the total"), even_share=even_share and 100 * even_share, after=subtitle)
    return heat_figure(
        shares, photo, grid, title, lambda share: percent(share, 2), top=top, even_share=even_share, mode=mode, subtitle=subtitle,
        query_patch=query_patch, height_px=480,
    )  # fmt: skip


def masked_photo(
    pixels: NDArray[np.uint8], grid: Grid, title: str, mode: Mode = "light", subtitle: str = "",
    hatched: NDArray[np.bool_] | None = None,
) -> Drawing:  # fmt: skip
    """A photo (H, W, 3) on its grid; `hatched` (N,) patches are grey with stripes, as the [mask] embedding has no look."""
    zoom = max(1, MASKED_PHOTO_SIDE_PX // max(pixels.shape[:2]))
    large = pixels.repeat(zoom, 0).repeat(zoom, 1)
    if hatched is not None:
        high, wide = (zoom * side for side in grid.step_px)
        cover = grid.to_map(hatched).repeat(high, 0).repeat(wide, 1)
        y, x = np.indices(cover.shape)
        stripes = np.array([*HATCH_GREYS], np.uint8)[((x + y) // 6) % 2]
        large = np.where(cover[..., None], stripes[..., None], large)
    size = (float(grid.cols), float(grid.rows))
    rasters = [RasterLayer(large, size)]
    return Drawing(title=title, subtitle=subtitle, mode=mode, height_px=420, rasters=rasters, **picture_axes(size))


def synthetic_pictures(
    sheets: NDArray[np.uint8], difficulties: Sequence[float], classes: Sequence[str], mode: Mode = "light"
) -> Drawing:
    """Pictures (D, R, K, px, px, 3) of D difficulties, R of each of K classes; hover tells the class."""
    rows, count, px = sheets.shape[1:4]
    size, high = (float(count), float(rows)), len(sheets) * (rows + TITLE_GAP)
    tops = [level * (rows + TITLE_GAP) + TITLE_GAP for level in range(len(sheets))]
    tiles = [tile_mosaic(sheet.reshape(-1, px, px, 3), count, gutter=3, zoom=-(-64 // px)) for sheet in sheets]
    return Drawing(
        title=say("Drawn pictures"), subtitle=say("{count} {count:class|classes}, one per column", count=count), mode=mode,
        height_px=round(76 * high) + 80, **picture_axes((count, high)),
        rasters=[RasterLayer(sheet, size, (0, top)) for sheet, top in zip(tiles, tops, strict=True)],
        marks=[HoverGrid([list(classes)] * rows, size, (0, top)) for top in tops],
        labels=[Label(say("difficulty {number:g}", number=difficulty), 0, top, y_anchor="bottom")
                for difficulty, top in zip(difficulties, tops, strict=True)],
    )  # fmt: skip
