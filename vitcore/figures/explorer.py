"""The attention explorer as it is seen: the photo lit by a head (or more), the asked patches outlined, and every head beside it."""

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from PIL import Image

from vitcore.figures.attention import fitted, label
from vitcore.figures.theme import SEQUENTIAL, Mode, Part, colour, figure, lut, mosaic, outline, picture, scale_bar
from vitcore.grid import Grid
from vitcore.translation import say

DECADES = 3  # of the logarithmic scale
INKS = ("#ffffff", "#4fc3d9")  # of the asked patch and of the one it is compared with
Pixels = NDArray[np.uint8] | Image.Image


def explorer(
    lit: NDArray, maps: NDArray, photo: Pixels, grid: Grid, title: str, unit: str, mode: Mode = "light", *, top: float,
    about: str = "", style: str = "heat", log: bool = False, shared: bool = False, asked: tuple[int, ...] = (),
) -> go.Figure:  # fmt: skip
    """(rows, cols) weights on the photo up to `top`, and (H, rows, cols) maps beside it, each on its own scale unless `shared`.

    Style "heat" colours the photo, "light" darkens what has little weight; `asked` are the patches that are outlined.
    """
    count = len(maps)
    across = min(count, 4 if count > 3 else 3)
    high = -(-count // across) * (grid.rows + 1) - 1
    side = max(high, 2 * grid.rows) / grid.rows  # the photo's patches, over those of the small maps
    left, beside = grid.cols * side + 2, across * (grid.cols + 1) - 1
    size = (left + beside, max(high, side * grid.rows))
    most = float(maps.max())
    tiles = [colour(_unit(m, most if shared else float(m.max()), log), SEQUENTIAL, 0, 1) for m in maps.astype(float)]
    zoom = max(2, round(320 / grid.rows))
    small = picture(mosaic(np.stack(tiles), across, gutter=zoom, zoom=zoom), (beside, high), smooth=False)
    small["x0"] += left
    places = [(left + (head % across) * (grid.cols + 1), (head // across) * (grid.rows + 1)) for head in range(count)]
    drawn = picture(_lit(_unit(lit, top, log), fitted(photo), style), (grid.cols * side, grid.rows * side))
    shapes: list[Part] = []
    for patch, ink in zip(asked, INKS, strict=False):
        row, col = grid.row_col(patch)
        shapes += [outline(col * side, row * side, side, side, ink, 3)]
        shapes += [outline(x + col, y + row, 1, 1, ink, 1) for x, y in places]
    names = [label(say("head {head}", head=head), *place) for head, place in enumerate(places)]
    bar = scale_bar(SEQUENTIAL if style == "heat" else "gray", top / 10**DECADES if log else 0, top, unit)
    return figure([drawn, small, bar], title, mode, round(110 + 820 * size[1] / size[0]), about, size=size, shapes=shapes,
                  annotations=names)  # fmt: skip


def _unit(values: NDArray, top: float, log: bool) -> NDArray:
    """Weights as 0 to 1 of a scale that ends at `top`: even, or of three powers of ten."""
    share = np.clip(np.asarray(values, float) / max(top, 1e-12), 0, 1)
    return np.clip(1 + np.log10(np.maximum(share, 1e-12)) / DECADES, 0, 1) if log else share


def _lit(share: NDArray, photo: Image.Image, style: str) -> NDArray[np.uint8]:
    """The photo under its weights, one colour a patch, as the browser mixes them."""
    amount = np.asarray(
        Image.fromarray(np.uint8(np.round(255 * share))).resize(photo.size, Image.Resampling.NEAREST), float
    )[..., None]
    under = np.asarray(photo.convert("RGB"), float)
    if style == "light":
        return np.round(under * (1 - (222 - 222 * amount / 255) / 255)).astype(np.uint8)
    alpha = (150 + 55 * amount / 255) / 255
    return np.round((1 - alpha) * under + alpha * lut(SEQUENTIAL)[amount[..., 0].astype(np.uint8)]).astype(np.uint8)
