"""Follows light and dark: Streamlit neither runs a page again when they change nor always knows them on the first run."""

from collections.abc import Sequence

import streamlit as st

from app.components import source

_THEME = st.components.v2.component("inside_vit_theme", html="<i hidden>\n</i>", js=source("theme/theme.js"))


def follow(
    mode: str, *, key: str, target: str, lang: str = "en", mend: Sequence[tuple[str, str, str]] = (), ticket: str = ""
) -> None:
    """Compare what was drawn for with what is seen; when they differ, the latter goes to st.session_state[target].

    Names, values and others (or none) in `mend` are of the address: Streamlit 1.67 leaves there what a link said and could not be.
    The tab keeps `ticket`, to show it when the page is loaded again (`app/state/memory/visitors.py`).
    The page's language is told to the browser, too: it chooses voices, hyphens and forms of characters by it.
    """

    def changed() -> None:
        if st.session_state[key].mode:
            st.session_state[target] = st.session_state[key].mode

    _THEME(data={"mode": mode, "lang": lang, "mend": list(mend), "ticket": ticket}, key=key, on_mode_change=changed)
