"""What the distances say, computed: the nearest and the farthest head, the sinks, and the head that changes most."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from app.menu import page_target
from app.shell import shared_selection
from app.shell.page_switch import request_page
from app.state.recordings.distance_table import DistanceTable, LayerAndHead
from app.texts import Prose
from vitcore.translation import percent

if TYPE_CHECKING:
    from numpy.typing import NDArray


def show_depth_findings(table: DistanceTable, cls: str, text: Prose) -> list[LayerAndHead]:
    """What distances say of depth, of the first layer and of all, to be read before the figure; returns the heads that it names."""
    if last := len(table.dropped) - 1:
        st.markdown(depth_sentence(*table.depth_means(cls), last, text))
    if _is_dropped(table, cls):
        st.markdown(text["two measures"])
    return [*_reach_sentence(table, cls, text["first layer"], 0, text), _far_heads_sentence(table, cls, text)]


def _is_dropped(table: DistanceTable, cls: str) -> bool:
    """Whether the chart counts attention to tokens that are not patches as 0 px."""
    return cls != "renormalise" and bool(table.grid.prefix)


def depth_sentence(first: float, last: float, last_layer: int, text: Prose) -> str:
    """Whether the mean of all heads grows or falls from the first layer to the last, to the tenth of a pixel that is said."""
    first_px, last_px = f"{first:.1f}", f"{last:.1f}"
    key = "depth same" if first_px == last_px else "depth grows" if last > first else "depth falls"
    return text[key].format(first_px=first_px, last_px=last_px, last=last_layer)


def show_more_findings(table: DistanceTable, cls: str, text: Prose) -> list[LayerAndHead]:
    """What else they say, to be read below it: the last layer, where near heads end, sinks, what changes most over photos."""
    if last := len(table.dropped) - 1:
        _reach_sentence(table, cls, text["last layer"].format(block=last), last, text)
    named, sinks, renormalised = _near_heads_sentence(table, text), table.sink_heads(), table.renormalised
    if sinks:
        named.append(most := sinks[0])
        st.markdown(text.fill("sinks",
            count=len(sinks), all=table.share.size, block=most[0], head=most[1], share=percent(table.share[most], 0),
            drop=f"{table.dropped[most]:.1f}", left=f"{renormalised[most]:.1f}"))  # fmt: skip
    if table.spread is not None and (changing := table.most_changing_head()):
        named.append(changing)
        st.markdown(text["changes most"].format(block=changing[0], head=changing[1], spread=f"{table.spread[changing]:.1f}",
                                                mean=f"{renormalised[changing]:.1f}"))  # fmt: skip
    return named


def _reach_sentence(table: DistanceTable, cls: str, where: str, block: int, text: Prose) -> list[LayerAndHead]:
    """Which dots of a layer are lowest and highest, and which heads look nearest and farthest; nothing where it has one head."""
    (shown, reach), dropped = table.reach(block), _is_dropped(table, cls)
    if reach.near == reach.far:
        return []
    same = (shown.near, shown.far) == (reach.near, reach.far)
    st.markdown(text["reach" if not dropped else "reach dropped alike" if same else "reach dropped"].format(
        where=where, near=reach.near, near_px=f"{reach.near_px:.1f}", far=reach.far, far_px=f"{reach.far_px:.1f}",
        low=shown.near, low_px=f"{shown.near_px:.1f}", high=shown.far, high_px=f"{shown.far_px:.1f}",
    ))  # fmt: skip
    return [(block, head) for head in ((shown.near, shown.far) if dropped else ()) + (reach.near, reach.far)]


def _near_heads_sentence(table: DistanceTable, text: Prose) -> list[LayerAndHead]:
    """How many heads are near (the explorer's "local", by distance alone), and where they end."""
    most, last, near = table.local_share * table.uniform_px, len(table.renormalised) - 1, table.near_heads()
    facts = {"px": f"{most:.1f}", "share": percent(table.local_share, 0)}
    if not near:
        st.markdown(text.fill("near none", **facts))
        return []
    block, head = near[-1]
    ends = "near to the last" if block == last else "near end before" if block == last - 1 else "near end"
    told = text.fill("near", count=len(near), all=table.renormalised.size, **facts)
    st.markdown(text.join_sentences((told, text[ends].format(block=block, head=head, after=block + 1, last=last))))
    return [near[-1]]


def _far_heads_sentence(table: DistanceTable, cls: str, text: Prose) -> LayerAndHead:
    """How many heads look farther than even attention, and which farthest of all, as the chart shows them; returns that one."""
    px, (above, (block, head)) = table.renormalised, table.far_heads(cls)
    measures = {"shown_px": f"{table.dropped[block, head]:.1f}", "px": f"{px[block, head]:.1f}"}
    told = text["both" if _is_dropped(table, cls) else "alone"].format(**measures)
    st.markdown(text.fill("far" if above else "far none", count=len(above), all=px.size, even=f"{table.uniform_px:.1f}",
                          block=block, head=head, px=told))  # fmt: skip
    return block, head


def open_clicked_head(place: list[int]) -> None:
    """Open the head whose dot was touched. Not in the page: Streamlit keeps it, and with it all that the page has."""
    request_page("attention", _explorer_address_of_head(place[0], place[1]))


def _explorer_address_of_head(layer: int, head: int) -> dict[str, str]:
    """Of a head in the explorer."""
    return {shared_selection.LAYER: str(layer), shared_selection.HEAD: str(head)}


def show_head_links(places: list[LayerAndHead], text: Prose) -> None:
    """To these heads in the explorer."""
    with st.container(horizontal=True):
        for block, head in dict.fromkeys(places):
            st.page_link(page_target("attention"), label=text["to head"].format(block=block, head=head),
                         query_params=_explorer_address_of_head(block, head), icon=":material/arrow_forward:")  # fmt: skip


def show_distance_table(distance_px: NDArray, text: Prose) -> None:
    """The distance of every head, and the mean of each layer's heads, as a table, below a title that its toolbar may cover."""
    st.markdown(f"**{text['table alt']}**")
    blocks, heads = distance_px.shape
    columns = {text["mean of heads"]: distance_px.mean(axis=1).round(1)} | {
        text["head"].format(head=head): distance_px[:, head].round(1) for head in range(heads)
    }
    st.dataframe({text["layer"]: range(blocks)} | columns, hide_index=True, alt=text["table alt"])
