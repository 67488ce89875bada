"""A figure before it is painted: pixels and numbers as arrays, marks, axes, a colour scale, words, and its size.

Three painters read a `Drawing`, and nothing else: `painters.plotly_figure` for notebooks, pages and HTML,
`painters.png_and_svg` for paper, and the page's own chart (`app/components/chart`).
Another title, size or theme is `dataclasses.replace`. A colour is "#RRGGBB" or the name of an ink of the theme.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from vitcore.figures.theme_colours import ColourScale, Mode

if TYPE_CHECKING:
    import plotly.graph_objects as go

TITLED_PX, SUBTITLED_PX, ABOVE_PX = 48, 72, 12  # room above a plot with a title, with a subtitle too, and with neither
COLOUR_BAR_PX = 75  # what a colour bar takes of the width, with its numbers and unit
Numbers = Sequence[Any] | NDArray


@dataclass(frozen=True, eq=False)
class RasterLayer:
    """Pixels (H, W, 3 or 4) over `size` (width, height) in units of the axes, their top left corner at `place`.

    `smooth` where they are a photo, else each pixel has sharp edges.
    """

    pixels: NDArray[np.uint8]
    size: tuple[float, float]
    place: tuple[float, float] = (0, 0)
    smooth: bool = False


@dataclass(frozen=True, eq=False)
class HoverGrid:
    """Invisible cells in rows and columns over `size` (width, height) from `place` on, which answer the pointer with their text."""

    text: Sequence[Sequence[str]]
    size: tuple[float, float]
    place: tuple[float, float] = (0, 0)


@dataclass(frozen=True, kw_only=True, eq=False)
class HeatCells:
    """(rows, cols) values as cells around 0, 1, 2, …, in the colours of a scale, which answer the pointer with their text."""

    values: NDArray
    text: Sequence[Sequence[str]]
    scale: ColourScale


@dataclass(frozen=True, kw_only=True, eq=False)
class ErrorBars:
    """How far a bar goes up and down from each point."""

    up: Sequence[float]
    down: Sequence[float]
    line_px: float
    cap_px: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Points:
    """Points as markers, as a line between them, or both. A number that is None or NaN is a gap.

    `hover` is what the pointer is answered, "" for nothing: "%{x}", "%{y:.2f}", "%{text}" and "%{hovertext}" are filled in
    from the point, its `texts` and its `hover_texts`.
    """

    x: Numbers
    y: Numbers
    colour: str
    name: str = ""
    line_px: float = 0  # 0: no line
    dash: Literal["", "dash", "dot"] = ""
    marker_px: float = 0  # 0: no markers
    symbol: str = "circle"  # "diamond", "square", "triangle-up", "cross", "star"; hollow with "-open"
    rim: bool = False  # a light one, so that markers that overlap are told apart
    opacity: float = 1
    marker_opacity: float = 1  # 0: points that nobody sees, to be touched
    hover: str = ""
    hover_texts: Sequence[str] = ()
    texts: Sequence[Any] = ()
    written: bool = False  # whether `texts` stand beside the points, or are told on hover alone (and printed)
    custom_data: Sequence[Any] = ()  # a touch passes it on
    errors: ErrorBars | None = None
    in_legend: bool = True
    legend_group: str = ""
    selected_px: float = 0  # of the marker that is touched
    unselected_opacity: float | None = None  # of the others then


@dataclass(frozen=True, kw_only=True, eq=False)
class Bars:
    """Bars from 0 to `x` around each `y`, `thick` in units of y; those of a histogram touch."""

    x: Sequence[float]
    y: Sequence[float]
    thick: float
    colour: str
    name: str = ""
    histogram: bool = False
    hover: str = ""
    hover_texts: Sequence[str] = ()


Mark = HoverGrid | HeatCells | Points | Bars


@dataclass(frozen=True)
class Outline:
    """The outline of a rectangle."""

    x: float
    y: float
    wide: float
    high: float
    colour: str
    line_px: float = 2


@dataclass(frozen=True, kw_only=True)
class StraightLine:
    """A line all across the plot: level and dashed at a `y`, or upright at an `x`."""

    x: float | None = None
    y: float | None = None
    colour: str
    line_px: float = 1.5


@dataclass(frozen=True)
class Label:
    """Words at a place, from there to the right. `<b>` is bold, `<br>` a new line.

    With `x_of_plot` or `y_of_plot` the place is a share of the plot's width or height, from the left or from below.
    """

    text: str
    x: float
    y: float
    size_px: float = 13
    colour: str = ""
    x_anchor: Literal["left", "center", "right"] = "left"
    y_anchor: Literal["", "top", "middle", "bottom"] = ""
    x_of_plot: bool = False
    y_of_plot: bool = False
    on_dark: bool = False  # on a dark ground of its own: seen on any picture
    hover: str = ""


@dataclass(frozen=True, kw_only=True)
class Axis:
    """An axis; the `range` of a logarithmic one is in powers of ten."""

    title: str = ""
    range: tuple[float, float] | None = None  # None: what the marks need
    log: bool = False
    step: float | None = None  # from one number written on it to the next
    ticks: Sequence[float] = ()  # the places where something is written
    tick_labels: Sequence[str] = ()  # what is written there, default: the numbers
    visible: bool = True
    grid: bool = True


@dataclass(frozen=True, kw_only=True)
class Margin:
    """Room beside the plot, in pixels; `above` comes on top of the room that a title takes."""

    left: float = 8
    right: float = 8
    above: float = 0
    below: float = 8


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Drawing:
    """A figure: `rasters` lie below `marks`, these below `shapes` and `labels`. Its ways out are `to_plotly` and `print_figure`.

    A picture has `square_units`: a step along x is as long as one along y, whatever the window's shape.
    """

    title: str
    subtitle: str = ""
    note: str = ""  # printed below it
    mode: Mode = "light"
    height_px: float = 480
    zoom: float = 1  # of type, marks, margins and height, on a screen that is far away
    print_width_px: int = 0  # of a PNG, at least
    rasters: Sequence[RasterLayer] = ()
    marks: Sequence[Mark] = ()
    shapes: Sequence[Outline | StraightLine] = ()
    labels: Sequence[Label] = ()
    colour_scale: ColourScale | None = None
    x: Axis = Axis()
    y: Axis = Axis()
    square_units: bool = False
    stays_at_top: bool = False  # where a picture leaves room, it is left below
    margin: Margin = Margin()
    legend: Literal["", "above", "below", "below the plot"] = ""
    legend_reversed: bool = False

    def to_plotly(self) -> go.Figure:
        """The figure as Plotly has it, to be changed, shown or saved there. Raises: ImportError, one sentence, without Plotly."""
        try:
            from vitcore.figures.painters.plotly_figure import to_plotly
        except ModuleNotFoundError as error:
            raise ImportError(f"{error.name} is not installed: pip install inside-vit[app].") from None
        return to_plotly(self)

    def write_html(self, path: str | Path) -> None:
        """Write one HTML file that can be pointed at and needs no network."""
        self._write(path, "html")

    def write_image(self, path: str | Path) -> None:
        """Write a PNG or an SVG, as the file's name ends; no browser is needed."""
        self._write(path, Path(path).suffix.removeprefix(".").lower())

    def _write(self, path: str | Path, kind: str) -> None:
        from vitcore.figures.painters.png_and_svg import print_figure

        Path(path).write_bytes(print_figure(self, kind))

    def show(self) -> None:
        """Show it as Plotly shows a figure: in the notebook, or in a browser."""
        self.to_plotly().show()

    def __repr__(self) -> str:
        """A line: the arrays would fill pages."""
        return f"Drawing({self.title!r}, mode={self.mode!r}, height_px={self.height_px:g})"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None, **options: Any) -> Any:
        """What a notebook shows."""
        return self.to_plotly()._repr_mimebundle_(include, exclude, **options)

    def _repr_html_(self) -> str:
        """What a notebook shows that takes HTML alone."""
        return self.to_plotly()._repr_html_()

    @property
    def text_alternative(self) -> str:
        """What is said of it where it is not seen."""
        return f"{self.title} {self.subtitle}".strip()


