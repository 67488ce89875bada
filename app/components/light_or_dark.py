"""Follows light and dark: Streamlit neither runs a page again when they change nor always knows them on the first run."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from app.components.component_files import bundle_script

_COMPONENT = st.components.v2.component("inside_vit_theme", html="<i hidden>\n</i>", js=bundle_script("light_or_dark.js"))


def sync_theme_and_address(
    theme: str, *, key: str, theme_state_key: str, lang: str, query_param_fixes: Sequence[tuple[str, str, str]], reload_ticket: str
) -> None:
    """Compare what was drawn for with what is seen; when they differ, the latter goes to st.session_state[theme_state_key].

    `query_param_fixes`: parameter, wrong value, right one (or none) of the address. Streamlit 1.67 leaves there what a link said.
    The tab keeps `reload_ticket`, to show it when the page is loaded again (`app/state/memory/visitor_storage.py`).
    The page's language is told to the browser, too: it chooses voices, hyphens and forms of characters by it.
    """

    def changed() -> None:
        said = st.session_state.get(key)  # None where the page was left meanwhile: the next one compares again
        if said and said.mode:
            st.session_state[theme_state_key] = said.mode

    data = {"mode": theme, "lang": lang, "mend": list(query_param_fixes), "ticket": reload_ticket}
    _COMPONENT(data=data, key=key, on_mode_change=changed)


def current_theme() -> Any:
    """ "light" or "dark", as the visitor sees the page."""
    return st.session_state.get("_mode") or st.context.theme.type or "light"
