"""A chart drawn in place: one of our figures as SVG that glides to its next state, for what changes many times a second.

`st.plotly_chart` makes a new chart whenever its figure changes: twice a second, that is a flicker. Here only the numbers
of a `Drawing` go to the page: this is its third painter, beside Plotly's and the printed one.
"""

import re
from typing import Any

import streamlit as st

from app.components.component_files import component_from_folder
from vitcore.figures.drawing import Axis, Bars, Drawing, HeatCells, Label, Mark, Outline, Points, RasterLayer, StraightLine
from vitcore.figures.theme_colours import apply_colour_scale, gradient_stops, ink_colour, pixels_to_data_uri

_CHART = component_from_folder("chart")


def chart(spec: dict[str, Any], *, key: str, alt: str, marker_x: float | None = None, rows: int = 0) -> None:
    """Show what `chart_spec` made of a figure; under the same key the next one takes its place.

    `marker_x`: an upright line. `rows`: how many of such charts, below each other, are seen at once on a wide screen; 0: any.
    """
    marker = {"x": [marker_x, marker_x], "y": [], "across": False, "along": True, "colour": "", "wide": 2.5, "dash": ""}
    lines = spec["lines"] + ([] if marker_x is None else [marker])
    _CHART(data=spec | {"alt": alt, "lines": lines, "rows": rows}, key=key)


def undimmed_container(key: str, **options: Any) -> Any:
    """A container for what is drawn anew all the time: on a busy machine Streamlit would dim what is about to change."""
    st.html(f"<style>.st-key-{key} [data-stale=true] {{ opacity: 1 !important; transition: none !important; }}</style>")
    return st.container(key=key, **options)


def chart_spec(drawing: Drawing) -> dict[str, Any]:
    """A figure as what the browser needs to draw it; pixels as PNG, or JPEG of a photo."""
    scale = [_scale(drawing)] if drawing.colour_scale else []
    return {
        "title": drawing.title, "about": drawing.subtitle, "height": drawing.height_px, "legend": bool(drawing.legend),
        "x": _axis(drawing.x, drawing), "y": _axis(drawing.y, drawing) | ({"scaleanchor": "x"} if drawing.square_units else {}),
        "traces": [*(_image(layer) for layer in drawing.rasters), *(_mark(one, drawing) for one in drawing.marks), *scale],
        "lines": [line for shape in drawing.shapes for line in _lines(shape, drawing)],
        "notes": [_note(label, drawing) for label in drawing.labels],
    }  # fmt: skip


def _axis(axis: Axis, drawing: Drawing) -> dict[str, Any]:
    said = {
        "type": "log" if axis.log else None, "range": axis.range and [*axis.range], "visible": None if axis.visible else False,
        "showgrid": None if axis.grid else False, "dtick": axis.step, "tickvals": [*axis.ticks] or None,
        "ticktext": [*axis.tick_labels] or None,
    }  # fmt: skip
    return {name: value for name, value in said.items() if value is not None} | {
        "title": axis.title, "gridcolor": ink_colour("line", drawing.mode)
    }  # fmt: skip


def _numbers(values: Any) -> list[float | None]:
    return [None if v is None or v != v else round(float(v), 6) for v in values]


def _scale(drawing: Drawing) -> dict[str, Any]:
    scale: Any = drawing.colour_scale
    return {"kind": "scale", "colours": gradient_stops(scale.colours, 16), "low": scale.low, "high": scale.high, "unit": scale.unit}


def _image(layer: RasterLayer) -> dict[str, Any]:
    source = pixels_to_data_uri(layer.pixels, photo=layer.smooth)
    return {
        "kind": "image", "source": source, "left": layer.place[0], "top": layer.place[1], "wide": layer.size[0],
        "high": layer.size[1], "smooth": layer.smooth, "px": layer.pixels.shape[1], "opacity": 1,
    }  # fmt: skip


def _mark(mark: Mark, drawing: Drawing) -> dict[str, Any]:
    if isinstance(mark, HeatCells):
        scale, (rows, cols) = mark.scale, mark.values.shape
        pixels = apply_colour_scale(mark.values, scale.colours, scale.low, scale.high)
        return _image(RasterLayer(pixels, (cols, rows), (-0.5, -0.5)))
    if isinstance(mark, Bars):
        colour = ink_colour(mark.colour, drawing.mode)
        return {"kind": "bars", "x": _numbers(mark.x), "y": _numbers(mark.y), "thick": mark.thick, "colour": colour}
    if isinstance(mark, Points):
        shown = {"lines": mark.line_px, "markers": mark.marker_px}
        return {
            "kind": "points", "x": _numbers(mark.x), "y": _numbers(mark.y), "name": mark.name,
            "mode": "+".join(name for name, there in shown.items() if there), "colour": ink_colour(mark.colour, drawing.mode),
            "size": mark.marker_px or 6, "symbol": mark.symbol, "wide": mark.line_px or 2, "dash": mark.dash,
            "opacity": mark.opacity, "hover": mark.hover, "legend": mark.in_legend, "hovers": [*mark.hover_texts],
        }  # fmt: skip
    rows = [[text.replace("<br>", " · ") for text in row] for row in mark.text]
    return {"kind": "cells", "text": rows, "dx": mark.size[0] / len(rows[0]), "dy": mark.size[1] / len(rows)}


def _lines(shape: Outline | StraightLine, drawing: Drawing) -> list[dict[str, Any]]:
    """A line; a rectangle's four."""
    look = {"colour": ink_colour(shape.colour, drawing.mode), "wide": shape.line_px, "across": False, "along": False, "dash": ""}
    if isinstance(shape, StraightLine):
        upright = shape.x is not None
        ends = {"x": [shape.x] * 2, "y": [0, 1], "along": True} if upright else {"x": [0, 1], "y": [shape.y] * 2, "across": True}
        return [look | ends | {"dash": "" if upright else "dash"}]
    (left, right), (top, bottom) = (shape.x, shape.x + shape.wide), (shape.y, shape.y + shape.high)
    corners = [([left, right], [top, top]), ([left, right], [bottom, bottom]), ([left, left], [top, bottom]),
               ([right, right], [top, bottom])]  # fmt: skip
    return [look | {"x": x, "y": y} for x, y in corners]


def _note(label: Label, drawing: Drawing) -> dict[str, Any]:
    return {
        "x": label.x, "y": label.y, "paper": [label.x_of_plot, label.y_of_plot], "parts": re.split(r"</?b>", label.text),
        "anchor": [label.x_anchor, label.y_anchor or "middle"], "size": label.size_px,
        "colour": ink_colour(label.colour, drawing.mode) if label.on_dark else "",  # a label that lies on a picture
    }  # fmt: skip
