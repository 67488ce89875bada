"""Outlier tokens in words, as they are said beside a map of which they hold much (`analysis.outlier_tokens.outliers_in_map`)."""

import numpy as np
from numpy.typing import ArrayLike

from vitcore.grid import Grid
from vitcore.translation import say


def outlier_patch_names(patches: ArrayLike, grid: Grid) -> str:
    """Which patches these are and that they are outlier tokens, without a full stop; empty where there are none."""
    count = len(np.asarray(patches))
    return outlier_count_phrase(count, _outlier_region(patches, grid)) if count else ""


def _outlier_region(patches: ArrayLike, grid: Grid) -> str:
    """ "corner" where all of these patches lie in corners of the picture, "edge" where all lie at its rim, else ""."""
    count, (corners, rim) = len(np.asarray(patches)), grid.on_border(patches)
    return "corner" if corners == count else "edge" if rim == count else ""


def outlier_count_phrase(count: int, place: str) -> str:
    """How many outlier tokens there are, and at which `place`, as a phrase."""
    if count == 1:
        return {"corner": say("This corner patch is an outlier token"), "edge": say("This edge patch is an outlier token"),
                "": say("This patch is an outlier token")}[place]  # fmt: skip
    return {"corner": say("These {count} corner {count:patch|patches} are outlier tokens", count=count),
            "edge": say("These {count} edge {count:patch|patches} are outlier tokens", count=count),
            "": say("These {count} {count:patch|patches} are outlier tokens", count=count)}[place]  # fmt: skip


def outlier_sentence(patches: ArrayLike, grid: Grid, attended: bool = True) -> str:
    """What is said beside a map of which these outlier tokens hold much; empty where there are none.

    `attended`: whether the map follows attention, so that what lies on them was attended to.
    """
    who = outlier_patch_names(patches, grid)
    return outlier_sentence_about(who, attended) if who else ""


def outlier_sentence_about(patch_names: str, attended: bool) -> str:
    """What is said beside a map of outlier tokens that are named already."""
    return say("{who}, not what the model looks at.", who=patch_names) if attended else say("{who}.", who=patch_names)


def masked_outliers_sentence(count: int) -> str:
    """What is said beside a map in which so many outlier tokens are masked; empty where none are."""
    return say("{count} outlier {count:token is|tokens are} masked here.", count=count) if count else ""
