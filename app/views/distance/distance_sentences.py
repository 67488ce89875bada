"""What the distances say, computed: the nearest and the farthest head, the sinks, and the head that changes most."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from app.shell import selection
from app.texts import Prose
from vitcore.translation import percent

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from vitcore.grid import Grid

LayerAndHead = list[tuple[int, int]]  # layer and head


def show_headline(dropped: NDArray, renormalised: NDArray, cls: str, grid: Grid, text: Prose) -> LayerAndHead:
    """What (L, H) distances say of the first layer and of all, to be read before the figure; returns the heads that it names."""
    named = _reach_sentence(dropped, renormalised, _reach_text_key(cls, grid), text["first layer"], 0, text)
    return [*named, _far_heads_sentence(renormalised, grid, text)]


def show_details(
    dropped: NDArray, renormalised: NDArray, share: NDArray, spread: NDArray | None, cls: str, grid: Grid, text: Prose
) -> LayerAndHead:
    """What else they say, to be read below it: the last layer, where near heads end, sinks, what changes most over photos."""
    from vitcore.analysis import attention_distance

    if len(dropped) > 1:
        last = len(dropped) - 1
        _reach_sentence(dropped, renormalised, _reach_text_key(cls, grid), text["last layer"].format(block=last), last, text)
    named, sinks = _near_heads_sentence(renormalised, grid, text), attention_distance.sink_heads(share)
    if sinks:
        named.append(sinks[0])
        st.markdown(text["sinks"].format(
            count=len(sinks), all=share.size, block=sinks[0][0], head=sinks[0][1], share=percent(share[sinks[0]], 0),
            drop=f"{dropped[sinks[0]]:.1f}", left=f"{renormalised[sinks[0]]:.1f}"))  # fmt: skip
    if spread is not None:
        block, head = attention_distance.most_changed_head(renormalised, renormalised + spread)
        named.append((block, head))
        st.markdown(text["changes most"].format(block=block, head=head, spread=f"{spread[block, head]:.1f}",
                                                mean=f"{renormalised[block, head]:.1f}"))  # fmt: skip
    return named


def _reach_text_key(cls: str, grid: Grid) -> str:
    return "reach" if cls == "renormalise" or not grid.prefix else "reach dropped"


def _reach_sentence(dropped: NDArray, renormalised: NDArray, text_key: str, where: str, block: int, text: Prose) -> LayerAndHead:
    """Which dots of a layer are lowest and highest, and which heads look nearest and farthest; nothing where it has one head."""
    from vitcore.analysis import attention_distance

    shown_reach, reach = (attention_distance.head_reach(dropped, block), attention_distance.head_reach(renormalised, block))
    if reach.near == reach.far:
        return []
    same = text_key.endswith("dropped") and (shown_reach.near, shown_reach.far) == (reach.near, reach.far)
    st.markdown(text[f"{text_key} alike" if same else text_key].format(
        where=where, near=reach.near, near_px=f"{reach.near_px:.1f}", far=reach.far, far_px=f"{reach.far_px:.1f}",
        low=shown_reach.near, low_px=f"{shown_reach.near_px:.1f}", high=shown_reach.far, high_px=f"{shown_reach.far_px:.1f}",
    ))  # fmt: skip
    heads = (shown_reach.near, shown_reach.far, reach.near, reach.far) if text_key.endswith("dropped") else (reach.near, reach.far)
    return [(block, head) for head in heads]


def _near_heads_sentence(renormalised: NDArray, grid: Grid, text: Prose) -> LayerAndHead:
    """How many heads are near (the explorer's "local", by distance alone), and where they end."""
    from vitcore.analysis import attention_distance
    from vitcore.analysis.head_descriptions import LOCAL_REACH

    most, last = LOCAL_REACH * attention_distance.uniform_distance_px(grid), len(renormalised) - 1
    near = attention_distance.near_heads(renormalised, most)
    facts = {"px": f"{most:.1f}", "share": percent(LOCAL_REACH, 0), "how": text["renormalised"] if grid.prefix else ""}
    if not near:
        st.markdown(text.fill("near none", **facts))
        return []
    block, head = near[-1]
    ends = "near to the last" if block == last else "near end before" if block == last - 1 else "near end"
    told = text.fill("near", count=len(near), all=renormalised.size, **facts)
    st.markdown(text.joined((told, text[ends].format(block=block, head=head, after=block + 1, last=last))))
    return [near[-1]]


def _far_heads_sentence(px: NDArray, grid: Grid, text: Prose) -> tuple[int, int]:
    """How many heads look farther than even attention, and which farthest of all; returns that one.

    By (L, H) renormalised distances: with the class token dropped, what a head gives it would count as near.
    """
    from vitcore.analysis import attention_distance

    even = attention_distance.uniform_distance_px(grid)
    above, (block, head) = attention_distance.far_heads(px, even), attention_distance.farthest_head(px)
    how = text["renormalised"] if grid.prefix else ""
    told = text.fill("far" if above else "far none", count=len(above), all=px.size, even=f"{even:.1f}", how=how,
                     block=block, head=head, px=f"{px[block, head]:.1f}")  # fmt: skip
    st.markdown(told)
    return block, head


def remember_head(place: list[int]) -> None:
    """Remember the head whose dot was touched. Not in the page: Streamlit keeps it, and with it all that the page has."""
    st.session_state["_head"] = (place[0], place[1])


def head_address(layer: int, head: int) -> dict[str, str]:
    """Of a head in the explorer."""
    return {selection.LAYER: str(layer), selection.HEAD: str(head)}


def head_links(places: LayerAndHead, text: Prose) -> None:
    """To these heads in the explorer."""
    with st.container(horizontal=True):
        for block, head in dict.fromkeys(places):
            st.page_link("views/attention/page.py", label=text["to head"].format(block=block, head=head),
                         query_params=head_address(block, head), icon=":material/arrow_forward:")  # fmt: skip
