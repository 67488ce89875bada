"""What the first filters look like, in a line of plain words."""

import streamlit as st

from app import texts
from app.state import insights

FIRST = 6


def looks(model: str, count: int) -> list[str]:
    """What each of the first `count` components looks like."""
    from vitcore import figures

    return [figures.looks_like(**look) for look in insights.looks(model, count)]


def line(text: texts.Prose, model: str, told: list[str]) -> None:
    """The first few one by one, and how many of those shown so few words describe."""
    listed = " · ".join(text["look"].format(number=i, look=look) for i, look in enumerate(told[:FIRST], 1))
    simple = sum(look["pattern"] != "none" for look in insights.looks(model, len(told)))
    st.markdown(text.fill("first looks", count=min(FIRST, len(told)), looks=listed))
    st.caption(text.fill("simple", simple=simple, count=len(told)))
