"""A `Drawing` as a Plotly figure: for notebooks, pages and HTML files. Nothing reads that figure back."""

from functools import lru_cache
from typing import Any

import numpy as np
import plotly.graph_objects as go
import plotly.io

from vitcore.figures import drawing as parts
from vitcore.figures.theme_colours import INK_COLOURS, ColourScale, Mode, colour_table, ink_colour, pixels_to_data_uri

FigurePart = dict[str, Any]  # of a figure, as Plotly writes it down: a trace, an axis, a note
FONT = "Inter, Source Sans, Segoe UI, Helvetica, Arial, sans-serif"
RIM = {"width": 1, "color": "rgba(255,255,255,.7)"}
LEGENDS: dict[str, FigurePart] = {
    "above": {"y": 1.0, "x": 0},
    "below": {"yref": "container", "y": 0, "xref": "container", "x": 0.02},
    "below the plot": {"yref": "container", "y": 0, "x": 0},
}
PIXELS = {  # what is counted in pixels, by what it belongs to
    "font": ("size",), "marker": ("size",), "line": ("width",), "margin": ("l", "r", "t", "b"), "pad": ("l", "r", "t", "b"),
    "colorbar": ("thickness",), "layout": ("height",),
}  # fmt: skip


def to_plotly(drawing: parts.Drawing) -> go.Figure:
    """The figure, with backgrounds that are transparent, so that any page may hold it.

    Plotly is told not to check every property (`_validate`), which takes it 15 times as long as all the rest: the tests have it
    do so.
    """
    mode = drawing.mode
    traces = [_image(layer) for layer in drawing.rasters] + [_TRACES[type(mark)](mark, mode) for mark in drawing.marks]
    if drawing.colour_scale:
        traces.append(_colour_bar(drawing.colour_scale))
    spec = {"data": traces, "layout": _layout(drawing)}
    return go.Figure(spec if drawing.zoom == 1 else _grown("", spec, drawing.zoom), _validate=False)


def _layout(drawing: parts.Drawing) -> FigurePart:
    ink, margin = INK_COLOURS[drawing.mode], drawing.margin
    layout: FigurePart = {
        "template": _template(), "title": _title(drawing) if drawing.title else {},
        "font": {"family": FONT, "size": 14, "color": ink["soft"]}, "hoverlabel": {"font": {"family": FONT, "size": 14}},
        "paper_bgcolor": "rgba(0,0,0,0)", "plot_bgcolor": "rgba(0,0,0,0)", "height": drawing.height_px,
        "meta": {"mode": drawing.mode},
        "margin": {"l": margin.left, "r": margin.right, "t": parts.title_room_px(drawing) + margin.above, "b": margin.below},
        "showlegend": bool(drawing.legend), "dragmode": False,
        "xaxis": _axis(drawing.x, drawing), "yaxis": _axis(drawing.y, drawing),
        "shapes": [_shape(shape, drawing.mode) for shape in drawing.shapes],
        "annotations": [_annotation(label, drawing.mode) for label in drawing.labels],
    }  # fmt: skip
    if drawing.square_units:
        layout["yaxis"]["scaleanchor"] = "x"
    if drawing.stays_at_top:
        layout["xaxis"]["constraintoward"], layout["yaxis"]["constraintoward"] = "left", "top"
    if drawing.legend:
        layout["legend"] = {"orientation": "h", "yanchor": "bottom", "font": {"size": 13}} | LEGENDS[drawing.legend]
        layout["legend"] |= {"traceorder": "reversed"} if drawing.legend_reversed else {}
    if any(isinstance(mark, parts.Bars) and mark.histogram for mark in drawing.marks):
        layout |= {"bargap": 0, "barmode": "overlay"}
    return layout


def _title(drawing: parts.Drawing) -> FigurePart:
    ink = INK_COLOURS[drawing.mode]
    return {
        "text": drawing.title, "x": 0, "xanchor": "left", "xref": "container", "pad": {"l": 8, "t": 14}, "y": 1, "yanchor": "top",
        "yref": "container", "font": {"size": 16, "color": ink["text"], "weight": 600}, "automargin": False,
        "subtitle": {"text": drawing.subtitle, "font": {"size": 13, "color": ink["soft"], "weight": 400}},
    }  # fmt: skip


