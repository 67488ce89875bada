"""What the filters look like, in plain words."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import streamlit as st

from app import texts
from app.state.models import model_weights
from vitcore import figures
from vitcore.translation import percent

if TYPE_CHECKING:
    from vitcore.analysis.filters import PrincipalComponents

FIRST_FILTERS = 6


def filter_descriptions(model: str, count: int) -> list[str]:
    """What each of the first `count` components looks like."""
    return [figures.filter_pattern_words(**look) for look in model_weights.filter_patterns(model, count)]


def show_first_filter_descriptions(text: texts.Prose, model: str, components: PrincipalComponents, descriptions: list[str]) -> None:
    """Folded: how many of those shown are colour or smooth, the first few one by one, and how many so few words describe."""
    count, kinds = len(descriptions), model_weights.component_kinds(components, len(descriptions))
    listed = " · ".join(text["look"].format(number=i, look=look) for i, look in enumerate(descriptions[:FIRST_FILTERS], 1))
    simple = sum(look["pattern"] != "none" for look in model_weights.filter_patterns(model, count))
    with st.expander(text["what they show"]):
        st.markdown(text.fill("looks", count=count, **asdict(kinds)))
        st.markdown(text.fill("first looks", count=min(FIRST_FILTERS, count), looks=listed))
        st.caption(text.fill("simple", simple=simple, count=count))


def variance_facts(components: PrincipalComponents, number: int) -> dict[str, Any]:
    """Of a component, counted from 1: its share of the variance, and with those before it."""
    share, rank = float(components.variance[number - 1]), components.variance_share(number)
    return {"number": number, "share": percent(share), "rank": percent(rank)}
