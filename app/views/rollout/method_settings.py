"""A method's settings: their controls, what `vitcore` is given of them, and which are not as when the page is first opened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from app import texts
from app.shell import query_controls
from app.widgets import outlier_masking

if TYPE_CHECKING:
    from app.views.rollout.rollout_visit import RolloutVisit
    from vitcore.analysis.relevance import RelevanceMethod

DEFAULTS: dict[str, Any] = {"fusion": "mean", "discard": 0, "residual": 50, "first": 0, "baseline": "mean", "steps": 24}
STEP_RANGE = (8, 32)  # fewest and most: 32 take the shipped model 3 s on two cores
CHOICE_SETTINGS = ("fusion", "baseline")
PERCENT_SETTINGS = ("discard", "residual")
VITCORE_NAMES = {"discard": "discard_ratio", "first": "first_block"}  # where the control is called otherwise


def setting_controls(visit: RolloutVisit, method: RelevanceMethod, key_prefix: str) -> dict[str, Any]:
    """The controls of a side, drawn; what each is set to, by its name."""
    text, helps = visit.texts, texts.prose("common")
    values: dict[str, Any] = {}
    if "fusion" in method.settings:
        ways, fusion_help = ["mean", "max", "min"], helps["fusion help"]
        values["fusion"] = query_controls.button_row(text, f"{key_prefix}fusion", ways, text_key="fusion", help=fusion_help)
    if "residual" in method.settings:
        for key, most in (("discard", 95), ("residual", 95), ("first", visit.vit.blocks - 1)):
            values[key] = query_controls.slider(text[key], f"{key_prefix}{key}", 0, most, DEFAULTS[key], help=helps[f"{key} help"])
    if "steps" in method.settings:
        values["baseline"] = query_controls.button_row(
            text, f"{key_prefix}baseline", ["mean", "black", "white"], text_key="baseline"
        )
        values["steps"] = query_controls.slider(text["steps"], f"{key_prefix}steps", *STEP_RANGE, DEFAULTS["steps"])
    if not values:
        st.caption(text["no settings"])
    return values


def settings_for_vitcore(visit: RolloutVisit, method: RelevanceMethod, values: dict[str, Any]) -> dict[str, Any]:
    """A method's settings as `vitcore` takes them: shares of 1; and whether outlier tokens are masked."""
    settings = {VITCORE_NAMES.get(key, key): value / 100 if key in PERCENT_SETTINGS else value for key, value in values.items()}
    return settings | (
        {outlier_masking.QUERY_KEY: True} if not method.asks_class and outlier_masking.is_masking_applied(visit) else {}
    )


def show_changed_settings(text: texts.Prose, key_prefix: str, values: dict[str, Any], side: str) -> None:
    """Which settings of a side (its name; empty where there is one) are not as usual, and a way back; nothing where all are."""
    changed = {key: value for key, value in values.items() if value != DEFAULTS[key]}
    if not changed:
        return
    sentences = [
        text["otherwise one"].format(
            name=text[key], now=_setting_text(text, key, value), usual=_setting_text(text, key, DEFAULTS[key])
        )
        for key, value in changed.items()
    ]
    with st.container(horizontal=True, vertical_alignment="center", key=f"{key_prefix}otherwise"):
        lead = text["otherwise of"].format(side=side) if side else text["otherwise"]
        st.markdown(text.join_sentences([lead, *sentences]))
        st.button(
            text["as usual"], key=f"{key_prefix}as_usual", icon=":material/restart_alt:", on_click=st.session_state.update,
            kwargs={f"{key_prefix}{key}": DEFAULTS[key] for key in changed},
        )  # fmt: skip


def _setting_text(text: texts.Prose, key: str, value: Any) -> str:
    return text[f"{key}.{value}"] if key in CHOICE_SETTINGS else str(value)
