"""What the norms of a photo's tokens say, computed: which patches are outliers, from which layer on, and where."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from app.state.recordings import cached_outliers
from app.texts import Prose
from vitcore.grid import Grid
from vitcore.translation import percent

if TYPE_CHECKING:
    from vitcore.analysis.outlier_tokens import OutlierTokens

MAX_NAMED = 12  # patches that a sentence lists


def show_outlier_summary(outliers: OutlierTokens, grid: Grid, text: Prose) -> None:
    """Whether there are outlier tokens, from which layer on, and where they lie."""
    largest, least = outliers.times.max(1), cached_outliers.TIMES
    if not len(outliers.patches):
        layer = int(largest.argmax())
        st.markdown(text["none"].format(least=least, times=f"{largest[layer]:.1f}", layer=layer))
        return
    start = int(outliers.first[outliers.patches].min())
    sentence = text.fill("some", count=len(outliers.patches), all=grid.patches, first=start, times=f"{largest[start]:.0f}",
                         patches=_patch_list(outliers.patches.tolist(), text))  # fmt: skip
    if start:
        sentence += " " + text["before"].format(before=start - 1, times=f"{largest[start - 1]:.1f}")
    corners, rim = grid.on_border(outliers.patches)
    usual = grid.on_border(range(grid.patches))[1] / grid.patches
    where = "corners" if corners == len(outliers.patches) else "rim"
    st.markdown(f"{sentence} {text.fill(where, count=len(outliers.patches), rim=rim, usual=percent(usual, 0))}")


def _patch_list(patches: list[int], text: Prose) -> str:
    """Patches by their numbers, the first few of many."""
    named = ", ".join(map(str, patches[:MAX_NAMED]))
    return text["and more"].format(patches=named) if len(patches) > MAX_NAMED else named


def show_prefix_norms(outliers: OutlierTokens, names: tuple[str, ...], text: Prose) -> None:
    """How long the tokens that are not patches are, beside the patches, after the last layer."""
    if not names:
        return
    last, median = outliers.norms[-1, : outliers.prefix], outliers.medians[-1]
    registers = [float(norm) for norm, name in zip(last, names, strict=True) if name.startswith("register")]
    if registers:
        st.markdown(text.fill("registers", count=len(registers), low=f"{min(registers):.3g}", high=f"{max(registers):.3g}",
                              median=f"{median:.3g}"))  # fmt: skip
    if names[0] == "class":
        st.markdown(text["class"].format(norm=f"{last[0]:.3g}", median=f"{median:.3g}"))


def show_outliers_after_layer(outliers: OutlierTokens, block: int, text: Prose) -> None:
    """What holds after one layer."""
    high, cut, median = outliers.high[block], outliers.thresholds[block], outliers.medians[block]
    facts = {"block": block, "cut": f"{cut:.3g}", "median": f"{median:.3g}", "all": len(high)}
    if high.any():
        low, most = outliers.times[block][high].min(), outliers.times[block][high].max()
        st.markdown(text.fill("layer some", count=int(high.sum()), low=f"{low:.3g}", most=f"{most:.3g}", **facts))
    else:
        st.markdown(text["layer none"].format(most=f"{outliers.times[block].max():.2g}", **facts))
