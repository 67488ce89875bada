"""Mean attention distance drawn (arXiv 2010.11929 Fig. 7 right, Fig. 11): one dot per head over depth, in pixels."""

import math

import numpy as np
from numpy.typing import NDArray

from vitcore.figures.drawing import Axis, Drawing, Label, Margin, Points, StraightLine
from vitcore.figures.theme_colours import CATEGORICAL, Mode
from vitcore.grid import SINK_SHARE, Grid
from vitcore.translation import percent, say

SPREAD = 0.56  # of the way from one layer to the next, from the first head to the last


def _head_dots(px: NDArray, head: int, here: NDArray, share: NDArray | None, hollow: bool = False) -> Points:
    """One head in the layers where it is `here` (L,)."""
    blocks, heads = px.shape
    aside = SPREAD * (head / (heads - 1) - 0.5) if heads > 1 else 0.0
    symbol = ("circle", "diamond", "square")[head // len(CATEGORICAL) % 3]
    return Points(
        x=(np.arange(blocks) + aside).astype(np.float32), y=np.where(here, px[:, head], np.nan).astype(np.float32),
        name=say("head {head}", head=head), colour=CATEGORICAL[head % len(CATEGORICAL)], marker_px=11 if heads <= 6 else 9,
        symbol=f"{symbol}-open" if hollow else symbol, marker_opacity=1 if hollow else 0.9, rim=True, in_legend=not hollow,
        hover="%{hovertext}", hover_texts=[_hover_text(px, block, head, share) for block in range(blocks)],
        custom_data=[[block, head] for block in range(blocks)],
    )  # fmt: skip


def _hover_text(px: NDArray, block: int, head: int, share: NDArray | None) -> str:
    told = say("layer {layer}, head {head}", layer=block, head=head) + f"<br>{px[block, head]:.1f} px"
    if share is None:
        return told
    return told + "<br>" + say("{share} on tokens that are not patches", share=percent(share[block, head], 0))


def _clear(px: NDArray, line: float, top: float) -> float:
    """Where the words of the line begin, from below: as near to it as they lie on no dot of the layers that they may cover."""
    beside, high, dot = px[: math.ceil(0.6 * len(px))], 0.06 * top, 0.02 * top
    above = [line + step * 0.01 * top for step in range(20)]
    below = [line - high - step * 0.01 * top for step in range(20)]
    free = [y for y in above + below if not ((beside > y - dot) & (beside < y + high + dot)).any() and 0 < y < top - high]
    return min(free, key=lambda y: min(abs(y - line), abs(y + high - line)), default=line)


def attention_distance(
    px: NDArray, grid: Grid, uniform_px: float, cls: str = "drop", images: int = 1, mode: Mode = "light", max_px: float = 0,
    prefix_attention_share: NDArray | None = None, height_px: int = 520,
) -> Drawing:  # fmt: skip
    """(L, H) mean distances; the dashed line is attention spread evenly over all patches. The axis reaches `max_px`.

    Heads of a layer stand side by side, the first on the left, so that none hides another. With `prefix_attention_share` (L, H),
    what each gives to tokens that are not patches, those that give them half or more are hollow.
    """
    blocks, heads = px.shape
    hollow = np.zeros(px.shape, bool) if prefix_attention_share is None else prefix_attention_share >= SINK_SHARE
    dots = [_head_dots(px, head, ~hollow[:, head], prefix_attention_share) for head in range(heads)]
    dots += [_head_dots(px, head, hollow[:, head], prefix_attention_share, True) for head in range(heads) if hollow[:, head].any()]
    told = say("uniform attention {px:.1f} px", px=uniform_px)
    near, far = float(px[0].min()), float(px[0].max())
    over = say("{count} {count:image|images}", count=images)
    span = say("layer 0: {near:.0f}–{far:.0f} of {side} px", near=near, far=far, side=grid.image_px[1])
    meaning = "○ " + say("half or more on non-patch tokens") if hollow.any() else ""
    ways = {"drop": say("class token dropped"), "renormalise": say("renormalised")}
    about = " · ".join(filter(None, (span, ways[cls], over, meaning)))
    top = 1.18 * max(uniform_px, float(px.max()), max_px)
    words = _clear(px, uniform_px, top)
    return Drawing(
        title=say("Mean attention distance"), subtitle=about, mode=mode, height_px=height_px, marks=dots,
        x=Axis(title=say("network depth (layer)"), step=1 if blocks <= 12 else 2, range=(-0.6, blocks - 0.4)),
        y=Axis(title=say("distance (pixels)"), range=(0, top)), shapes=[StraightLine(y=uniform_px, colour="soft")],
        labels=[Label(told, 0.008, words, y_anchor="bottom", x_of_plot=True)],
        margin=Margin(left=62, below=52, above=24), legend="above" if 1 < heads <= 16 else "",
    )  # fmt: skip
