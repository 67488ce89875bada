"""Drawn pictures: some of each class, a column a class, once for each difficulty."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vitcore.figures.drawing import Drawing, HoverGrid, Label, RasterLayer, picture_axes
from vitcore.figures.theme import Mode, mosaic
from vitcore.translation import say

TITLE_GAP = 0.4  # above the pictures of a difficulty, in pictures: room for a line of words


def synthetic_pictures(
    sheets: NDArray[np.uint8], difficulties: Sequence[float], classes: Sequence[str], mode: Mode = "light"
) -> Drawing:
    """Pictures (D, R, K, px, px, 3) of D difficulties, R of each of K classes; hover tells the class."""
    rows, count, px = sheets.shape[1:4]
    size, high = (float(count), float(rows)), len(sheets) * (rows + TITLE_GAP)
    tops = [level * (rows + TITLE_GAP) + TITLE_GAP for level in range(len(sheets))]
    tiles = [mosaic(sheet.reshape(-1, px, px, 3), count, gutter=3, zoom=-(-64 // px)) for sheet in sheets]
    return Drawing(
        title=say("Drawn pictures"), subtitle=say("{count} {count:class|classes}, one per column", count=count), mode=mode,
        height_px=round(76 * high) + 80, **picture_axes((count, high)),
        rasters=[RasterLayer(sheet, size, (0, top)) for sheet, top in zip(tiles, tops, strict=True)],
        marks=[HoverGrid([list(classes)] * rows, size, (0, top)) for top in tops],
        labels=[Label(say("difficulty {number:g}", number=difficulty), 0, top, y_anchor="bottom")
                for difficulty, top in zip(difficulties, tops, strict=True)],
    )  # fmt: skip
