"""Plotly, the printer and the page's own chart paint one drawing: the same marks at the same places, in the same colours."""

import base64
import io
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from PIL import Image

from app.components.chart.chart import chart_spec
from tests.drawings import DRAWINGS, SHOTS
from vitcore import figures
from vitcore.figures.painters import png_and_svg
from vitcore.figures.painters.printed_text import strip_text_marks
from vitcore.figures.theme_colours import INK_COLOURS


class Painted(NamedTuple):
    """What a painter drew, in units of the axes: numbers in rows, and the colours and words that belong to them."""

    pictures: list
    points: list
    bars: list
    outlines: list
    rules: list
    labels: list
    colours: list


def finite(x, y):
    """The points (K, 2) that have both numbers; logarithms are no matter here."""
    pairs = np.array([(a, b) for a, b in zip(x, y, strict=True) if a is not None and b is not None], float).reshape(-1, 2)
    return np.round(pairs[np.isfinite(pairs).all(1)], 3).tolist()


def box(*numbers):
    return [round(float(number), 4) for number in numbers]


def colour(name):
    return to_hex(name).lower()


def by_plotly(fig):
    cells = [t for t in fig.data if t.type == "heatmap" and t.opacity != 0]
    sized = [(t, np.asarray(Image.open(io.BytesIO(base64.b64decode(t.source.partition(",")[2])))).shape)
             for t in fig.data if t.type == "image"]  # fmt: skip
    dots = [t for t in fig.data if t.type == "scatter" and t.x is not None and list(t.x) != [None]]
    bars, boxes = [t for t in fig.data if t.type == "bar"], [s for s in fig.layout.shapes if s.type == "rect"]
    rules = [s for s in fig.layout.shapes if s.type == "line"]
    return Painted(
        [box(t.x0 - t.dx / 2, t.y0 - t.dy / 2, t.dx * s[1], t.dy * s[0]) for t, s in sized]
        + [box(-0.5, -0.5, len(t.z[0]), len(t.z)) for t in cells],
        [finite(t.x, t.y) for t in dots], [finite(t.x, t.y) for t in bars],
        [box(s.x0, s.y0, s.x1 - s.x0, s.y1 - s.y0) for s in boxes],
        [box(s.x0 if s.x0 == s.x1 else s.y0) for s in rules], [(a.text, *box(a.x, a.y)) for a in fig.layout.annotations],
        [colour(t.marker.color or t.line.color) for t in dots + bars] + [colour(s.line.color) for s in boxes + rules],
    )  # fmt: skip


def by_chart(spec):
    pictures, points, bars = ([t for t in spec["traces"] if t["kind"] == kind] for kind in ("image", "points", "bars"))
    rules, edges = ([line for line in spec["lines"] if (line["across"] or line["along"]) is rule] for rule in (True, False))
    tops, bottoms = edges[::4], edges[1::4]
    return Painted(
        [box(t["left"], t["top"], t["wide"], t["high"]) for t in pictures], [finite(t["x"], t["y"]) for t in points],
        [finite(t["x"], t["y"]) for t in bars],
        [box(a["x"][0], a["y"][0], a["x"][1] - a["x"][0], b["y"][0] - a["y"][0]) for a, b in zip(tops, bottoms, strict=True)],
        [box(line["x"][0] if line["along"] else line["y"][0]) for line in rules],
        [("".join(note["parts"]), *box(note["x"], note["y"])) for note in spec["notes"]],
        [colour(t["colour"]) for t in points + bars] + [colour(line["colour"]) for line in tops + rules],
    )  # fmt: skip


