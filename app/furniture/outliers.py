"""The one switch "mask outlier tokens", on every page that shows attention; it says so where there are none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from app import texts
from app.state import insights

if TYPE_CHECKING:
    from vitcore.forward.recording import Recording
    from vitcore.models.zoo import Vit


def switch(vit: Vit, rec: Recording, key: str) -> bool:
    """Whether this photo's outlier tokens are to be masked; off, and not to be touched, where it has none."""
    text, count = texts.prose("outliers"), len(insights.outliers(vit.name, rec.photo.key, rec).patches)
    if not count:
        return st.toggle(text["mask none"], False, key=f"no_{key}", disabled=True, help=text["mask none help"])
    return st.toggle(text["mask"], key=key, bind="query-params", value=False, help=text.fill("mask help", count=count))


def told(title: str, masked: bool) -> str:
    """A picture's title, saying so where outlier tokens are masked."""
    return texts.prose("outliers")["masked title"].format(title=title) if masked else title
