"""What the fields of the explorer's two tokens are called: a field holds a token's number, its label says which patch that is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import streamlit as st

from app.texts import Prose

if TYPE_CHECKING:
    from vitcore.grid import Grid

NUMBER = re.compile("[0-9]{1,6}")


def label(key: str, token: int | None, grid: Grid, names: list[str], text: Prose) -> str:
    """For the token that the field of `key` will hold; `names` are those of the tokens before the patches."""
    if token is None:
        return text[key]
    if token < grid.prefix:
        return text[f"{key} named"].format(token=token, name=names[token])
    return text[f"{key} shifted"].format(token=token, at=token - grid.prefix)


def held(key: str, count: int, start: int | None) -> int | None:
    """What the field will hold, before it is drawn: what was chosen, else what a link says, else `start`."""
    token = st.session_state.get(key)
    if token is None and key not in st.session_state and NUMBER.fullmatch(given := st.query_params.get(key, "")):
        token = int(given)
    return start if token is None or not 0 <= token < count else int(token)
