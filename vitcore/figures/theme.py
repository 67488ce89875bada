"""The one theme of every figure: palettes, fonts, light and dark, and the pieces figures are made of."""

import base64
import io
import math
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import plotly.graph_objects as go
import plotly.io
from numpy.typing import NDArray
from PIL import Image
from plotly.colors import get_colorscale, sample_colorscale

Mode = Literal["light", "dark"]
FigurePart = dict[str, Any]  # of a figure, as Plotly writes it down: a trace, an axis, a note

SEQUENTIAL = "Inferno"  # amounts: attention, rollout
DIVERGING = "RdBu_r"  # signed: cosine similarity, differences
DETAIL = 36  # of 255: how much brighter or darker the fine detail of a photo makes a colour that lies on it
PHOTO_SHARE = (255 - 2 * DETAIL) / 255  # of a colour's range on a photo, so that no detail is cut off
HEAT, SIGNED_HEAT = f"{SEQUENTIAL} on a photo", f"{DIVERGING} on a photo"  # both scales as they are there
CATEGORICAL = (  # told apart by colour-blind readers, at least 3:1 on light and on dark pages
    "#0B7BC1", "#D55E00", "#0B9A68", "#CC5FA3", "#B98A10", "#7A6BD8", "#8A8A8A", "#A0522D",
)  # fmt: skip
PINNED_PATCH_COLOUR = CATEGORICAL[1]  # what was asked or chosen
INK_COLOURS: dict[Mode, dict[str, str]] = {
    "light": {"text": "#1F2328", "soft": "#57606A", "line": "#D9D5CC", "accent": "#0B6E83"},
    "dark": {"text": "#E8E6E1", "soft": "#A9B1BC", "line": "#2C3440", "accent": "#4FC3D9"},
}
TITLED_PX, SUBTITLED_PX, ABOVE_PX = 48, 72, 12  # room above a plot with a title, with a subtitle too, and with neither
FONT = "Inter, Source Sans, Segoe UI, Helvetica, Arial, sans-serif"


def figure(
    traces: list[FigurePart], title: str, mode: Mode = "light", height_px: int = 480, subtitle: str = "", *,
    size: tuple[float, float] | None = None, x: FigurePart | None = None, y: FigurePart | None = None,
    margin: FigurePart | None = None,
    **layout: Any,
) -> go.Figure:  # fmt: skip
    """Traces as a figure with its title, colours and margins; backgrounds stay transparent so that any page may hold it.

    `x` and `y` are settings of the axes, `layout` of all else. Axes of a picture of `size` (width, height) have square units,
    no ticks and their origin at the top left. Plotly is told not to check every property (`_validate`), which takes it 15
    times as long as all the rest: the tests have it do so.
    """
    ink, bare_x, bare_y = INK_COLOURS[mode], {}, {}
    axis = {"gridcolor": ink["line"], "zeroline": False, "linecolor": ink["line"], "tickcolor": ink["line"]}
    if size:
        bare = {"visible": False, "constrain": "domain", "fixedrange": True}
        bare_x, bare_y = bare | {"range": [0, size[0]]}, bare | {"range": [size[1], 0], "scaleanchor": "x"}
    house = {
        "template": plotly_template(),
        "title": {
            "text": title, "x": 0, "xanchor": "left", "xref": "container", "pad": {"l": 8, "t": 14}, "y": 1, "yanchor": "top",
            "yref": "container", "font": {"size": 16, "color": ink["text"], "weight": 600}, "automargin": False,
            "subtitle": {"text": subtitle, "font": {"size": 13, "color": ink["soft"], "weight": 400}},
        },
        "font": {"family": FONT, "size": 14, "color": ink["soft"]}, "hoverlabel": {"font": {"family": FONT, "size": 14}},
        "paper_bgcolor": "rgba(0,0,0,0)", "plot_bgcolor": "rgba(0,0,0,0)", "height": height_px, "meta": {"mode": mode},
        "margin": {"l": 8, "r": 8, "t": SUBTITLED_PX if subtitle else TITLED_PX, "b": 8} | (margin or {}),
        "showlegend": False, "dragmode": False,
        "xaxis": axis | bare_x | (x or {}), "yaxis": axis | bare_y | (y or {}),
    }  # fmt: skip
    return go.Figure({"data": traces, "layout": house | layout}, _validate=False)


