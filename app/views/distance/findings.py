"""What the attention distances say in words: the nearest and the farthest head, sinks, the head that changes most."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

if TYPE_CHECKING:
    from app.texts import Prose
    from vitcore.grid import Grid

Heads = list[tuple[int, int]]  # (block, head)


def said(text: Prose, grid: Grid, cls: str, both: Any, spread: Any = None) -> Heads:
    """Say it of `both` ways of counting and the share on prefix tokens, (L, H) each; the heads that are named.

    `spread` (L, H): how much each head's renormalised distance differs from photo to photo.
    """
    from vitcore.analysis import distance

    dropped, renormalised, share = both
    found, sinks = distance.reach(dropped, renormalised), distance.sinks(share)
    named: Heads = []
    if found.near != found.far:
        told = "first layer" if cls == "renormalise" or not grid.prefix else "first layer dropped"
        st.markdown(text[told].format(
            near=found.near + 1, near_px=f"{found.near_px:.1f}", far=found.far + 1, far_px=f"{found.far_px:.1f}",
            near_drop=f"{found.near_dropped_px:.1f}", far_drop=f"{found.far_dropped_px:.1f}"))  # fmt: skip
        named = [(0, found.near), (0, found.far)]
    if sinks:
        named.append(sinks[0])
        st.markdown(text["sinks"].format(
            count=len(sinks), all=share.size, block=sinks[0][0], head=sinks[0][1] + 1, share=f"{share[sinks[0]]:.0%}",
            drop=f"{dropped[sinks[0]]:.1f}", left=f"{renormalised[sinks[0]]:.1f}"))  # fmt: skip
    if spread is not None:
        block, head = distance.most_changed(renormalised, renormalised + spread)
        named.append((block, head))
        st.markdown(text["changes most"].format(block=block, head=head + 1, spread=f"{spread[block, head]:.1f}",
                                                mean=f"{renormalised[block, head]:.1f}"))  # fmt: skip
    return named


def links(text: Prose, named: Heads) -> None:
    """To these heads in the explorer."""
    with st.container(horizontal=True):
        for block, head in dict.fromkeys(named):
            st.page_link("views/attention/page.py", label=text["to head"].format(block=block, head=head + 1),
                         query_params={"block": str(block), "head": str(head + 1)}, icon=":material/arrow_forward:")  # fmt: skip
