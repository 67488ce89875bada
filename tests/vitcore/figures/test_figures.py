"""Every figure, from real arrays: it has a title, it is light to send, it can be printed, in light and in dark."""

import base64
import io
import json
import re
from xml.etree import ElementTree

import numpy as np
import plotly.graph_objects as go
import pytest
from PIL import Image

from vitcore import figures
from vitcore.analysis.attention_distance import uniform_distance_px
from vitcore.analysis.filters import components_as_picture, principal_components
from vitcore.analysis.patches import split_patches
from vitcore.analysis.position_embeddings import position_similarity
from vitcore.figures.painters.png_and_svg import PAPER_COLOUR, print_figure
from vitcore.figures.theme import INK_COLOURS
from vitcore.forward.block_activations import patch_embeddings
from vitcore.forward.mask_outliers import outliers_in_recording
from vitcore.images import sharp_crop
from vitcore.models import load_model

NAMES = [
    "patches", "photos in patches", "one patch", "filters", "scree", "positions", "tile", "cosine map", "distance",
    "distance, renormalised", "heads", "heads of one scale", "rollout", "rollout as the paper draws it", "rollout of a patch",
    "predictions", "norm histogram", "norms by depth", "norm strip", "deletion", "insertion", "random weights", "ranking",
]  # fmt: skip
CURVES = [
    figures.MapCurve(key, key, [0, 0.5, 1], [0.9, y, 0.1], y)
    for key, y in (("rollout", 0.4), ("chefer", 0.2), ("middle", 0.5), ("chance", 0.6))
]


@pytest.fixture(scope="module")
def build(shipped, rec):
    """`build(name, mode)`: the figure of that name, of the shipped model and a photo."""
    grid, pixels = rec.grid, rec.model_input.pixels
    found, cosine = (
        principal_components(load_model.patch_kernel(shipped)),
        position_similarity(load_model.position_embeddings(shipped)),
    )
    large, maps = sharp_crop(rec.photo, rec.model_input), grid.to_map(rec.maps[11][:, 0].astype(np.float32))
    embeddings, far, high = patch_embeddings(shipped, pixels), uniform_distance_px(grid), outliers_in_recording(rec)
    makers = {
        "patches": lambda m: figures.patches(pixels, grid, mode=m),
        "photos in patches": lambda m: figures.photos_in_patches(pixels[None].repeat(5, 0), grid, tuple("abcde"), mode=m),
        "one patch": lambda m: figures.patch_and_embedding(split_patches(pixels, grid)[7], embeddings[7], grid, 7, m),
        "filters": lambda m: figures.filters(components_as_picture(found.vectors[:28]), found.variance, m),
        "scree": lambda m: figures.scree_plot(found.variance, 28, m),
        "positions": lambda m: figures.position_similarity(cosine, grid, m),
        "tile": lambda m: figures.position_similarity_tile(cosine, grid, 100, m),
        "cosine map": lambda m: figures.cosine_map(cosine[3] - cosine[4], grid, "Difference", m),
        "distance": lambda m: figures.attention_distance(rec.distance_px, grid, far, mode=m),
        "distance, renormalised": lambda m: figures.attention_distance(rec.distance_renormalised_px, grid, far, "renormalise",
        20, m),
        "heads": lambda m: figures.attention_heads(maps, grid, "Heads", m),
        "heads of one scale": lambda m: figures.attention_heads(maps, grid, "Heads", m, shared_scale=True),
        "rollout": lambda m: figures.rollout(rec.rollout(), large, grid, mode=m),
        "rollout as the paper draws it": lambda m: figures.rollout(rec.rollout(), large, grid, "paper", mode=m),
        "rollout of a patch": lambda m: figures.rollout(rec.rollout(40), large, grid, mode=m, query_patch=39),
        "predictions": lambda m: figures.predictions(rec.top_classes(), m),
        "norm histogram": lambda m: figures.norm_histogram(high, 9, ("class",), m),
        "norms by depth": lambda m: figures.norms_by_depth(high, ("class",), m, 9),
        "norm strip": lambda m: figures.norm_strip(high, large, grid, m),
        "deletion": lambda m: figures.deletion_chart(CURVES, "cat", "removed", mode=m),
        "insertion": lambda m: figures.deletion_chart(CURVES, "cat", "removed", True, m, narrow=True),
        "random weights": lambda m: figures.randomisation_chart(CURVES, ["none", "head", "all"], 0.5, m),
        "ranking": lambda m: figures.ranking_chart([[figures.MethodInterval("a", 0.2, 0.1, 0.3)]], ["removed"], 9, m),
    }  # fmt: skip
    kept = {}
    return lambda name, mode="light": kept.setdefault((name, mode), makers[name](mode))