@lru_cache(maxsize=1)
def _template() -> FigurePart:
    """Of Plotly's usual settings those for what our figures are made of: they travel with each figure, and are 7 kB in all."""
    usual = plotly.io.templates["plotly"].to_plotly_json()
    return {"layout": {name: usual["layout"][name] for name in ("hovermode", "hoverlabel", "xaxis", "yaxis")},
            "data": {name: usual["data"][name] for name in ("bar", "scatter")}}  # fmt: skip


def _axis(axis: parts.Axis, drawing: parts.Drawing) -> FigurePart:
    line = INK_COLOURS[drawing.mode]["line"]
    given: FigurePart = {"gridcolor": line, "zeroline": False, "linecolor": line, "tickcolor": line}
    if drawing.square_units:
        given |= {"constrain": "domain", "fixedrange": True, "tickangle": 0}
    if not axis.visible:
        given |= {"visible": False, "fixedrange": True}
    wanted = {
        "title": _axis_title(axis.title) if axis.title else None, "range": axis.range and [*axis.range],
        "type": "log" if axis.log else None, "dtick": axis.step, "tickvals": [*axis.ticks] or None,
        "ticktext": [*axis.tick_labels] or None, "showgrid": None if axis.grid else False,
    }  # fmt: skip
    return given | {name: value for name, value in wanted.items() if value is not None}


def _axis_title(words: str) -> FigurePart:
    return {"text": words, "font": {"size": 12}}  # the numbers beside it have 14, Plotly's own titles 17


def _image(layer: parts.RasterLayer) -> FigurePart:
    return {
        "type": "image", "source": pixels_to_data_uri(layer.pixels, photo=layer.smooth),
        **_cells(layer.pixels.shape[:2], layer.size, layer.place), "hoverinfo": "skip",
        "zsmooth": "fast" if layer.smooth else False,
    }  # fmt: skip


def _cells(shape: tuple[int, ...], size: tuple[float, float], place: tuple[float, float]) -> FigurePart:
    """Where the first of (rows, columns) cells has its middle, and how far it is to the next."""
    dx, dy = size[0] / shape[1], size[1] / shape[0]
    return {"x0": place[0] + dx / 2, "y0": place[1] + dy / 2, "dx": dx, "dy": dy}


def _hover_grid(grid: parts.HoverGrid, mode: Mode) -> FigurePart:
    shape = len(grid.text), len(grid.text[0])
    return {
        "type": "heatmap", "z": np.zeros(shape, np.uint8), **_cells(shape, grid.size, grid.place), "text": grid.text,
        "hoverinfo": "text", "opacity": 0, "showscale": False, "xgap": 0, "ygap": 0,
    }  # fmt: skip


def _heat_cells(cells: parts.HeatCells, mode: Mode) -> FigurePart:
    return {
        "type": "heatmap", "z": cells.values.tolist(), "zmin": cells.scale.low, "zmax": cells.scale.high, "showscale": False,
        "xgap": 2, "ygap": 2, "colorscale": _plotly_colour_scale(cells.scale.colours), "text": cells.text, "hoverinfo": "text",
    }  # fmt: skip


def _points(points: parts.Points, mode: Mode) -> FigurePart:
    colour = ink_colour(points.colour, mode)
    shown = {"lines": points.line_px, "markers": points.marker_px, "text": points.written}
    trace: FigurePart = {
        "type": "scatter", "x": points.x, "y": points.y, "mode": "+".join(name for name, there in shown.items() if there),
        **_hover(points.hover, points.hover_texts), **({"name": points.name} if points.name else {}),
    }  # fmt: skip
    if points.line_px:
        trace["line"] = {"color": colour, "width": points.line_px} | ({"dash": points.dash} if points.dash else {})
    if points.marker_px:
        trace["marker"] = {"color": colour, "size": points.marker_px, "symbol": points.symbol, "opacity": points.marker_opacity}
        if points.rim:
            trace["marker"]["line"] = {"width": 2} if points.symbol.endswith("-open") else RIM
    if points.errors:
        bars = points.errors
        trace["error_y"] = {"type": "data", "array": bars.up, "arrayminus": bars.down, "symmetric": False, "color": colour,
                            "thickness": bars.line_px, "width": bars.cap_px}  # fmt: skip
    if points.unselected_opacity is not None:
        trace["unselected"] = {"marker": {"opacity": points.unselected_opacity}}
    if points.selected_px:
        trace["selected"] = {"marker": {"size": points.selected_px}}
    more = {
        "opacity": None if points.opacity == 1 else points.opacity, "text": [*points.texts] or None,
        "textposition": "bottom right" if points.written else None, "customdata": [*points.custom_data] or None,
        "showlegend": None if points.in_legend else False, "legendgroup": points.legend_group or None,
    }  # fmt: skip
    return trace | {name: value for name, value in more.items() if value is not None}


