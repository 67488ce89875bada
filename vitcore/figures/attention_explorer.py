"""The attention explorer as it is seen: the photo lit by a head (or more), the asked patches outlined, and every head beside it."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from PIL import Image

from vitcore.figures.attention import fitted, own_tops, tops_of
from vitcore.figures.heat_overlay import fine_detail, on_photo
from vitcore.figures.outlier_frames import frames
from vitcore.figures.theme import SEQUENTIAL, Mode, Part, colour, figure, mosaic, note, outline, picture, scale_bar
from vitcore.grid import Grid
from vitcore.translation import percent_in_two_digits, say

DECADES = 3  # of the logarithmic scale
PRINTED_PX = 2400  # of a PNG, at least
INKS = ("#ffffff", "#4fc3d9")  # of the asked patch and of the one it is compared with
Pixels = NDArray[np.uint8] | Image.Image


def explorer(
    lit: NDArray, maps: NDArray, photo: Pixels, grid: Grid, title: str, unit: str, mode: Mode = "light", *, top: float,
    about: str = "", style: str = "heat", log: bool = False, shared: bool = False, asked: tuple[int, ...] = (),
    marks: Sequence[Sequence[int]] = (),
) -> go.Figure:  # fmt: skip
    """(rows, cols) weights on the photo up to `top`, and (H, rows, cols) maps beside it, each on its own scale unless `shared`.

    Above each stands the largest weight in it; the bar is of the maps. Style "heat" colours the photo, "light" darkens what has
    little weight; `asked` are the patches that are outlined. `marks` are outlier tokens in the lit photo and in each map, framed.
    """
    count, rows = len(maps), grid.rows
    across = min(count, 4 if count > 3 else 3)
    above = max(1.4, across * (grid.cols + 1) / 30)  # for a line of words, in patches of the small maps
    high = -(-count // across) * (rows + above)
    side = max(high - above, 2 * rows) / rows  # the photo's patches, over those of the small maps
    left, beside = grid.cols * side + 2, across * (grid.cols + 1) - 1
    size = (left + beside, max(high, side * rows + above))
    maps, tops = maps.astype(float), tops_of(maps, grid, shared)
    tiles = np.stack([colour(_unit(m, end, log), SEQUENTIAL, 0, 1) for m, end in zip(maps, tops, strict=True)])
    zoom = max(2, round(320 / rows))
    places = [
        (left + head % across * (grid.cols + 1), above + head // across * (rows + above)) for head in range(count)
    ]
    drawn = [picture(_lit(_unit(lit, top, log), fitted(photo), style, grid), (grid.cols * side, rows * side))]
    drawn[0]["y0"] += above
    for first in range(0, count, across):
        strip = mosaic(tiles[first : first + across], across, gutter=zoom, zoom=zoom)
        small = picture(strip, (beside, rows), smooth=False)
        drawn.append(small | {"x0": small["x0"] + left, "y0": small["y0"] + places[first][1]})
    shapes: list[Part] = []
    for patch, ink in zip(asked, INKS, strict=False):
        row, col = grid.row_col(patch)
        shapes += [outline(col * side, above + row * side, side, side, ink, 3)]
        shapes += [outline(x + col, y + row, 1, 1, ink, 1) for x, y in places]
    for patches, place, wide in zip(marks, [(0, above), *places], [side, *count * [1.0]], strict=bool(marks)):
        shapes += frames(patches, grid, place, wide, 1.5 if wide == side else 0.8)
    largest = [
        say("head {head}, up to {most}", head=head, most=percent_in_two_digits(float(m.max())))
        for head, m in enumerate(maps)
    ]
    words = [(say("up to {most}", most=percent_in_two_digits(top)), (0, above)), *zip(largest, places, strict=True)]
    names = [note(name, x, y - 0.1, 11, yanchor="bottom") for name, (x, y) in words]
    end, unit = (tops[0], unit) if shared else (1.0, own_tops())
    bar = scale_bar(SEQUENTIAL, end / 10**DECADES if log else 0, end, unit)
    return figure([*drawn, bar], title, mode, round(110 + 820 * size[1] / size[0]), about, size=size, shapes=shapes,
                  annotations=names, meta={"mode": mode, "wide_px": PRINTED_PX})  # fmt: skip


def _unit(values: NDArray, top: float, log: bool) -> NDArray:
    """Weights as 0 to 1 of a scale that ends at `top`: even, or of three powers of ten."""
    share = np.clip(np.asarray(values, float) / max(top, 1e-12), 0, 1)
    return np.clip(1 + np.log10(np.maximum(share, 1e-12)) / DECADES, 0, 1) if log else share


def _lit(share: NDArray, photo: Image.Image, style: str, grid: Grid) -> NDArray[np.uint8]:
    """The photo under its weights, one colour a patch, as the browser mixes them."""
    if style == "heat":
        return on_photo(share, fine_detail(photo, grid), 1)
    amount = np.asarray(
        Image.fromarray(np.uint8(np.round(255 * share))).resize(photo.size, Image.Resampling.NEAREST), float
    )[..., None]
    return np.round(np.asarray(photo.convert("RGB"), float) * (1 - (222 - 222 * amount / 255) / 255)).astype(np.uint8)
