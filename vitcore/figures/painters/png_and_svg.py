"""Printing: a `Drawing` as PNG, SVG or one self-contained HTML file, with no browser needed.

plotly's own static export starts a Chrome, which servers, notebooks and laptops may not have. Our figures use few kinds
of mark, so matplotlib draws them: pictures, points, lines, bars, boxes, a colour bar.
"""

import io
import math
from dataclasses import replace
from html import escape
from typing import Any

import numpy as np

from vitcore.figures.drawing import Axis, Bars, Drawing, HeatCells, Label, Outline, Points, RasterLayer, StraightLine
from vitcore.figures.painters.printed_text import NOTE_CHARS_AN_INCH, TITLE_CHARS_AN_INCH, choose_fonts, strip_text_marks, wrap_text
from vitcore.figures.theme_colours import INK_COLOURS, PAPER_COLOUR, ColourScale, colour_table, ink_colour

DPI = 150
SOFTWARE = "Inside ViT"  # by which `images.photo_folder` knows its own pictures among photos
SYMBOLS = {"circle": "o", "diamond": "D", "square": "s", "triangle-up": "^", "cross": "P", "star": "*"}
DASHES = {"": "-", "dash": "--", "dot": ":"}


def print_figure(drawing: Drawing, kind: str = "png", note: str = "") -> bytes:
    """A figure as bytes of a "png", "svg" or "html" file; `note` is printed below it, after it the figure's own."""
    note = " ".join(filter(None, (note, drawing.note)))
    if kind == "html":
        return _html(drawing, note)
    if kind not in ("png", "svg"):
        raise ValueError(f"kind is 'png', 'svg' or 'html', not {kind!r}")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    wide = _width_in(drawing)
    sharp = max(DPI, math.ceil(drawing.print_width_px / wide))
    lines = wrap_text(note, wide, NOTE_CHARS_AN_INCH)
    below = 0.14 + 0.16 * len(lines) if note else 0
    canvas, dpi = (FigureCanvasAgg, sharp) if kind == "png" else (FigureCanvasSVG, 72)
    sheet = Figure(figsize=(wide, drawing.height_px / 100 + below), dpi=dpi, layout="constrained")
    canvas(sheet)  # no pyplot: it is not safe in threads
    ink = INK_COLOURS[drawing.mode]["text"]
    sheet.set_facecolor(PAPER_COLOUR[drawing.mode])
    axes = sheet.add_subplot()
    title = draw_into_axes(replace(drawing, title=_wrapped_title(drawing, wide), subtitle=""), axes)
    if note:
        sheet.supxlabel("\n".join(lines), fontsize=8, color=ink, ha="left", x=0.01)
    choose_fonts(sheet)
    if engine := sheet.get_layout_engine():
        engine.execute(sheet)
        _keep_on_sheet(title, sheet)
    sheet.set_layout_engine("none")
    sheet.dpi = sharp if kind == "png" else DPI
    file = io.BytesIO()
    if kind == "png":  # not `savefig`: that draws everything twice, the first time for the layout, which is there
        named = {"Software": SOFTWARE}
        quick = {"compress_level": 4}  # 4 % larger than the default, in half the time
        FigureCanvasAgg(sheet).print_png(file, metadata=named, pil_kwargs=quick)
    else:
        FigureCanvasSVG(sheet).print_svg(file)
    return file.getvalue()


def _wrapped_title(drawing: Drawing, wide_in: float) -> str:
    """The title and, below it, the subtitle, each in lines that fit the sheet."""
    parts = _title_text(drawing).split("\n")
    return "\n".join(line for part in parts for line in wrap_text(part, wide_in, TITLE_CHARS_AN_INCH))


def _title_text(drawing: Drawing) -> str:
    return strip_text_marks(drawing.title) + (f"\n{drawing.subtitle}" if drawing.subtitle else "")


def _keep_on_sheet(title: Any, sheet: Any) -> None:
    """A title that would leave the sheet at its right begins as much further left."""
    title.axes.apply_aspect()
    over = title.get_window_extent().x1 - 0.99 * sheet.bbox.width
    if over > 0:
        title.set_x(title.get_position()[0] - over / title.axes.bbox.width)


