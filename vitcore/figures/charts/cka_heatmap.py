"""Two models compared, drawn: how alike their tokens are, every layer of one beside every layer of the other."""

import numpy as np
from numpy.typing import NDArray

from vitcore.figures.drawing import Axis, Drawing, HoverGrid, Margin, RasterLayer, picture_axes, row_or_column_axis
from vitcore.figures.theme_colours import SEQUENTIAL, ColourScale, Mode, apply_colour_scale
from vitcore.translation import say

TICKS = 12  # at most, on an axis


def cka_heatmap(values: NDArray, names: tuple[str, str], mode: Mode = "light", subtitle: str = "") -> Drawing:
    """(L, L') linear CKA, 0 to 1: the first model's layers are rows, the second's columns, both from 0."""
    rows, cols = values.shape
    size = (float(cols), float(rows))
    told = say("layer {row} of {first}, layer {col} of {second}: {value}")
    facts = {"first": names[0], "second": names[1]}
    text = [[told.format(row=r, col=c, value=f"{values[r, c]:.3f}", **facts) for c in range(cols)] for r in range(rows)]
    return Drawing(
        title=say("Similarity of the tokens"), subtitle=subtitle, mode=mode, height_px=520, marks=[HoverGrid(text, size)],
        rasters=[RasterLayer(apply_colour_scale(np.nan_to_num(values), SEQUENTIAL, 0, 1), size)],
        colour_scale=ColourScale(colours=SEQUENTIAL, low=0, high=1, unit=say("linear CKA"), ticks=(0, 0.5, 1)),
        margin=Margin(left=62, below=52), **picture_axes(size, _layers(cols, names[1]), _layers(rows, names[0])),
    )  # fmt: skip


def _layers(count: int, name: str) -> Axis:
    """An axis of layers, numbered from 0."""
    return row_or_column_axis(say("layer of {name}", name=name), count, -(-count // TICKS))
