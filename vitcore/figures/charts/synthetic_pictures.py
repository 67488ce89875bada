"""Drawn pictures: some of each class, a column a class, once for each difficulty."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from vitcore.figures.theme import FigurePart, Mode, figure, hover_trace, image_trace, mosaic, text_annotation
from vitcore.translation import say

TITLE_GAP = 0.4  # above the pictures of a difficulty, in pictures: room for a line of words


def synthetic_pictures(
    sheets: NDArray[np.uint8], difficulties: Sequence[float], classes: Sequence[str], mode: Mode = "light"
) -> go.Figure:
    """Pictures (D, R, K, px, px, 3) of D difficulties, R of each of K classes; hover tells the class."""
    rows, count, px = sheets.shape[1:4]
    parts: list[FigurePart] = []
    said: list[FigurePart] = []
    for level, (sheet, difficulty) in enumerate(zip(sheets, difficulties, strict=True)):
        top = level * (rows + TITLE_GAP) + TITLE_GAP
        tiles = mosaic(sheet.reshape(-1, px, px, 3), count, gutter=3, zoom=-(-64 // px))
        size = (float(count), float(rows))
        for part in (image_trace(tiles, size, smooth=False), hover_trace([list(classes)] * rows, size)):
            parts.append(part | {"y0": part["y0"] + top})
        said.append(text_annotation(say("difficulty {number:g}", number=difficulty), 0, top, yanchor="bottom"))
    high = len(sheets) * (rows + TITLE_GAP)
    about = say("{count} {count:class|classes}, a column each", count=count)
    return figure(parts, say("Drawn pictures"), mode, round(76 * high) + 80, about, size=(count, high), annotations=said)
