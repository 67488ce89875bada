"""A chart drawn in place: one of our figures as SVG that glides to its next state, for what changes many times a second.

`st.plotly_chart` makes a new chart whenever its figure changes: twice a second, that is a flicker. Here only the numbers
of a `go.Figure` go to the page. Like `vitcore.figures.png_and_svg`, it knows the few kinds of trace our figures use.
"""

from __future__ import annotations

import base64
import io
import re
from typing import TYPE_CHECKING, Any

import streamlit as st

from app.components.component_files import read_script, read_source

if TYPE_CHECKING:
    import plotly.graph_objects as go

_CHART = st.components.v2.component(
    "inside_vit_chart", html=read_source("chart/chart.html"), css=read_source("chart/chart.css"), js=read_script("chart/chart.js")
)

AXIS_FIELDS = ("type", "range", "visible", "showgrid", "dtick", "tickvals", "ticktext", "gridcolor", "scaleanchor")


def chart(spec: dict[str, Any], *, key: str, alt: str, marker_x: float | None = None) -> None:
    """Show what `chart_spec` made of a figure; under the same key the next one takes its place. `marker_x`: an upright line."""
    marker = {"x": [marker_x, marker_x], "y": [], "across": False, "along": True, "colour": "", "wide": 2.5, "dash": ""}
    lines = spec["lines"] + ([] if marker_x is None else [marker])
    _CHART(data=spec | {"alt": alt, "lines": lines}, key=key)


def undimmed_container(key: str) -> Any:
    """A container for what is drawn anew all the time: on a busy machine Streamlit would dim what is about to change."""
    st.html(f"<style>.st-key-{key} [data-stale=true] {{ opacity: 1 !important; transition: none !important; }}</style>")
    return st.container(key=key)


def chart_spec(fig: go.Figure) -> dict[str, Any]:
    """A figure as what the browser needs to draw it."""
    layout = fig.layout
    return {
        "title": layout.title.text or "", "about": layout.title.subtitle.text or "", "height": layout.height or 400,
        "legend": bool(layout.showlegend), "x": _axis(layout.xaxis), "y": _axis(layout.yaxis),
        "traces": [_TRACES[trace.type](trace) for trace in fig.data],
        "lines": [line for shape in layout.shapes for line in _lines(shape)],
        "notes": [_annotation(note) for note in layout.annotations],
    }  # fmt: skip


def _axis(axis: Any) -> dict[str, Any]:
    said = {name: axis[name] for name in AXIS_FIELDS if axis[name] is not None}
    return {name: list(v) if isinstance(v, tuple) else v for name, v in said.items()} | {"title": axis.title.text or ""}


def _numbers(values: Any) -> list[float | None]:
    return [None if v is None or v != v else round(float(v), 6) for v in (() if values is None else values)]


def _scatter(trace: Any) -> dict[str, Any]:
    from vitcore.figures.theme import colour_scale_of_trace, gradient_stops

    marker, line = trace.marker, trace.line
    if scale := colour_scale_of_trace(trace):
        return {
            "kind": "scale",
            "colours": gradient_stops(scale.colours, 16),
            "low": scale.low,
            "high": scale.high,
            "unit": scale.unit,
        }
    return {
        "kind": "points", "x": _numbers(trace.x), "y": _numbers(trace.y), "mode": trace.mode or "lines", "name": trace.name or "",
        "colour": marker.color or line.color, "size": marker.size or 6, "symbol": marker.symbol or "circle",
        "wide": line.width or 2, "dash": line.dash or "", "opacity": 1 if trace.opacity is None else trace.opacity,
        "hover": (trace.hovertemplate or "").removesuffix("<extra></extra>"), "legend": trace.showlegend is not False,
        "hovers": [] if trace.hovertext is None else list(trace.hovertext),
    }  # fmt: skip


def _bar(trace: Any) -> dict[str, Any]:
    return {"kind": "bars", "x": _numbers(trace.x), "y": _numbers(trace.y), "thick": trace.width, "colour": trace.marker.color}


def _image(trace: Any) -> dict[str, Any]:
    from PIL import Image

    wide, high = Image.open(io.BytesIO(base64.b64decode(trace.source.partition(",")[2]))).size
    return {
        "kind": "image", "source": trace.source, "left": trace.x0 - trace.dx / 2, "top": trace.y0 - trace.dy / 2,
        "wide": wide * trace.dx, "high": high * trace.dy, "smooth": trace.zsmooth == "fast",
        "opacity": 1 if trace.opacity is None else trace.opacity,
    }  # fmt: skip


def _cells(trace: Any) -> dict[str, Any]:
    rows = [[str(text).replace("<br>", " · ") for text in row] for row in trace.text]
    return {"kind": "cells", "text": rows, "dx": trace.dx, "dy": trace.dy}


_TRACES = {"scatter": _scatter, "bar": _bar, "image": _image, "heatmap": _cells}


def _lines(shape: Any) -> list[dict[str, Any]]:
    """A line; a rectangle's four."""
    (left, right), (top, bottom) = (shape.x0, shape.x1), (shape.y0, shape.y1)
    if shape.type != "rect":
        return [_line(shape, [left, right], [top, bottom])]
    ends = [([left, right], [top, top]), ([left, right], [bottom, bottom]), ([left, left], [top, bottom]),
            ([right, right], [top, bottom])]  # fmt: skip
    return [_line(shape, *end) for end in ends]


def _line(shape: Any, x: list[Any], y: list[Any]) -> dict[str, Any]:
    return {
        "x": x, "y": y, "across": "domain" in (shape.xref or ""),
        "along": "domain" in (shape.yref or ""), "colour": shape.line.color, "wide": shape.line.width or 1,
        "dash": shape.line.dash or "",
    }  # fmt: skip


def _annotation(note: Any) -> dict[str, Any]:
    parts = re.split(r"</?b>", note.text or "")
    return {
        "x": note.x, "y": note.y, "paper": [note.xref == "paper", note.yref == "paper"], "parts": parts,
        "anchor": [note.xanchor or "center", note.yanchor or "middle"], "size": note.font.size or 13,
        "colour": note.font.color if note.bgcolor else "",  # a label that lies on a picture
    }  # fmt: skip