@lru_cache(maxsize=1)
def plotly_template() -> FigurePart:
    """Of Plotly's usual settings those for what our figures are made of: they travel with each figure, and are 7 kB in all."""
    usual = plotly.io.templates["plotly"].to_plotly_json()
    return {"layout": {name: usual["layout"][name] for name in ("hovermode", "hoverlabel", "xaxis", "yaxis")},
            "data": {name: usual["data"][name] for name in ("bar", "scatter")}}  # fmt: skip


def text_annotation(text: str, x: float, y: float, size: int = 13, color: str = "", **more: Any) -> FigurePart:
    """Words at a place in a figure, from there to the right; `more` is whatever else Plotly knows of them."""
    font = {"size": size} | ({"color": color} if color else {})
    return {"text": text, "x": x, "y": y, "showarrow": False, "xanchor": "left", "font": font} | more


def round_numbers(low: float, high: float) -> list[float]:
    """1, 2, 5, 10, 20 … from low to high, of many decades 1, 10, 100 …: to be written out, as Plotly leaves the tens away."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if math.log10(high / low) < 3.5 else (1,)
    return [step * 10.0**power for power in powers for step in steps if low <= step * 10.0**power <= high]


def rectangle_outline(x: float, y: float, wide: float, high: float, ink: str, width: float = 2) -> FigurePart:
    """A rectangle around something in a figure."""
    return {"type": "rect", "x0": x, "y0": y, "x1": x + wide, "y1": y + high, "line": {"color": ink, "width": width}}


COLOUR_BAR_PX = 75  # what a colour bar takes of the width, with its numbers and unit
PIXELS = {  # what is counted in pixels, by what it belongs to
    "font": ("size",), "marker": ("size",), "line": ("width",), "margin": ("l", "r", "t", "b"), "pad": ("l", "r", "t", "b"),
    "colorbar": ("thickness",), "layout": ("height",),
}  # fmt: skip


def enlarge_figure(fig: go.Figure, factor: float) -> go.Figure:
    """A copy with type, markers, lines, margins and height `factor` times as large: for a projector, or a screen far away."""
    return fig if factor == 1 else go.Figure(_grown("", fig.to_dict(), factor), _validate=False)


def remove_title(fig: go.Figure, factor: float = 1) -> tuple[go.Figure, str, str]:
    """The same without its title and the room for it, and what it was: title and subtitle, both empty where there is none.

    For a page that writes them itself, in lines that break where it is narrow; Plotly's do not. `factor`: as for `enlarge_figure`.
    """
    title, about = fig.layout.title.text or "", fig.layout.title.subtitle.text or ""
    if not title:
        return fig, "", ""
    spec, room = fig.to_dict(), factor * ((SUBTITLED_PX if about else TITLED_PX) - ABOVE_PX)
    spec["layout"] |= {"title": {}, "height": fig.layout.height - room}
    spec["layout"]["margin"] = spec["layout"]["margin"] | {"t": fig.layout.margin.t - room}
    return go.Figure(spec, _validate=False), title, about


def fit_figure_to_width(fig: go.Figure, wide_px: int) -> go.Figure:
    """The same, a picture (`bare_axes`) only as tall as it is at this width: no empty space above and below it."""
    x, y, margin = fig.layout.xaxis, fig.layout.yaxis, fig.layout.margin
    if y.scaleanchor:
        shape = abs(y.range[1] - y.range[0]) / abs(x.range[1] - x.range[0])
        bar = COLOUR_BAR_PX if any(trace.marker.showscale for trace in fig.select_traces({"type": "scatter"})) else 0
        tall = (wide_px - margin.l - margin.r - bar) * shape + margin.t + margin.b
        spec = fig.to_dict()
        spec["layout"]["height"] = min(fig.layout.height, round(tall))
        fig = go.Figure(spec, _validate=False)
    return fig


def limit_figure_height(fig: go.Figure, max_px: int) -> go.Figure:
    """The same, a chart (no picture: its axes are free) at most so high: both axes are on the screen."""
    if fig.layout.yaxis.scaleanchor or not fig.layout.height or fig.layout.height <= max_px:
        return fig
    spec = fig.to_dict()
    spec["layout"]["height"] = max_px
    return go.Figure(spec, _validate=False)


def _grown(name: str, node: Any, factor: float) -> Any:
    if isinstance(node, dict):
        return {
            key: value * factor if key in PIXELS.get(name, ()) and isinstance(value, int | float) else _grown(key, value, factor)
            for key, value in node.items()
        }
    return [_grown(name, one, factor) for one in node] if isinstance(node, list | tuple) and name != "text" else node


def apply_colour_scale(
    values: NDArray, scale: str = SEQUENTIAL, low: float | None = None, high: float | None = None
) -> NDArray[np.uint8]:
    """(…) numbers as (…, 3) bytes of a colour scale, from `low` to `high` (default: the values' own range)."""
    low = float(np.min(values)) if low is None else low
    high = float(np.max(values)) if high is None else high
    unit = (np.asarray(values, np.float64) - low) / max(high - low, 1e-12)
    return lut(scale)[np.uint8(np.clip(np.round(255 * unit), 0, 255))]


def hex_to_rgb(ink: str) -> tuple[int, int, int]:
    """An ink "#RRGGBB" as three bytes."""
    red, green, blue = bytes.fromhex(ink[1:])
    return red, green, blue


def lut(scale: str) -> NDArray[np.uint8]:
    """(256, 3) bytes of a named colour scale; of one "on a photo", as its colours are there in the mean of a patch."""
    if scale not in _LUTS:
        name, on_photo, _ = scale.partition(" on a photo")
        steps = sample_colorscale(get_colorscale(name), np.linspace(0, 1, 256).tolist(), colortype="tuple")
        colours = np.round(255 * np.asarray(steps))
        _LUTS[scale] = (np.round(PHOTO_SHARE * colours) + DETAIL if on_photo else colours).astype(np.uint8)
    return _LUTS[scale]


_LUTS: dict[str, NDArray[np.uint8]] = {}


def gradient_stops(scale: str, every: int = 32) -> list[str]:
    """A colour scale as "#rrggbb" stops for a gradient: each `every`-th of its 256 colours, and the last."""
    return ["#" + bytes(rgb).hex() for rgb in [*lut(scale)[::every], lut(scale)[255]]]


def plotly_colour_scale(scale: str) -> list[list[Any]]:
    """A colour scale as Plotly's charts take it. Not as "#rrggbb": Streamlit takes #000001 to #000040 for colours of its theme."""
    return [[i / 16, "rgb({},{},{})".format(*lut(scale)[min(16 * i, 255)])] for i in range(17)]


def pixels_to_data_uri(pixels: NDArray[np.uint8], photo: bool = False) -> str:
    """(H, W, 3 or 4) bytes as an address a browser can show."""
    return file_to_data_uri(*encode_image(pixels, photo))


def encode_image(pixels: NDArray[np.uint8], photo: bool = False) -> tuple[bytes, str]:
    """(H, W), (H, W, 3 or 4) bytes as a file, and its kind: PNG, or JPEG for a `photo`, a tenth of the size."""
    file = io.BytesIO()
    opaque = pixels.ndim == 2 or pixels.shape[-1] == 3
    kind, how = ("JPEG", {"quality": 90}) if photo and opaque else ("PNG", {"compress_level": 3})
    Image.fromarray(pixels).save(file, kind, **how)
    return file.getvalue(), f"image/{kind.lower()}"


def file_to_data_uri(file: bytes, mime: str) -> str:
    """A file as an address a browser can show."""
    return f"data:{mime};base64," + base64.b64encode(file).decode()


def mosaic(tiles: NDArray[np.uint8], cols: int, gutter: int = 1, zoom: int = 1) -> NDArray[np.uint8]:
    """(K, h, w, 3) tiles as one RGBA picture in rows of `cols`; gutters and empty places are transparent."""
    count, h, w, _ = tiles.shape
    rows = -(-count // cols)
    h, w = h * zoom, w * zoom
    cells = np.zeros((rows * cols, h + gutter, w + gutter, 4), np.uint8)
    cells[:count, :h, :w, :3] = tiles.repeat(zoom, 1).repeat(zoom, 2)
    cells[:count, :h, :w, 3] = 255
    sheet = cells.reshape(rows, cols, h + gutter, w + gutter, 4).swapaxes(1, 2)
    sheet = sheet.reshape(rows * (h + gutter), cols * (w + gutter), 4)
    return sheet[: rows * (h + gutter) - gutter, : cols * (w + gutter) - gutter]


def image_trace(pixels: NDArray[np.uint8], size: tuple[float, float], opacity: float = 1.0, smooth: bool = True) -> FigurePart:
    """An image trace that covers `size` (width, height) in axis units, its top left corner at 0, 0."""
    high, wide = pixels.shape[:2]
    dx, dy = size[0] / wide, size[1] / high
    return {
        "type": "image", "source": pixels_to_data_uri(pixels, photo=smooth), "x0": dx / 2, "y0": dy / 2, "dx": dx, "dy": dy,
        "opacity": opacity, "hoverinfo": "skip", "zsmooth": "fast" if smooth else False,
    }  # fmt: skip


def hover_trace(text: list[list[str]], size: tuple[float, float]) -> FigurePart:
    """An invisible grid over a picture of `size`, whose cells answer the pointer with `text`."""
    rows, cols = len(text), len(text[0])
    dx, dy = size[0] / cols, size[1] / rows
    return {
        "type": "heatmap", "z": np.zeros((rows, cols), np.uint8), "x0": dx / 2, "dx": dx, "y0": dy / 2, "dy": dy, "text": text,
        "hoverinfo": "text", "opacity": 0, "showscale": False, "xgap": 0, "ygap": 0,
    }  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ColourScale:
    """A colour scale: the name of its palette, the numbers at its ends, and their unit; whoever draws one reads this."""

    colours: str
    low: float
    high: float
    unit: str


def colour_scale_of_trace(trace: Any) -> ColourScale | None:
    """The scale that a trace of a figure is the bar of, or None."""
    return ColourScale(**trace.meta) if trace.type == "scatter" and trace.meta else None


def colour_bar(scale: ColourScale) -> FigurePart:
    """The colour bar of a scale."""
    return colour_bar_trace(scale.colours, scale.low, scale.high, scale.unit)


def colour_bar_trace(scale: str, low: float, high: float, title: str, ticks: list[float] | None = None) -> FigurePart:
    """A colour bar with its unit, on its own."""
    bar: dict[str, Any] = {
        "title": {"text": title, "side": "right"}, "thickness": 12, "len": 0.9, "outlinewidth": 0, "x": 1.01, "ticks": "",
        "tickformat": "~g",
    }  # fmt: skip
    if ticks is not None:
        bar |= {"tickvals": ticks}
    marker = {
        "color": [low],
        "colorscale": plotly_colour_scale(scale),
        "cmin": low,
        "cmax": high,
        "showscale": True,
        "colorbar": bar,
    }
    return {"type": "scatter", "x": [None], "y": [None], "mode": "markers", "marker": marker, "hoverinfo": "skip",
            "meta": asdict(ColourScale(colours=scale, low=float(low), high=float(high), unit=title))}  # fmt: skip
