"""The page at large: lecture mode, larger type on larger screens; and how large that is, for the figures."""

from typing import NamedTuple

import streamlit as st

from app.components import source
from app.components.choices import choose

_LECTURE = st.components.v2.component(
    "inside_vit_lecture",
    html="<i hidden>\n</i>",
    css=source("lecture/lecture.css"),
    js=source("keys.js") + source("lecture/lecture.js"),
    isolate_styles=False,
)


class Size(NamedTuple):
    """How large the page's type is, over 16 px, in quarters; how wide the screen is in px if it is a phone's, else 0;

    and how high it is in px, in hundreds, if the type is larger than usual, else 0.
    """

    scale: float = 1.0
    narrow: int = 0
    high: int = 0


def size() -> Size:
    """What the browser last told."""
    return st.session_state.get("_size", Size())


def wide(px: int) -> int:
    """A width of a usual page in px, on this one: as much larger as its type is."""
    return round(px * size().scale)


def dress(lecture: bool, mode: str, page: str, chosen: str, *, key: str, leaves: str, far: dict[str, str]) -> None:
    """Dress the page for a lecture, or for a desk; Escape ends a lecture: st.session_state[leaves] becomes False.

    Another `page` than before begins at its top, and so does a lecture; where the menu covers the page, whatever else is `chosen`
    there (photo, language) closes it. An option of a menu that is called as one of `far` has what is said of it there at its end;
    in the option's own words it would be in the address.
    """

    def told() -> None:
        if size := st.session_state[key].size:
            st.session_state["_size"] = Size(float(size["scale"]), int(size["narrow"]), int(size.get("high") or 0))

    def left() -> None:
        if st.session_state[key].left:
            choose(leaves, False)

    data = {"lecture": lecture, "mode": mode, "page": page, "chosen": chosen, "far": far} | size()._asdict()
    _LECTURE(data=data, key=key, on_size_change=told, on_left_change=left)
