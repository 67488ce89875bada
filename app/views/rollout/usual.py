"""The settings of a method as they are when the page is first opened: what differs is said, with a way back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import streamlit as st

from app import texts

USUAL: dict[str, Any] = {"fusion": "mean", "discard": 0, "residual": 50, "first": 0, "mask_outliers": False,
                         "baseline": "mean", "steps": 24}  # fmt: skip
CHOICES = ("fusion", "baseline")


def otherwise(text: texts.Prose, prefix: str, keys: Iterable[str], side: str) -> None:
    """Which settings of a side (its name; empty where there is one) are not as usual, and a way back; nothing where all are."""
    found = {key: value for key in keys if (value := st.session_state.get(f"{prefix}{key}", USUAL[key])) != USUAL[key]}
    if not found:
        return
    said = [_named(text, key).format(now=_value(text, key, value), usual=_value(text, key, USUAL[key]))
            for key, value in found.items()]  # fmt: skip
    with st.container(horizontal=True, vertical_alignment="center", key=f"{prefix}otherwise"):
        lead = text["otherwise of"].format(side=side) if side else text["otherwise"]
        st.markdown(text.joined([lead, *said]))
        st.button(
            text["as usual"], key=f"{prefix}as_usual", icon=":material/restart_alt:", on_click=st.session_state.update,
            kwargs={f"{prefix}{key}": USUAL[key] for key in found},
        )  # fmt: skip


def _named(text: texts.Prose, key: str) -> str:
    name = texts.prose("outliers")["mask"] if key == "mask_outliers" else text[key]
    return text["otherwise one"].replace("{name}", name)


def _value(text: texts.Prose, key: str, value: Any) -> str:
    if key in CHOICES:
        return text[f"{key}.{value}"]
    return text["on" if value else "off"] if key == "mask_outliers" else str(value)
