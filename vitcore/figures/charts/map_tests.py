"""Tests of maps drawn: deletion and insertion of all methods, their ranking over photos, and what random weights leave of them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from numpy.typing import NDArray

from vitcore.figures.drawing import Axis, Drawing, Label, Margin, Points, StraightLine
from vitcore.figures.theme_colours import CATEGORICAL, Mode
from vitcore.translation import say

STYLES = (  # colour, symbol, and the symbol as a character beside the line's name
    (CATEGORICAL[0], "circle", "●"), (CATEGORICAL[1], "square", "■"), (CATEGORICAL[2], "diamond", "◆"),
    (CATEGORICAL[3], "triangle-up", "▲"), (CATEGORICAL[4], "circle-open", "○"), (CATEGORICAL[5], "square-open", "□"),
    (CATEGORICAL[7], "diamond-open", "◇"),
)  # fmt: skip
PLAIN = {"middle": ("dot", "···"), "chance": ("dash", "- -")}  # what no method made: grey, without symbols
NAMES_PX = 244  # of the lines' names at the right
METHOD_ROW_PX = 46  # of a method in the ranking
UNIT = 0.16  # between two fills of a method, in rows


class MapCurve(NamedTuple):
    """A method's line: its key ("middle" and "chance" are grey), its name, where it runs, and the number beside its name."""

    key: str
    name: str
    x: Sequence[float] | NDArray
    y: Sequence[float] | NDArray
    value: float


class MethodInterval(NamedTuple):
    """A method's mean over photos and the ends of its interval."""

    name: str
    mean: float
    low: float
    high: float


def deletion_chart(curves: Sequence[MapCurve], label: str, fill: str, insertion: bool = False, mode: Mode = "light",
                   narrow: bool = False) -> Drawing:  # fmt: skip
    """Probability of a class (0 to 1) over the share of patches (0 to 1) that are gone, strongest first; or that are shown.

    Lines are named at the right in the order of their areas, the best first; where it is `narrow`, in a legend below. `fill` says
    what stands for a patch that is gone.
    """
    ordered = sorted(curves, key=lambda curve: curve.value if not insertion else -curve.value)
    top = max(float(max(curve.y)) for curve in ordered)
    told = say("{name}: {share} % of the patches, probability {value}", name="{name}", share="%{x:.0f}", value="%{y:.2f}")
    return _lines(
        ordered, {curve.key: [100 * float(x) for x in curve.x] for curve in ordered}, told, mode, narrow,
        next((curve.key for curve in ordered if curve.key not in PLAIN), ""),
        title=say("Insertion: the strongest patches come first") if insertion else say("Deletion: the strongest patches go first"),
        subtitle=say("{label}, {fill}; area, larger is better", label=label, fill=fill) if insertion
        else say("{label}, {fill}; area, smaller is better", label=label, fill=fill),
        x=Axis(title=say("patches shown (%)") if insertion else say("patches deleted (%)"), range=(0, 100), step=25),
        y=Axis(title=say("probability"), range=(0, 1.06 * top)),
    )  # fmt: skip


def randomisation_chart(curves: Sequence[MapCurve], parts: Sequence[str], bar: float, mode: Mode = "light",
                        narrow: bool = False) -> Drawing:  # fmt: skip
    """Rank correlation with the trained model's map (−1 to 1) as `parts` become random, from the classifier down.

    `parts` begin with the trained model, whose correlation is 1. A map that ends above `bar` is called unchanged.
    """
    ordered = sorted(curves, key=lambda curve: -curve.value)
    places, last = list(range(len(parts))), len(parts) - 1
    told = say("{name}: {part} random, rank correlation {value}", name="{name}", part="%{hovertext}", value="%{y:.2f}")
    low = min(-0.25, *(float(y) for curve in curves for y in curve.y if y == y))
    every = [place for place in places if not narrow or place == last or place % 4 == 0]
    drawn = _lines(
        ordered, {curve.key: places for curve in ordered}, told, mode, narrow, texts=parts,
        title=say("Random weights, from the classifier down"), subtitle=say("rank correlation with the trained model's map"),
        x=Axis(title=say("random down to"), ticks=every, tick_labels=[parts[place] for place in every], range=(-0.2, last + 0.2)),
        y=Axis(title=say("rank correlation"), range=(low - 0.05, 1.05), step=0.25),
    )  # fmt: skip
    at_bar = Label(say("unchanged"), 0.99, bar, 12, "soft", "right", "bottom", x_of_plot=True)
    return replace(drawn, shapes=[StraightLine(y=bar, colour="soft", line_px=1)], labels=[*drawn.labels, at_bar])