def by_printer(drawing):
    axes = Figure().add_subplot()
    png_and_svg._draw_marks(drawing, axes)
    lines = [line for line in axes.lines if line.get_linestyle() != "None"]  # else they are the caps of error bars
    rules = [line for line in lines if line.get_transform() != axes.transData]
    meshes = [c for c in axes.collections if type(c).__name__ == "QuadMesh"]
    dots = [c for c in axes.collections if type(c).__name__ == "PathCollection"]
    bars, boxes = ([p for p in axes.patches if p.get_fill() is filled] for filled in (True, False))
    return Painted(
        [box(e[0], e[3], e[1] - e[0], e[2] - e[3]) for e in (image.get_extent() for image in axes.images)]
        + [box(*m.get_coordinates()[0, 0], *(m.get_coordinates()[-1, -1] - m.get_coordinates()[0, 0])) for m in meshes],
        [finite(*line.get_data()) for line in lines if line not in rules] + [finite(*np.transpose(c.get_offsets().filled(np.nan)))
                                                                            for c in dots],
        [finite([p.get_width()], [p.get_y() + p.get_height() / 2]) for p in bars], [box(*p.get_xy(), p.get_width(), p.get_height())
                                                                                   for p in boxes],
        [box(x[0] if x[0] == x[1] else y[0]) for x, y in (line.get_data() for line in rules)],
        [(text.get_text(), *box(*text.get_position())) for text in axes.texts if type(text).__name__ == "Text"],
        [colour(line.get_color()) for line in lines if line not in rules]
        + [colour((c.get_edgecolor() if not len(c.get_facecolor()) else c.get_facecolor())[0]) for c in dots]
        + [colour(p.get_facecolor()) for p in bars] + [colour(p.get_edgecolor()) for p in boxes]
        + [colour(line.get_color()) for line in rules],
    )  # fmt: skip


def distinct(items):
    return sorted({repr(item) for item in items})


@pytest.mark.parametrize("name", DRAWINGS)
def test_three_painters_draw_the_same_and_the_page_has_plotlys_pixels_and_scale(name):
    for mode in ("light", "dark"):
        drawing = DRAWINGS[name](mode)
        fig, spec = drawing.to_plotly(), chart_spec(drawing)
        plotly, chart, printed = by_plotly(fig), by_chart(spec), by_printer(drawing)
        assert any(plotly[:4]), "something is drawn"
        assert chart._replace(labels=[]) == plotly._replace(labels=[]), mode
        assert [(text.replace("<b>", "").replace("</b>", ""), x, y) for text, x, y in plotly.labels] == chart.labels
        for part in ("pictures", "outlines", "rules"):
            assert getattr(printed, part) == getattr(plotly, part), (part, mode)
        assert [(strip_text_marks(text), x, y) for text, x, y in plotly.labels] == printed.labels
        assert distinct(printed.points) == distinct(plotly.points), "a line and its markers are two in print, one trace in Plotly"
        assert [bar for bars in plotly.bars for bar in bars] == [bar for (bar,) in printed.bars]
        assert distinct(printed.colours) == distinct(plotly.colours), mode
        pixels = [t["source"] for t in spec["traces"] if t["kind"] == "image"][: len(drawing.rasters)]
        assert pixels == [t.source for t in fig.data if t.type == "image"]
        bars = [t.marker for t in fig.data if t.type == "scatter" and t.marker.showscale]
        scales = [(t["low"], t["high"], t["unit"]) for t in spec["traces"] if t["kind"] == "scale"]
        assert scales == [(bar.cmin, bar.cmax, bar.colorbar.title.text) for bar in bars]


def test_error_bars_and_cells_are_printed():
    """The few-shot chart says "bars hold 95 %", the confusion matrix is of cells: both were missing on paper."""
    axes = Figure().add_subplot()
    png_and_svg._draw_marks(figures.few_shot_accuracy(SHOTS, 0.1, 20, 95), axes)
    bars = [c for c in axes.collections if type(c).__name__ == "LineCollection"]
    ends = [segment[:, 1].tolist() for segment in bars[0].get_segments()]
    np.testing.assert_allclose(ends, [[20, 50], [50, 70]])
    page = np.asarray(Image.open(io.BytesIO(figures.print_figure(figures.confusion_matrix(np.eye(3), list("abc"))))).convert("RGB"))
    dark, bright = ((np.abs(page.astype(int) - rgb).max(-1) < 12).mean() for rgb in ((0, 0, 4), (252, 255, 164)))
    assert bright > 0.1 and dark / bright == pytest.approx(2, rel=0.1), "six cells of nothing, three of all"


SIGNED = ("one patch", "projection", "positions", "tile", "cosine map", "signed", "head drops")


def test_another_theme_is_a_replaced_field():
    for name, draw in DRAWINGS.items():
        light, dark = draw("light"), draw("dark")
        turned = replace(light, mode="dark")
        if name in SIGNED:  # their zero is as dark or as light as the page
            assert turned.to_plotly().to_json() != dark.to_plotly().to_json(), name
            turned = replace(turned, rasters=dark.rasters, colour_scale=dark.colour_scale)
        assert turned.to_plotly().to_json() == dark.to_plotly().to_json(), name
    assert INK_COLOURS["light"] != INK_COLOURS["dark"]