def picture_axes(size: tuple[float, float], x: Axis | None = None, y: Axis | None = None) -> dict[str, Any]:
    """Axes of a picture of `size` (width, height): square units, the origin at the top left, ticks where `x` or `y` have some."""
    x, y = x or Axis(visible=False), y or Axis(visible=False)
    return {"x": replace(x, range=(0, size[0])), "y": replace(y, range=(size[1], 0)), "square_units": True}


def row_or_column_axis(title: str, count: int, every: int) -> Axis:
    """The axis of a picture's rows or columns, counted from 0 (the paper's from 1), with the number of each `every`-th."""
    some = range(0, count, every)
    return Axis(title=title, ticks=[i + 0.5 for i in some], tick_labels=[str(i) for i in some], grid=False)


def add_shapes(drawing: Drawing, shapes: Iterable[Outline | StraightLine], note: str = "") -> Drawing:
    """The drawing with more shapes, and a note that tells what they are; itself without any."""
    more = tuple(shapes)
    return replace(drawing, shapes=(*drawing.shapes, *more), note=note or drawing.note) if more else drawing


def title_room_px(drawing: Drawing) -> float:
    """The room that title and subtitle take above the plot."""
    return SUBTITLED_PX if drawing.subtitle else TITLED_PX if drawing.title else ABOVE_PX


def remove_title(drawing: Drawing) -> Drawing:
    """The drawing without title, subtitle and their room: a page writes them itself, in lines that break where it is narrow."""
    high = drawing.height_px - title_room_px(drawing) + ABOVE_PX
    return replace(drawing, title="", subtitle="", height_px=high)


def fit_figure_to_width(drawing: Drawing, wide_px: int) -> Drawing:
    """The drawing, a picture only as tall as it is at this width: no empty space above and below it."""
    x, y, margin, zoom = drawing.x.range, drawing.y.range, drawing.margin, drawing.zoom
    if not (drawing.square_units and x and y):
        return drawing
    shape = abs(y[1] - y[0]) / abs(x[1] - x[0])
    bar = COLOUR_BAR_PX if drawing.colour_scale else 0
    beside, above = zoom * (margin.left + margin.right), zoom * (title_room_px(drawing) + margin.above + margin.below)
    return _limited(drawing, round((wide_px - beside - bar) * shape + above))


def limit_figure_height(drawing: Drawing, max_px: int) -> Drawing:
    """The drawing, a chart (no picture: its axes are free) at most so high: both axes are on the screen."""
    return drawing if drawing.square_units else _limited(drawing, max_px)


def _limited(drawing: Drawing, max_px: int) -> Drawing:
    return replace(drawing, height_px=max_px / drawing.zoom) if drawing.height_px * drawing.zoom > max_px else drawing