def draw_into_axes(drawing: Drawing, axes: Any) -> Any:
    """Draw a figure into matplotlib's axes, with its title, which is returned, its units and its colour bar."""
    ink = INK_COLOURS[drawing.mode]["text"]
    _draw_marks(drawing, axes)
    if drawing.colour_scale:
        _draw_scale(drawing.colour_scale, axes, axes.figure, ink)
    title = axes.set_title(_title_text(drawing), loc="left", fontsize=11, color=ink)
    _draw_axes(drawing, axes, ink)
    choose_fonts(axes)
    return title


def svg_in_dark_mode(svg: bytes) -> bytes:
    """The printed SVG of a light figure as that of the dark one: the same lines in the other ink, on the other paper."""
    drawing = svg.decode().replace(PAPER_COLOUR["light"].lower(), PAPER_COLOUR["dark"].lower(), 1)  # the sheet, drawn first
    for name, colour in INK_COLOURS["light"].items():
        drawing = drawing.replace(colour.lower(), INK_COLOURS["dark"][name].lower())
    return drawing.encode()


def _width_in(drawing: Drawing) -> float:
    """Pictures get the width their shape asks for; charts 7.5 inches."""
    x, y = drawing.x.range, drawing.y.range
    if not (drawing.square_units and x and y):
        return 7.5
    ratio = abs(x[1] - x[0]) / max(abs(y[1] - y[0]), 1e-9)
    return float(np.clip((drawing.height_px / 100 - 0.6) * ratio + 1.2, 4.5, 14))


def _draw_marks(drawing: Drawing, axes: Any) -> None:
    """All that lies within the axes, in the colours of the drawing's mode."""

    def ink(colour: str) -> str:
        return ink_colour(colour, drawing.mode)

    for layer in drawing.rasters:
        _draw_raster(layer, axes)
    for mark in drawing.marks:
        if isinstance(mark, Bars):
            axes.barh(list(mark.y), list(mark.x), height=mark.thick, color=ink(mark.colour))
        elif isinstance(mark, HeatCells):
            _draw_cells(mark, PAPER_COLOUR[drawing.mode], axes)
        elif isinstance(mark, Points) and mark.marker_opacity:  # points to be touched are not seen
            _draw_points(mark, ink(mark.colour), axes)
    for shape in drawing.shapes:
        _draw_shape(shape, ink(shape.colour), axes)
    for label in drawing.labels:
        _draw_label(label, ink(label.colour or "text"), axes)


def _draw_raster(layer: RasterLayer, axes: Any) -> None:
    (left, top), (wide, high) = layer.place, layer.size
    smooth = "bilinear" if layer.smooth else "none"
    axes.imshow(layer.pixels, extent=(left, left + wide, top + high, top), interpolation=smooth, aspect="equal")


def _draw_cells(cells: HeatCells, paper: str, axes: Any) -> None:
    from matplotlib.colors import ListedColormap

    rows, cols = cells.values.shape
    axes.pcolormesh(
        np.arange(cols + 1) - 0.5, np.arange(rows + 1) - 0.5, cells.values, vmin=cells.scale.low, vmax=cells.scale.high,
        cmap=ListedColormap(colour_table(cells.scale.colours) / 255), edgecolors=paper, linewidth=1.5,
    )  # fmt: skip


def _draw_points(points: Points, colour: str, axes: Any) -> None:
    x, y = np.asarray(points.x, float), np.asarray(points.y, float)
    name = points.name if points.in_legend else None
    if points.line_px:
        axes.plot(x, y, color=colour, alpha=points.opacity, label=None if points.marker_px else name, linewidth=points.line_px,
                  linestyle=DASHES[points.dash])  # fmt: skip
    if points.marker_px:
        symbol, hollow = points.symbol.removesuffix("-open"), points.symbol.endswith("-open")
        look: dict[str, Any] = {"facecolors": "none", "edgecolors": colour, "linewidths": 1.4} if hollow else {
            "color": colour, "edgecolors": "white", "linewidths": 0.6}  # fmt: skip
        axes.scatter(x, y, s=42 * (points.marker_px / 11) ** 2, marker=SYMBOLS[symbol], label=name, zorder=3, **look)
    if points.errors:
        bars = points.errors
        look = {"elinewidth": bars.line_px, "capsize": bars.cap_px / 2}
        axes.errorbar(x, y, yerr=[bars.down, bars.up], fmt="none", ecolor=colour, **look)
    for place, text in enumerate(points.texts):
        axes.annotate(str(text), (x[place], y[place]), xytext=(6, -12), textcoords="offset points", fontsize=9)


