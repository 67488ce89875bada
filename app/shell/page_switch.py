"""Another page in place of this one, which stays open even if the browser asks for the page that is left once more.

The browser does so where it has not heard of the other page yet: its window gets another size, or something is touched. Streamlit
1.67 then draws the page that is left, and the switch is lost.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn
from urllib.parse import urlsplit

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from app.menu import PAGES

SWITCH_STATE = "_page_switch"  # the last one, until the browser has heard of it
DRAWN_PAGE_STATE = "page drawn"  # the page of the last run


class PageSwitch(NamedTuple):
    """From one page to another, by their slugs, and the other's address."""

    left: str
    wanted: str
    address: dict[str, str]


def request_page(slug: str, query_params: Mapping[str, str] | None = None, **control_values: Any) -> None:
    """From a control's callback: draw another page in place of this one, before any of its controls; the address holds these
    parameters and no others. `control_values` are values of controls there, by their keys."""
    st.session_state.update(control_values)
    st.session_state[SWITCH_STATE] = PageSwitch(st.session_state[DRAWN_PAGE_STATE], slug, dict(query_params or {}))


def switch_page(slug: str) -> NoReturn:
    """Draw another page at once, from the middle of a page; the address holds no parameters."""
    request_page(slug)
    _draw(st.session_state[SWITCH_STATE])


def switch_to_requested_page(slug: str) -> None:
    """Before the page `slug` is drawn: draw another in its place where that was asked for and the browser shows `slug` still."""
    switch: PageSwitch | None = st.session_state.get(SWITCH_STATE)
    if switch is None:
        return
    shown = _slug_in_browser()
    if slug == switch.left and shown in (slug, None) and not _is_history_navigation():
        _draw(switch)
    if slug != switch.wanted or shown != switch.left:
        del st.session_state[SWITCH_STATE]


def _draw(switch: PageSwitch) -> NoReturn:
    st.switch_page(f"views/{switch.wanted}/page.py", query_params=switch.address)  # unsaid, it refuses to drop bound ones


def _is_history_navigation() -> bool:
    """Whether the browser's own Back or Forward asked for this run."""
    context = get_script_run_ctx()
    return context is not None and context.is_history_navigation


def _slug_in_browser() -> str | None:
    """The page that the browser showed when it asked for this run; None where it does not say."""
    context = get_script_run_ctx()
    if context is None or context.context_info is None or not context.context_info.url:
        return None
    last = urlsplit(context.context_info.url).path.rstrip("/").rpartition("/")[2]
    return last if last in {row.slug for row in PAGES} else PAGES[0].slug
