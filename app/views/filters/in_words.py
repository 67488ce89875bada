"""What the first filters look like, in a line of plain words."""

from typing import Any

import streamlit as st

from app import texts
from app.state import insights
from vitcore.translation import percent

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


def numbers(variance: Any, one: int) -> dict[str, Any]:
    """Of a component, counted from 1: its share of the variance, and with those before it."""
    return {"number": one, "share": percent(float(variance[one - 1])), "rank": percent(variance[:one].sum())}