def _draw_scale(scale: ColourScale, axes: Any, sheet: Any, ink: str) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, Normalize

    table = ListedColormap(colour_table(scale.colours) / 255)
    bar = sheet.colorbar(ScalarMappable(Normalize(scale.low, scale.high), table), ax=axes, fraction=0.04)
    bar.set_label(scale.unit, color=ink, fontsize=8)
    bar.ax.tick_params(colors=ink)
    bar.outline.set_visible(False)


def _draw_shape(shape: Outline | StraightLine, colour: str, axes: Any) -> None:
    if isinstance(shape, Outline):
        from matplotlib.patches import Rectangle

        axes.add_patch(Rectangle((shape.x, shape.y), shape.wide, shape.high, fill=False, edgecolor=colour,
                                 linewidth=shape.line_px))  # fmt: skip
    elif shape.x is not None:
        axes.axvline(shape.x, color=colour, linewidth=1.6)
    else:
        axes.axhline(shape.y, color=colour, linestyle="--", linewidth=1.2)


def _draw_label(label: Label, colour: str, axes: Any) -> None:
    ways = {(True, True): axes.transAxes, (False, False): axes.transData,
            (True, False): axes.get_yaxis_transform(), (False, True): axes.get_xaxis_transform()}  # fmt: skip
    ground = {"facecolor": "black", "alpha": 0.55, "edgecolor": "none", "pad": 1.5} if label.on_dark else None
    axes.text(
        label.x, label.y, strip_text_marks(label.text), transform=ways[label.x_of_plot, label.y_of_plot], color=colour,
        fontsize=8 if label.size_px > 11 else 7, va={"top": "top", "bottom": "bottom"}.get(label.y_anchor, "center"),
        ha=label.x_anchor, bbox=ground,
    )  # fmt: skip


def _draw_axes(drawing: Drawing, axes: Any, ink: str) -> None:
    axes.set_facecolor("none")
    _draw_axis(drawing.x, axes.xaxis, axes.set_xscale, axes.set_xlim, ink)
    _draw_axis(drawing.y, axes.yaxis, axes.set_yscale, axes.set_ylim, ink)
    for side in axes.spines.values():
        side.set_visible(False)
    if drawing.legend:
        axes.legend(ncols=6, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.13), frameon=False, labelcolor=ink)


def _draw_axis(axis: Axis, printed: Any, set_scale: Any, set_ends: Any, ink: str) -> None:
    if axis.range:
        set_scale("log" if axis.log else "linear")
        set_ends(*(10.0 ** np.array(axis.range) if axis.log else axis.range))
    if not axis.visible:
        printed.set_ticks([])  # or they are made, and measured, to be left out
        printed.set_visible(False)
        return
    if axis.title:
        printed.set_label_text(axis.title, color=ink, fontsize=8)
    if len(axis.ticks):
        printed.set_ticks(
            list(axis.ticks), [strip_text_marks(text) for text in axis.tick_labels] or [f"{tick:g}" for tick in axis.ticks]
        )
    printed.set_tick_params(colors=ink)


def _html(drawing: Drawing, note: str) -> bytes:
    page = drawing.to_plotly().to_html(full_html=True, include_plotlyjs=True, config={"displaylogo": False, "responsive": True})
    style = f"<style>body{{margin:2rem;background:{PAPER_COLOUR[drawing.mode]};font-family:sans-serif}}"
    style += "p{max-width:46rem;color:#777}</style>"
    begin, end = f'<body><main aria-label="{escape(drawing.text_alternative)}">', f"<p>{escape(note)}</p></main></body>"
    return page.replace("</head>", f"{style}</head>").replace("<body>", begin, 1).replace("</body>", end).encode()
