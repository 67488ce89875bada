"""Printing: the figures of this package as PNG, SVG or one self-contained HTML file, with no browser needed.

plotly's own static export starts a Chrome, which servers, notebooks and laptops may not have. Our figures use few kinds
of trace, so matplotlib draws them from the same `go.Figure`: pictures, points, lines, bars, boxes, a colour bar.
"""

import base64
import io
import math
import re
from pathlib import Path
from typing import Any
from unicodedata import east_asian_width

import numpy as np
import plotly.graph_objects as go
from PIL import Image

from vitcore.figures.theme import INK_COLOURS, ColourScale, colour_scale_of_trace, lut
from vitcore.translation import say

DPI = 150
NOTE_CHARS_AN_INCH = 15.5  # of the note below a figure
FONTS_FOLDER = Path(__file__).parent / "fonts"  # Chinese characters, which matplotlib's own font lacks
SYSTEM_FONTS = ("Noto Sans CJK SC", "Noto Sans CJK TC", "PingFang SC", "PingFang TC", "Microsoft YaHei", "Microsoft JhengHei")
PAPER_COLOUR = {"light": "#FFFFFF", "dark": "#0F1218"}


def print_figure(fig: go.Figure, kind: str = "png", note: str = "") -> bytes:
    """A figure of this package as bytes of a "png", "svg" or "html" file; `note` is printed below it, after it the figure's own."""
    note = " ".join(filter(None, (note, (fig.layout.meta or {}).get("note", ""))))  # and what is said of outlier tokens
    if kind == "html":
        return _html(fig, note)
    if kind not in ("png", "svg"):
        raise ValueError(f"kind is 'png', 'svg' or 'html', not {kind!r}")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    wide = _width_in(fig)
    sharp = max(DPI, math.ceil((fig.layout.meta or {}).get("wide_px", 0) / wide))
    lines = _wrapped(note, wide)
    below = 0.14 + 0.16 * len(lines) if note else 0
    canvas, dpi = (FigureCanvasAgg, sharp) if kind == "png" else (FigureCanvasSVG, 72)
    sheet = Figure(figsize=(wide, fig.layout.height / 100 + below), dpi=dpi, layout="constrained")
    canvas(sheet)  # no pyplot: it is not safe in threads
    mode = (fig.layout.meta or {}).get("mode", "light")
    ink = INK_COLOURS[mode]
    sheet.set_facecolor(PAPER_COLOUR[mode])
    axes = sheet.add_subplot()
    _draw_traces(fig, axes, sheet, ink["text"])
    _draw_axes(fig, axes, ink["text"])
    if note:
        sheet.supxlabel("\n".join(lines), fontsize=8, color=ink["text"], ha="left", x=0.01)
    _choose_fonts(sheet)
    if engine := sheet.get_layout_engine():
        engine.execute(sheet)
    sheet.set_layout_engine("none")
    sheet.dpi = sharp if kind == "png" else DPI
    file = io.BytesIO()
    if kind == "png":  # not `savefig`: that draws everything twice, the first time for the layout, which is there
        FigureCanvasAgg(sheet).print_png(file, pil_kwargs={"compress_level": 4})  # 4 % larger than the default, in half the time
    else:
        FigureCanvasSVG(sheet).print_svg(file)
    return file.getvalue()


def svg_in_dark_mode(svg: bytes) -> bytes:
    """The printed SVG of a light figure as that of the dark one: the same lines in the other ink, on the other paper."""
    drawing = svg.decode().replace(PAPER_COLOUR["light"].lower(), PAPER_COLOUR["dark"].lower(), 1)  # the sheet, drawn first
    for name, colour in INK_COLOURS["light"].items():
        drawing = drawing.replace(colour.lower(), INK_COLOURS["dark"][name].lower())
    return drawing.encode()


def _wrapped(note: str, wide_in: float) -> list[str]:
    """The note in lines that fit the sheet: broken at spaces, or after any Chinese character but before no closing mark."""
    lines, room = [""], NOTE_CHARS_AN_INCH * wide_in
    for word in re.findall(r"[\u2e80-\u9fff\uff00-\uffef“][，。；：、！？）」”]*|[^\s\u2e80-\u9fff\uff00-\uffef]+\s*|\s", note):
        if lines[-1] and _length(lines[-1] + word.rstrip()) > room:
            lines.append("")
        lines[-1] += word
    return [line.rstrip() for line in lines]