NUMBERS_ONLY = {  # drawn from numbers, without a picture
    "scree", "distance", "distance, renormalised", "predictions", "norm histogram", "norms by depth",
    "deletion", "insertion", "random weights", "ranking",
}  # fmt: skip
PRINTED_DARK = ("distance", "rollout")  # dark is one set of colours for all: a drawing and a picture show it
each = pytest.mark.parametrize("name", NAMES)
each_mode = pytest.mark.parametrize("mode", ["light", "dark"])


def leaves(value):
    """Every array and number a figure is made of."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for item in value:
            yield from leaves(item)
    else:
        yield value


@each
def test_a_figure_is_of_its_mode_known_to_plotly_and_light_to_send(build, name):
    """Pages leave Plotly's check of every property out: it takes many times as long as drawing does."""
    shown = {mode: build(name, mode).to_plotly() for mode in ("light", "dark")}
    for mode, fig in shown.items():
        assert isinstance(fig, go.Figure) and len(fig.data) >= 1
        assert build(name, mode).title and build(name, mode).height_px >= 200
        assert fig.layout.title.font.color == INK_COLOURS[mode]["text"]
        assert fig.layout.paper_bgcolor == fig.layout.plot_bgcolor == "rgba(0,0,0,0)"
    light, dark = shown.values()
    assert [t.type for t in light.data] == [t.type for t in dark.data]
    text = light.to_json()
    assert light.layout.title.text == dark.layout.title.text and text != dark.to_json()
    go.Figure(light.to_dict())
    assert len(text) < 1_500_000
    json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no number a browser reads"))
    kinds = {leaf.dtype for leaf in leaves(light.to_plotly_json()) if isinstance(leaf, np.ndarray)}
    assert not kinds & {np.dtype(np.float16), np.dtype(object)}, "Plotly sends these as lists of text, several times heavier"
    assert not any(kind.itemsize > 4 and kind.kind == "f" for kind in kinds), f"64 bits are twice as heavy: {kinds}"


def test_pictures_are_inside_the_figure(build, subtests):
    for name in [name for name in NAMES if name not in NUMBERS_ONLY]:
        with subtests.test(name):
            pictures = [trace.source for trace in build(name).to_plotly().data if trace.type == "image"]
            assert pictures, "a figure without a picture belongs in NUMBERS_ONLY"
            for source in pictures:
                assert re.match("data:image/(png|jpeg);base64,", source)
                Image.open(io.BytesIO(base64.b64decode(source.split(",", 1)[1]))).verify()
    for name in NUMBERS_ONLY:
        with subtests.test(name):
            assert not build(name).rasters


# Printing


def corner(png):
    return "#{:02X}{:02X}{:02X}".format(*Image.open(io.BytesIO(png)).convert("RGB").getpixel((2, 2)))


@pytest.mark.parametrize(("name", "mode"), [*((name, "light") for name in NAMES), *((name, "dark") for name in PRINTED_DARK)])
def test_png(build, name, mode):
    png = print_figure(build(name, mode), "png")
    image = Image.open(io.BytesIO(png))
    image.load()
    assert image.format == "PNG" and min(image.size) > 300
    assert corner(png) == PAPER_COLOUR[mode]
    assert len(np.unique(np.asarray(image.convert("L")))) > 10, "an empty picture"


@each
def test_svg(build, name):
    root = ElementTree.fromstring(print_figure(build(name), "svg"))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert float(root.get("width").removesuffix("pt")) > 200
    drawn = [part for part in root.iter() if part.tag.rpartition("}")[2] in ("path", "image", "use")]
    assert len(drawn) > 5
    links = [v for part in root.iter() for k, v in part.attrib.items() if k.endswith("href") and not v.startswith(("#", "data:"))]
    assert links == []


OUTSIDE = re.compile(rb"<(?:script|link|img|iframe)[^>]*?(?:src|href)\s*=\s*[\"']?(?:https?:)?//", re.I)


@pytest.mark.parametrize("name", ["rollout", "distance"])
@each_mode
def test_html_needs_nothing_from_outside(build, name, mode):
    page = print_figure(build(name, mode), "html", "Read & <weep>")
    assert page.lstrip().lower().startswith((b"<!doctype html", b"<html"))
    assert not OUTSIDE.search(page)
    assert b"Plotly.newPlot" in page and len(page) > 1_000_000, "plotly.js is inside"
    assert b"Read &amp; &lt;weep&gt;" in page and b"<weep>" not in page
    assert PAPER_COLOUR[mode].encode() in page


def test_the_pattern_would_find_an_outside_script():
    assert OUTSIDE.search(b'<script charset="utf-8" src="https://cdn.plot.ly/plotly.min.js"></script>')


def test_a_note_is_printed_below(build):
    without, noted = (Image.open(io.BytesIO(print_figure(build("distance"), "png", note))) for note in ("", "A note."))
    assert noted.height > without.height and noted.width == without.width
    assert b"A note." in print_figure(build("distance"), "html", "A note.")


def test_other_kinds_are_refused(build):
    with pytest.raises(ValueError, match="'png', 'svg' or 'html'"):
        print_figure(build("distance"), "pdf")


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
