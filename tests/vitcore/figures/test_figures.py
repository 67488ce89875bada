"""Every figure: it has a title, it is light to send, it can be printed, in light and in dark."""

import io
import json
import re
from xml.etree import ElementTree

import numpy as np
import plotly.graph_objects as go
import pytest
from PIL import Image

from tests.drawings import DRAWINGS
from vitcore import figures
from vitcore.figures.painters.png_and_svg import PAPER_COLOUR, SOFTWARE, print_figure
from vitcore.figures.theme_colours import INK_COLOURS

PIXELS = (  # printed as PNG; as SVG all of them are
    "patches", "filters", "positions", "heads", "rollout", "rollout as the paper draws it", "predictions", "curves", "confusion",
    "norm strip",
)  # fmt: skip
PRINTED_DARK = ("distance", "rollout")  # dark is one set of colours for all: a drawing and a picture show it


def leaves(value):
    """Every array and number a figure is made of."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for item in value:
            yield from leaves(item)
    else:
        yield value


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_figure_is_of_its_mode_known_to_plotly_and_light_to_send(name):
    """Pages leave Plotly's check of every property out: it takes many times as long as drawing does."""
    shown = {mode: DRAWINGS[name](mode).to_plotly() for mode in ("light", "dark")}
    for mode, fig in shown.items():
        assert isinstance(fig, go.Figure) and len(fig.data) >= 1
        assert fig.layout.title.text and fig.layout.height >= 200
        assert fig.layout.title.font.color == INK_COLOURS[mode]["text"]
        assert fig.layout.paper_bgcolor == fig.layout.plot_bgcolor == "rgba(0,0,0,0)"
    light, dark = shown.values()
    assert [t.type for t in light.data] == [t.type for t in dark.data]
    text = light.to_json()
    assert light.layout.title.text == dark.layout.title.text and text != dark.to_json()
    go.Figure(light.to_dict())
    assert len(text) < 400_000
    json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no number a browser reads"))
    kinds = {leaf.dtype for leaf in leaves(light.to_plotly_json()) if isinstance(leaf, np.ndarray)}
    assert not kinds & {np.dtype(np.float16), np.dtype(object)}, "Plotly sends these as lists of text, several times heavier"
    assert not any(kind.itemsize > 4 and kind.kind == "f" for kind in kinds), f"64 bits are twice as heavy: {kinds}"


# Printing


def corner(png):
    return "#{:02X}{:02X}{:02X}".format(*Image.open(io.BytesIO(png)).convert("RGB").getpixel((2, 2)))


@pytest.mark.parametrize(("name", "mode"), [*((name, "light") for name in PIXELS), *((name, "dark") for name in PRINTED_DARK)])
def test_png(name, mode):
    png = print_figure(DRAWINGS[name](mode), "png")
    image = Image.open(io.BytesIO(png))
    image.load()
    assert image.format == "PNG" and min(image.size) > 300 and image.info["Software"] == SOFTWARE
    assert corner(png) == PAPER_COLOUR[mode]
    assert len(np.unique(np.asarray(image.convert("L")))) > 10, "an empty picture"


@pytest.mark.parametrize("name", DRAWINGS)
def test_svg(name):
    root = ElementTree.fromstring(print_figure(DRAWINGS[name]("light"), "svg"))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert float(root.get("width").removesuffix("pt")) > 200
    drawn = [part for part in root.iter() if part.tag.rpartition("}")[2] in ("path", "image", "use")]
    assert len(drawn) > 5
    links = [v for part in root.iter() for k, v in part.attrib.items() if k.endswith("href") and not v.startswith(("#", "data:"))]
    assert links == []


OUTSIDE = re.compile(rb"<(?:script|link|img|iframe)[^>]*?(?:src|href)\s*=\s*[\"']?(?:https?:)?//", re.I)


@pytest.mark.parametrize("name", ["rollout", "distance"])
@pytest.mark.parametrize("mode", ["light", "dark"])
def test_html_needs_nothing_from_outside(name, mode):
    page = print_figure(DRAWINGS[name](mode), "html", "Read & <weep>")
    assert page.lstrip().lower().startswith((b"<!doctype html", b"<html"))
    assert not OUTSIDE.search(page)
    assert b"Plotly.newPlot" in page and len(page) > 1_000_000, "plotly.js is inside"
    assert b"Read &amp; &lt;weep&gt;" in page and b"<weep>" not in page
    assert PAPER_COLOUR[mode].encode() in page


def test_the_pattern_would_find_an_outside_script():
    assert OUTSIDE.search(b'<script charset="utf-8" src="https://cdn.plot.ly/plotly.min.js"></script>')


def test_a_note_is_printed_below():
    without, noted = (Image.open(io.BytesIO(print_figure(DRAWINGS["distance"]("light"), "png", note))) for note in ("", "A note."))
    assert noted.height > without.height and noted.width == without.width
    assert b"A note." in print_figure(DRAWINGS["distance"]("light"), "html", "A note.")


def test_other_kinds_are_refused():
    with pytest.raises(ValueError, match="'png', 'svg' or 'html'"):
        print_figure(DRAWINGS["distance"]("light"), "pdf")


def test_everything_offered_is_there():
    assert {"print_figure", "attention_heads", "rollout", "attention_distance", "filters", "patches"} <= set(figures.__all__)
    assert all(callable(getattr(figures, name)) for name in figures.__all__)


def test_drawn_pictures_stand_below_their_difficulty_a_column_a_class():
    sheets = np.random.default_rng(0).integers(0, 256, (2, 3, 4, 16, 16, 3), dtype=np.uint8)
    fig = figures.synthetic_pictures(sheets, (0.0, 0.5), tuple("abcd"))
    assert [said.text for said in fig.labels] == ["difficulty 0", "difficulty 0.5"]
    cells = fig.marks
    assert [list(cell.text[0]) for cell in cells] == [list("abcd")] * 2 and len(cells[0].text) == 3
    tops = [said.y for said in fig.labels]
    for trace in cells:
        assert any(abs(trace.place[1] - top) < 1e-9 for top in tops), "right below its words"
