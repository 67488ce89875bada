"""A figure on a page: the chart, the line that says how to read it, and a way to take it and its numbers along."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

if TYPE_CHECKING:
    import plotly.graph_objects as go

MIMES = {"png": "image/png", "svg": "image/svg+xml", "html": "text/html"}


def figure(fig: go.Figure, key: str, alt: str, note: str = "", limits: str = "", **arrays: Any) -> None:
    """Show a figure with its "how to read this", its "what this cannot tell you" and its downloads."""
    st.plotly_chart(fig, theme=None, key=key, config={"displayModeBar": False, "responsive": True}, alt=alt)
    explain(note, limits)
    if arrays:
        downloads(lambda: fig, key, note, **arrays)


def explain(note: str, limits: str = "") -> None:
    """The two lines under a picture."""
    if note:
        st.caption(f"**How to read this.** {note}")
    if limits:
        st.caption(f"**What this cannot tell you.** {limits}")


def downloads(make: Callable[[], go.Figure], key: str, note: str = "", **arrays: Any) -> None:
    """PNG, SVG, self-contained HTML, and the numbers as NPZ and CSV, made when asked for."""
    with st.popover("Download", icon=":material/download:", key=f"{key}_take"):
        for kind, mime in MIMES.items():
            st.download_button(
                f"Picture, {kind.upper()}", partial(_printed, make, kind, note), f"{key}.{kind}", mime,
                key=f"{key}_{kind}", on_click="ignore", width="stretch",
            )  # fmt: skip
        st.download_button(
            "Numbers, NPZ", lambda: npz(arrays), f"{key}.npz", "application/octet-stream", key=f"{key}_npz",
            on_click="ignore", width="stretch",
        )  # fmt: skip
        st.download_button(
            "Numbers, CSV", lambda: _csv(arrays), f"{key}.csv", "text/csv", key=f"{key}_csv", on_click="ignore",
            width="stretch",
        )  # fmt: skip


def _printed(make: Callable[[], go.Figure], kind: str, note: str) -> bytes:
    from vitcore.figures import print_figure

    return print_figure(make(), kind, note)


def npz(arrays: dict[str, Any]) -> bytes:
    """The arrays as one file."""
    import numpy as np

    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def _csv(arrays: dict[str, Any]) -> bytes:
    from vitcore.tables import csv_of

    return csv_of(arrays)