def _length(text: str) -> float:
    """In Latin letters; a Chinese character is as wide as 1.9 of them."""
    return sum(1.9 if east_asian_width(char) in "WF" else 1 for char in text)


def _choose_fonts(sheet: Any) -> None:
    """Each character from the first font that has it: matplotlib's own, ours for the language, then the system's."""
    from matplotlib import font_manager
    from matplotlib.text import Text

    manager = font_manager.fontManager
    here = {font.name for font in manager.ttflist}
    for file in FONTS_FOLDER.glob("*.otf"):
        if font_manager.get_font(file).family_name not in here:
            manager.addfont(file)
    ours = say("Inside ViT SC")  # the font is a word, too: characters that both scripts share look different in each
    families = ["DejaVu Sans", ours, "Inside ViT SC", "Inside ViT TC", *(name for name in SYSTEM_FONTS if name in here)]
    families = list(dict.fromkeys(families))
    for text in sheet.findobj(Text):
        latin = max(text.get_text(), default="") < "\u0250"  # the first font has all of these; to look for others takes time
        text.set_fontfamily(families[:1] if latin else families)


def _width_in(fig: go.Figure) -> float:
    """Pictures get the width their shape asks for; charts 7.5 inches."""
    x, y = fig.layout.xaxis, fig.layout.yaxis
    if y.scaleanchor != "x" or not x.range:
        return 7.5
    ratio = abs(x.range[1] - x.range[0]) / max(abs(y.range[1] - y.range[0]), 1e-9)
    return float(np.clip((fig.layout.height / 100 - 0.6) * ratio + 1.2, 4.5, 14))


def _draw_traces(fig: go.Figure, axes: Any, sheet: Any, ink: str) -> None:
    for trace in fig.data:
        if trace.type == "image":
            pixels = _pixels(trace.source)
            box = (trace.x0 - trace.dx / 2, trace.x0 + trace.dx * (pixels.shape[1] - 0.5),
                   trace.y0 + trace.dy * (pixels.shape[0] - 0.5), trace.y0 - trace.dy / 2)  # fmt: skip
            smooth = "bilinear" if trace.zsmooth == "fast" else "none"
            axes.imshow(pixels, extent=box, alpha=trace.opacity, interpolation=smooth, aspect="equal")
        elif trace.type == "bar":
            axes.barh(list(trace.y), list(trace.x), height=trace.width, color=trace.marker.color)
        elif scale := colour_scale_of_trace(trace):
            _draw_scale(scale, axes, sheet, ink)
        elif trace.type == "scatter" and trace.marker.opacity != 0:  # points to be touched are not seen
            _draw_points(trace, axes)
    for shape in fig.layout.shapes:
        _draw_shape(shape, axes)
    ways = {(True, True): axes.transAxes, (False, False): axes.transData,
            (True, False): axes.get_yaxis_transform(), (False, True): axes.get_xaxis_transform()}  # fmt: skip
    for note in fig.layout.annotations:
        transform = ways[note.xref == "paper", note.yref == "paper"]
        text = _plain(note.text)
        patch = {"facecolor": "black", "alpha": 0.55, "edgecolor": "none", "pad": 1.5} if note.bgcolor else None
        va = {"top": "top", "bottom": "bottom"}.get(note.yanchor, "center")
        axes.text(
            note.x,
            note.y,
            text,
            transform=transform,
            color=note.font.color or ink,
            fontsize=8 if (note.font.size or 13) > 11 else 7,
            va=va,
            ha=note.xanchor or "left",
            bbox=patch,
        )


