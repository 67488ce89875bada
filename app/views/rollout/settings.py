"""A method's settings: their controls, what `vitcore` is given of them, and which are not as when the page is first opened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from app import texts
from app.furniture import controls, outliers

if TYPE_CHECKING:
    from app.views.rollout.question import Asked
    from vitcore.analysis.relevance import RelevanceMethod

USUAL: dict[str, Any] = {"fusion": "mean", "discard": 0, "residual": 50, "first": 0, "baseline": "mean", "steps": 24}
STEPS = (8, 32)  # fewest and most: 32 take the shipped model 3 s on two cores
CHOICES = ("fusion", "baseline")
PERCENT = ("discard", "residual")
IN_VITCORE = {"discard": "discard_ratio", "first": "first_block"}  # where the control is called otherwise


def chosen(a: Asked, method: RelevanceMethod, prefix: str) -> dict[str, Any]:
    """The controls of a side, drawn; what each is set to, by its name."""
    text, helps = a.text, texts.prose("common")
    values: dict[str, Any] = {}
    if "fusion" in method.settings:
        ways, told = ["mean", "max", "min"], helps["fusion help"]
        values["fusion"] = controls.choice(text, f"{prefix}fusion", ways, called="fusion", help=told)
    if "residual" in method.settings:
        for key, most in (("discard", 95), ("residual", 95), ("first", a.vit.blocks - 1)):
            values[key] = controls.slider(text[key], f"{prefix}{key}", 0, most, USUAL[key], help=helps[f"{key} help"])
    if "steps" in method.settings:
        values["baseline"] = controls.choice(text, f"{prefix}baseline", ["mean", "black", "white"], called="baseline")
        values["steps"] = controls.slider(text["steps"], f"{prefix}steps", *STEPS, USUAL["steps"])
    if not values:
        st.caption(text["no settings"])
    return values


def for_vitcore(a: Asked, method: RelevanceMethod, values: dict[str, Any]) -> dict[str, Any]:
    """The same as `vitcore` takes them: shares of 1; and whether outlier tokens are masked, where they are."""
    given = {IN_VITCORE.get(key, key): value / 100 if key in PERCENT else value for key, value in values.items()}
    return given | ({outliers.KEY: True} if not method.asks_class and outliers.masks(a.vit, a.rec) else {})


def otherwise(text: texts.Prose, prefix: str, values: dict[str, Any], side: str) -> None:
    """Which settings of a side (its name; empty where there is one) are not as usual, and a way back; nothing where all are."""
    found = {key: value for key, value in values.items() if value != USUAL[key]}
    if not found:
        return
    said = [text["otherwise one"].format(name=text[key], now=_value(text, key, value), usual=_value(text, key, USUAL[key]))
            for key, value in found.items()]  # fmt: skip
    with st.container(horizontal=True, vertical_alignment="center", key=f"{prefix}otherwise"):
        lead = text["otherwise of"].format(side=side) if side else text["otherwise"]
        st.markdown(text.joined([lead, *said]))
        st.button(
            text["as usual"], key=f"{prefix}as_usual", icon=":material/restart_alt:", on_click=st.session_state.update,
            kwargs={f"{prefix}{key}": USUAL[key] for key in found},
        )  # fmt: skip


def _value(text: texts.Prose, key: str, value: Any) -> str:
    return text[f"{key}.{value}"] if key in CHOICES else str(value)
