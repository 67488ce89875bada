"""Interventions drawn: what the answer loses without each head, and where it turns when another photo's tokens take over."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vitcore.figures.drawing import (
    Axis,
    Drawing,
    HoverGrid,
    Label,
    Margin,
    Points,
    RasterLayer,
    StraightLine,
    picture_axes,
    row_or_column_axis,
)
from vitcore.figures.theme_colours import CATEGORICAL, ColourScale, Mode, apply_colour_scale, diverging_palette
from vitcore.translation import say

TICKS = 12  # at most, on an axis


def head_drops(drops: NDArray, label: str, mode: Mode = "light", subtitle: str = "") -> Drawing:
    """(L, H) by how much the logit of a class, called `label`, falls without each head: rows are layers, columns heads."""
    layers, heads = drops.shape
    top, size = max(float(np.abs(drops).max()), 1e-6), (float(heads), float(layers))
    told = say("layer {layer}, head {head}: {value}")
    text = [
        [told.format(layer=row, head=col, value=f"{drops[row, col]:.3g}") for col in range(heads)] for row in range(layers)
    ]  # fmt: skip
    scale = diverging_palette(mode)
    return Drawing(
        title=say("Drop of the logit of {label} without each head", label=label),
        subtitle=subtitle,
        mode=mode,
        height_px=min(900, 140 + 30 * layers),
        marks=[HoverGrid(text, size)],
        rasters=[RasterLayer(apply_colour_scale(drops, scale, -top, top), size)],
        colour_scale=ColourScale(colours=scale, low=-top, high=top, unit=say("logits")),
        margin=Margin(left=62, below=52),
        **picture_axes(
            size, row_or_column_axis(say("head"), heads, -(-heads // TICKS)), row_or_column_axis(say("layer"), layers, 1)
        ),
    )


def patching_by_depth(
    share: NDArray, names: Sequence[str], turning: int | None, even: float = 0.5, mode: Mode = "light", subtitle: str = ""
) -> Drawing:
    """(L, G) how far the answer has gone over to the other photo's when each group of tokens is taken from it after a layer.

    `names` are the groups'; `turning` is the layer of the turn, drawn as an upright line; at the share `even` both answers' logits
    are equal, drawn as a dashed one that says so.
    """
    told = say("after layer {layer}: {share} of the way", layer="%{x}", share="%{y:.2f}")
    layers = len(share)
    marks = [
        Points(x=list(range(layers)), y=share[:, group].tolist(), name=name, colour=CATEGORICAL[group], line_px=2.6, marker_px=8,
               symbol=("circle", "square", "diamond")[group % 3], hover=told)
        for group, name in enumerate(names)
    ]  # fmt: skip
    rules = [StraightLine(y=even, colour="soft")] + (
        [] if turning is None else [StraightLine(x=turning, colour="accent", line_px=2)]
    )
    low, high = min(-0.05, float(share.min()) - 0.05), max(1.05, float(share.max()) + 0.05)
    return Drawing(
        title=say("How far the answer has gone over to the other photo's"), subtitle=subtitle, mode=mode, height_px=420,
        marks=marks, shapes=rules, legend="below", margin=Margin(left=66, below=104, above=8),
        x=Axis(title=say("tokens taken from the other photo after layer"), ticks=list(range(0, layers, -(-layers // TICKS))),
               range=(-0.4, layers - 0.6)),
        y=Axis(title=say("part of the way to the other photo's answer"), range=(low, high)),
        labels=[Label(say("both answers equally likely"), 0.008, even, y_anchor="bottom", x_of_plot=True)],
    )  # fmt: skip