def _draw_points(trace: Any, axes: Any) -> None:
    x, y = np.asarray(trace.x), np.asarray(trace.y)
    if "lines" in trace.mode:
        label = trace.name if trace.mode == "lines" else None
        look = {"linewidth": trace.line.width or 2, "linestyle": "--" if trace.line.dash == "dash" else "-"}
        axes.plot(x, y, color=trace.line.color, alpha=trace.opacity, label=label, **look)
    if "markers" in trace.mode:
        marks = {"circle": "o", "diamond": "D", "square": "s"}
        symbol, _, hollow = (trace.marker.symbol or "circle").partition("-")
        colour, named = trace.marker.color, trace.name if trace.showlegend is not False else None
        ink = {"facecolors": "none", "edgecolors": colour, "linewidths": 1.4} if hollow else {
            "color": colour, "edgecolors": "white", "linewidths": 0.6}  # fmt: skip
        size = 42 * ((trace.marker.size or 11) / 11) ** 2
        axes.scatter(x.astype(float), y.astype(float), s=size, marker=marks.get(symbol, "o"), label=named, zorder=3, **ink)
    for place, text in enumerate(trace.text if trace.text is not None else ()):
        axes.annotate(str(text), (x[place], y[place]), xytext=(6, -12), textcoords="offset points", fontsize=9)


def _draw_scale(scale: ColourScale, axes: Any, sheet: Any, ink: str) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, Normalize

    table = ListedColormap(lut(scale.colours) / 255)
    bar = sheet.colorbar(ScalarMappable(Normalize(scale.low, scale.high), table), ax=axes, fraction=0.04)
    bar.set_label(scale.unit, color=ink)
    bar.ax.tick_params(colors=ink)
    bar.outline.set_visible(False)


def _draw_shape(shape: Any, axes: Any) -> None:
    if shape.type == "line" and shape.x0 == shape.x1:
        axes.axvline(shape.x0, color=shape.line.color, linewidth=1.6)
    elif shape.type == "line":
        axes.axhline(shape.y0, color=shape.line.color, linestyle="--", linewidth=1.2)
    else:
        from matplotlib.patches import Rectangle

        axes.add_patch(Rectangle((shape.x0, shape.y0), shape.x1 - shape.x0, shape.y1 - shape.y0, fill=False,
                                 edgecolor=shape.line.color, linewidth=shape.line.width))  # fmt: skip


def _draw_axes(fig: go.Figure, axes: Any, ink: str) -> None:
    x, y = fig.layout.xaxis, fig.layout.yaxis
    about = fig.layout.title.subtitle.text
    axes.set_title(_plain(fig.layout.title.text) + (f"\n{about}" if about else ""), loc="left", fontsize=11, color=ink)
    axes.set_facecolor("none")
    for axis, name, spec in ((axes.xaxis, "x", x), (axes.yaxis, "y", y)):
        if spec.range:
            logarithmic = spec.type == "log"  # plotly then gives the range as powers of ten
            getattr(axes, f"set_{name}scale")("log" if logarithmic else "linear")
            getattr(axes, f"set_{name}lim")(*(10.0 ** np.array(spec.range) if logarithmic else spec.range))
        if spec.visible is False:
            axis.set_ticks([])  # or they are made, and measured, to be left out
            axis.set_visible(False)
            continue
        if spec.title.text:
            axis.set_label_text(spec.title.text, color=ink)
        if spec.tickvals is not None:
            axis.set_ticks(list(spec.tickvals), [str(t) for t in spec.ticktext])
        axis.set_tick_params(colors=ink)
    for side in axes.spines.values():
        side.set_visible(False)
    if fig.layout.showlegend:
        axes.legend(ncols=6, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.13), frameon=False, labelcolor=ink)


def _pixels(source: str) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(source.split(",", 1)[1]))))


def _plain(text: str | None) -> str:
    for tag, plain in (("<br>", "\n"), ("<sup>", ""), ("</sup>", ""), ("<b>", ""), ("</b>", "")):
        text = (text or "").replace(tag, plain)
    return text or ""


def _html(fig: go.Figure, note: str) -> bytes:
    mode = (fig.layout.meta or {}).get("mode", "light")
    page = fig.to_html(full_html=True, include_plotlyjs=True, config={"displaylogo": False, "responsive": True})
    style = f"<style>body{{margin:2rem;background:{PAPER_COLOUR[mode]};font-family:sans-serif}}"
    style += "p{max-width:46rem;color:#777}</style>"
    from html import escape

    return page.replace("</head>", f"{style}</head>").replace("</body>", f"<p>{escape(note)}</p></body>").encode()