def _hover(template: str, texts: Any) -> FigurePart:
    """What the pointer is answered, without the box beside it that holds the trace's name."""
    if not template:
        return {"hoverinfo": "skip"}
    return {"hovertemplate": template + "<extra></extra>"} | ({"hovertext": texts} if texts else {})


def _bars(bars: parts.Bars, mode: Mode) -> FigurePart:
    return {
        "type": "bar", "orientation": "h", "x": bars.x, "y": bars.y, "width": bars.thick, "name": bars.name,
        "marker": {"color": ink_colour(bars.colour, mode)} | ({"line": {"width": 0}} if bars.histogram else {}),
        **_hover(bars.hover, bars.hover_texts),
    }  # fmt: skip


_TRACES: dict[type, Any] = {
    parts.HoverGrid: _hover_grid, parts.HeatCells: _heat_cells, parts.Points: _points, parts.Bars: _bars,
}  # fmt: skip


def _colour_bar(scale: ColourScale) -> FigurePart:
    """A colour bar with its unit, beside a point that is nowhere."""
    bar: FigurePart = {
        "title": _axis_title(scale.unit) | {"side": "right"}, "thickness": 12, "len": 0.9, "outlinewidth": 0, "x": 1.01,
        "ticks": "", "tickformat": "~g", **({"tickvals": [*scale.ticks]} if scale.ticks else {}),
    }  # fmt: skip
    marker = {
        "color": [scale.low], "colorscale": _plotly_colour_scale(scale.colours), "cmin": scale.low, "cmax": scale.high,
        "showscale": True, "colorbar": bar,
    }  # fmt: skip
    return {"type": "scatter", "x": [None], "y": [None], "mode": "markers", "marker": marker, "hoverinfo": "skip"}


def _plotly_colour_scale(name: str) -> list[list[Any]]:
    """A colour scale as Plotly takes it. Not as "#rrggbb": Streamlit takes #000001 to #000040 for colours of its theme."""
    return [[i / 16, "rgb({},{},{})".format(*colour_table(name)[min(16 * i, 255)])] for i in range(17)]


def _shape(shape: parts.Outline | parts.StraightLine, mode: Mode) -> FigurePart:
    line: FigurePart = {"color": ink_colour(shape.colour, mode), "width": shape.line_px}
    if isinstance(shape, parts.Outline):
        return {"type": "rect", "x0": shape.x, "y0": shape.y, "x1": shape.x + shape.wide, "y1": shape.y + shape.high, "line": line}
    if shape.x is not None:
        return {"type": "line", "x0": shape.x, "x1": shape.x, "xref": "x", "y0": 0, "y1": 1, "yref": "y domain", "line": line}
    return {"type": "line", "x0": 0, "x1": 1, "xref": "x domain", "y0": shape.y, "y1": shape.y, "yref": "y",
            "line": line | {"dash": "dash"}}  # fmt: skip


def _annotation(label: parts.Label, mode: Mode) -> FigurePart:
    more = {
        "yanchor": label.y_anchor, "xref": "paper" if label.x_of_plot else "", "yref": "paper" if label.y_of_plot else "",
        "bgcolor": "rgba(0,0,0,.6)" if label.on_dark else "", "align": "left" if "<br>" in label.text else "",
        "hovertext": label.hover,
    }  # fmt: skip
    font: FigurePart = {"size": label.size_px} | ({"color": ink_colour(label.colour, mode)} if label.colour else {})
    return {"text": label.text, "x": label.x, "y": label.y, "showarrow": False, "xanchor": label.x_anchor, "font": font} | {
        name: value for name, value in more.items() if value
    }


def _grown(name: str, node: Any, factor: float) -> Any:
    """A part of a figure with all that is counted in pixels `factor` times as large."""
    if isinstance(node, dict):
        return {
            key: round(value * factor, 6) if key in PIXELS.get(name, ()) and isinstance(value, int | float)
            else _grown(key, value, factor) for key, value in node.items()
        }  # fmt: skip
    return [_grown(name, one, factor) for one in node] if isinstance(node, list | tuple) and name != "text" else node
