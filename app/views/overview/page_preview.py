"""A picture of the paper as a door to its page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from app.components.chart.chart import chart
from app.texts import Prose, escape_markdown

if TYPE_CHECKING:
    from vitcore.models.load_model import Vit


def page_preview(
    slug: str, spec: dict[str, Any] | None, facts: dict[str, Any], vit: Vit, text: Prose, last_sentence: str = ""
) -> None:
    """A small picture, its one line (and what `last_sentence` is to be said), and the link to its page."""
    with st.container(border=True, height="stretch"):
        if spec:
            chart(spec, key=f"door_{slug}", alt=text[f"{slug} alt"])
            st.caption(text.joined((text[slug].format(**facts), last_sentence)))
        else:
            st.info(text.get(f"{slug} none") or escape_markdown(vit.why_undefined(text[f"{slug} what"])))
        st.space("stretch")
        page = "rollout" if slug == "answer" else slug
        st.page_link(f"views/{page}/page.py", label=text[f"{slug} link"], icon=":material/arrow_forward:")
