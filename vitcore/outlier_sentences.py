"""Outlier tokens in words, as they are said beside a map of which they hold much (`analysis.outlier_tokens.standing_out`)."""

import numpy as np
from numpy.typing import ArrayLike

from vitcore.grid import Grid
from vitcore.translation import say


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