def ranking_chart(rows: Sequence[Sequence[MethodInterval]], fills: Sequence[str], photos: int, mode: Mode = "light") -> Drawing:
    """Insertion minus deletion of each method, mean over photos with its interval, for each of several fills.

    `rows` are methods, the best first, each with one interval a fill.
    """
    marks = []
    for i, fill in enumerate(fills):
        colour, symbol, _ = STYLES[i]
        at = [row + UNIT * (i - (len(fills) - 1) / 2) for row in range(len(rows))]
        some = [row[i] for row in rows]
        for y, one in zip(at, some, strict=True):
            marks.append(Points(x=[one.low, one.high], y=[y, y], colour=colour, line_px=2, in_legend=False))
        told = say("{name}, {fill}: {mean} ({low} to {high})", name="%{hovertext}", fill=fill, mean="%{x:.2f}", low="{low}",
                   high="{high}")  # fmt: skip
        marks.append(Points(
            x=[one.mean for one in some], y=at, colour=colour, symbol=symbol, marker_px=10, name=fill, hover="%{hovertext}",
            hover_texts=[told.replace("%{hovertext}", one.name).replace("%{x:.2f}", f"{one.mean:.2f}")
                         .format(low=f"{one.low:.2f}", high=f"{one.high:.2f}") for one in some],
        ))  # fmt: skip
    names = [row[0].name for row in rows]
    low, high = min(0.0, *(one.low for row in rows for one in row)), max(one.high for row in rows for one in row)
    room = (high - low) / 25
    return Drawing(
        title=say("Insertion minus deletion, by method and fill"), mode=mode, height_px=160 + METHOD_ROW_PX * len(rows),
        marks=marks,
        subtitle=say("mean of {photos} {photos:photo|photos}, 95 % intervals; 0: orders by chance", photos=photos), legend="below",
        x=Axis(title=say("insertion minus deletion"), range=(low - room, high + room)), shapes=[StraightLine(x=0, colour="soft")],
        y=Axis(ticks=range(len(rows)), tick_labels=names, range=(len(rows) - 0.5, -0.5), grid=False),
        margin=Margin(left=170, right=16, below=104, above=4),
    )  # fmt: skip


def _lines(
    curves: Sequence[MapCurve], places: dict[str, list[float]] | dict[str, list[int]], told: str, mode: Mode, narrow: bool,
    best: str = "", texts: Sequence[str] = (), **more: object,
) -> Drawing:  # fmt: skip
    """Lines named in their order, the first drawn last, above the others; that of the `best` method is wider, its name bold."""
    styles = _styles(curves)
    marks = [
        Points(
            x=places[curve.key], y=[float(value) for value in curve.y], colour=styles[curve.key][0], name=curve.name,
            symbol=styles[curve.key][1], dash=PLAIN.get(curve.key, ("",))[0],  # type: ignore[arg-type]
            line_px=3.2 if curve.key == best else 1.8, marker_px=0 if curve.key in PLAIN else 8,
            hover=told.replace("{name}", curve.name), hover_texts=texts, in_legend=narrow,
        )
        for curve in reversed(curves)
    ]  # fmt: skip
    labels: list[Label] = []
    for place, curve in enumerate(() if narrow else curves):
        labels += _named(curve, styles[curve.key], place, len(curves), curve.key == best)
    return Drawing(
        mode=mode, height_px=620 if narrow else 470, marks=marks, labels=labels,
        legend="below" if narrow else "", legend_reversed=narrow,
        margin=Margin(left=58, right=12 if narrow else NAMES_PX, below=150 if narrow else 52, above=4), **more,  # type: ignore[arg-type]
    )  # fmt: skip


def _styles(curves: Sequence[MapCurve]) -> dict[str, tuple[str, str, str]]:
    """Each method's colour and symbol, by its key's place in the alphabet: the same on every chart."""
    methods = sorted(curve.key for curve in curves if curve.key not in PLAIN)
    styles = {key: STYLES[i % len(STYLES)] for i, key in enumerate(methods)}
    return styles | {key: (CATEGORICAL[6], "circle", sign) for key, (_, sign) in PLAIN.items()}


def _named(curve: MapCurve, style: tuple[str, str, str], place: int, count: int, is_best: bool) -> list[Label]:
    y = 0.95 - 0.9 * place / max(count - 1, 1)
    text = f"{round(curve.value, 2) + 0.0:.2f}  {curve.name}"  # no minus before 0.00
    bold = f"<b>{text}</b>" if is_best else text
    where = {"x_of_plot": True, "y_of_plot": True, "y_anchor": "middle"}
    return [
        Label(style[2], 1.025, y, 15, style[0], x_anchor="center", **where),  # type: ignore[arg-type]
        Label(bold, 1.05, y, 13, "text", **where),  # type: ignore[arg-type]
    ]
