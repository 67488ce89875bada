"""Outlier tokens outlined in a map, in figures and in pixels: a thin frame that is seen on every heat; and the same in words."""

from collections.abc import Iterable

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike, NDArray
from PIL import Image, ImageDraw

from vitcore.figures.theme import Part, outline
from vitcore.grid import Grid
from vitcore.translation import say

MARK = "#4FC3D9"  # around an outlier: seen on every colour of the scale
CASING = "#000000"  # around the mark: seen on light photos
INSET = 0.08  # of a patch: the frame lies within it, beside that of a patch that was asked


def frames(
    patches: Iterable[int], grid: Grid, place: tuple[float, float] = (0, 0), side: float = 1, width: float = 1.5
) -> list[Part]:
    """A frame around each patch of a map that begins at `place` in a figure, its patches `side` of the axes' units wide."""
    drawn = []
    for patch in patches:
        row, col = grid.row_col(int(patch))
        x, y, wide = place[0] + side * (col + INSET), place[1] + side * (row + INSET), side * (1 - 2 * INSET)
        drawn += [outline(x, y, wide, wide, CASING, width + 2), outline(x, y, wide, wide, MARK, width)]
    return drawn


def outlined(fig: go.Figure, patches: Iterable[int], grid: Grid, place: tuple[float, float] = (0, 0)) -> go.Figure:
    """The figure with these patches framed; itself where there are none."""
    marks = frames(patches, grid, place)
    if not marks:
        return fig
    spec = fig.to_dict()
    spec["layout"]["shapes"] = [*spec["layout"].get("shapes", ()), *marks]
    return go.Figure(spec, _validate=False)


def on_pixels(pixels: NDArray[np.uint8], patches: Iterable[int], grid: Grid) -> NDArray[np.uint8]:
    """(H, W, 3) pixels of a map on its photo with these patches framed; themselves where there are none."""
    some = [int(patch) for patch in patches]
    if not some:
        return pixels
    drawn = Image.fromarray(pixels)
    pen, wide, high = ImageDraw.Draw(drawn), drawn.width / grid.cols, drawn.height / grid.rows
    line = max(1, round(drawn.width / 400))
    for patch in some:
        row, col = grid.row_col(patch)
        left, top = round((col + INSET) * wide), round((row + INSET) * high)
        right, bottom = round((col + 1 - INSET) * wide) - 1, round((row + 1 - INSET) * high) - 1
        pen.rectangle((left - line, top - line, right + line, bottom + line), outline=CASING, width=3 * line)
        pen.rectangle((left, top, right, bottom), outline=MARK, width=line)
    return np.asarray(drawn)


# In words, for beside the map and for who can't see it


def named(patches: ArrayLike, grid: Grid) -> str:
    """Which patches these are and that they are outlier tokens, without a full stop; empty where there are none."""
    count = len(np.asarray(patches))
    return called(count, where(patches, grid)) if count else ""


def where(patches: ArrayLike, grid: Grid) -> str:
    """ "corner" where all of these patches lie in corners of the picture, "edge" where all lie at its rim, else ""."""
    count, (corners, rim) = len(np.asarray(patches)), grid.at_the_rim(patches)
    return "corner" if corners == count else "edge" if rim == count else ""


def called(count: int, place: str) -> str:
    """The same of so many patches in such a `where`."""
    if count == 1:
        return {"corner": say("This corner patch is an outlier token"), "edge": say("This edge patch is an outlier token"),
                "": say("This patch is an outlier token")}[place]  # fmt: skip
    return {"corner": say("These {count} corner {count:patch|patches} are outlier tokens", count=count),
            "edge": say("These {count} edge {count:patch|patches} are outlier tokens", count=count),
            "": say("These {count} {count:patch|patches} are outlier tokens", count=count)}[place]  # fmt: skip


def told(patches: ArrayLike, grid: Grid, attended: bool = True) -> str:
    """What is said beside a map of which these outlier tokens hold much; empty where there are none.

    `attended`: whether the map follows attention, so that what lies on them was attended to.
    """
    who = named(patches, grid)
    return sentence(who, attended) if who else ""


def sentence(who: str, attended: bool) -> str:
    """The same of patches that are `named` already."""
    return say("{who}, not what the model looks at.", who=who) if attended else say("{who}.", who=who)


def told_masked(count: int) -> str:
    """What is said beside a map in which so many outlier tokens are masked; empty where none are."""
    return say("{count} outlier {count:token is|tokens are} masked here.", count=count) if count else ""
