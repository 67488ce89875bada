"""The page at large: lecture mode, larger type on larger screens; and how large that is, for the figures."""

import re
from typing import Any, NamedTuple

import streamlit as st

from app.components.component_files import component_from_folder
from app.components.pending_choices import set_control

_COMPONENT = component_from_folder("page_style", "<i hidden>\n</i>", isolate_styles=False)
SIZE_COOKIE = "inside_vit_size"  # what `static/head.html` tells before the first run
SIZE = re.compile(r"([1-7](?:\.\d{1,2})?)-(\d{1,4})-(\d{1,4})")


class PageSize(NamedTuple):
    """How large the page's type is, over 16 px, in quarters; how wide the screen is in px if it is a phone's, else 0;

    and how high it is in px, in hundreds, if the type is larger than usual, else 0.
    """

    scale: float = 1.0
    narrow: int = 0
    high: int = 0


def page_size() -> PageSize:
    """What the browser last told; on the first run by a cookie, so that no figure is drawn twice."""
    if "_size" not in st.session_state:
        told = SIZE.fullmatch(str(st.context.cookies.get(SIZE_COOKIE, "")))
        st.session_state["_size"] = PageSize(float(told[1]), int(told[2]), int(told[3])) if told else PageSize()
    size: PageSize = st.session_state["_size"]
    return size


def scale_to_page_px(px: int) -> int:
    """A width of a usual page in px, on this one: as much larger as its type is."""
    return round(px * page_size().scale)


def apply_page_style(
    lecture: bool, mode: str, page: str, paths: list[str], chosen: str, *, key: str, lecture_key: str, keys_key: str,
    download_sizes: dict[str, str], words: dict[str, str],
) -> None:  # fmt: skip
    """Dress the page for a lecture, or for a desk; Escape ends a lecture: st.session_state[lecture_key] becomes False.

    Links to the first two of `paths`, those of the page and of its room, are marked as what is shown; the menu has the others, too.
    Another `page` than before begins at its top, and so does a lecture; where the menu covers the page, whatever else is `chosen`
    there (photo, language) closes it. A question mark asks for the keys: st.session_state[keys_key] becomes True. `words` say
    what to do with a photo that is dragged over the page (drop), and how large a file may be (limit). An option of a menu named in
    `download_sizes` has its size at its end; in the option's own words it would be in the address.
    """

    def size_changed() -> None:
        if size := st.session_state[key].size:
            st.session_state["_size"] = PageSize(float(size["scale"]), int(size["narrow"]), int(size.get("high") or 0))

    def lecture_left() -> None:
        if st.session_state[key].left:
            set_control(lecture_key, False)

    def keys_asked() -> None:
        st.session_state[keys_key] = bool(st.session_state[key].keys)

    data = {"lecture": lecture, "mode": mode, "page": page, "paths": paths, "chosen": chosen, "far": download_sizes, "words": words}
    told: dict[str, Any] = {"on_size_change": size_changed, "on_left_change": lecture_left, "on_keys_change": keys_asked}
    _COMPONENT(data=data | page_size()._asdict(), key=key, **told)
