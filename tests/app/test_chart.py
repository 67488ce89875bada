"""The chart drawn in place takes every figure this package makes, and says all of it in plain JSON."""

import json

import numpy as np
import pytest

from app.components.chart.chart import chart_spec
from vitcore import figures
from vitcore.analysis import filters
from vitcore.figures.charts.training_figures import TrainingCurve
from vitcore.figures.theme_colours import DIVERGING, HEAT, gradient_stops

RNG = np.random.default_rng(0)


@pytest.fixture
def drawn(rec, shipped):
    grid = rec.grid
    basis = filters.principal_components(RNG.normal(size=(24, 3, 8, 8)))
    cosine = np.eye(grid.patches)
    return {
        "distance": figures.attention_distance(rec.distance_px, grid, 50.0),
        "rollout": figures.rollout(rec.rollout(), rec.model_input.pixels, grid),
        "filters": figures.filters(filters.components_as_picture(basis.vectors[:28]), basis.variance),
        "answer": figures.predictions(rec.top_classes()),
        "positions": figures.position_similarity(cosine, grid), "tile": figures.cosine_map(cosine[3], grid, "t"),
        "scree": figures.scree_plot(basis.variance, 5), "masked": figures.masked_photo(rec.model_input.pixels, grid, "t"),
        "curves": figures.training_curves([TrainingCurve("loss", np.arange(5), np.ones(5))], "t", "nats", at=3, log_steps=True),
        "heads": figures.attention_heads(rec.maps[0][:, 0, 1:].reshape(3, 16, 16), grid, "t"),
        "patches": figures.patches(rec.model_input.pixels, grid),
    }  # fmt: skip


def test_every_figure_can_be_told(drawn):
    for name, fig in drawn.items():
        spec = json.loads(json.dumps(chart_spec(fig)))
        assert spec["title"] and len(spec["traces"]) == len(fig.to_plotly().data), name
        assert len(spec["x"]["range"]) == len(spec["y"]["range"]) == 2, name


def test_numbers_are_those_of_the_figure_and_a_picture_covers_its_axes(drawn, rec):
    spec = chart_spec(drawn["distance"])
    dots = [t for t in spec["traces"] if t["kind"] == "points"]
    assert np.allclose([t["y"] for t in dots], rec.distance_px.T, atol=1e-4)
    assert spec["lines"][0]["across"] and spec["lines"][0]["y"] == [50.0, 50.0]
    bars = chart_spec(drawn["answer"])["traces"][0]
    assert np.allclose(bars["x"], [100 * p for _, p in rec.top_classes()], atol=1e-4)
    (image,) = (trace for trace in chart_spec(drawn["rollout"])["traces"] if trace["kind"] == "image")
    assert np.allclose([image["left"], image["top"], image["wide"], image["high"]], [0, 0, 16, 16])


def test_a_colour_bar_has_the_palette_the_ends_and_the_unit_of_its_figure(drawn):
    shown = {name: [t for t in chart_spec(drawn[name])["traces"] if t["kind"] == "scale"] for name in ("positions", "rollout")}
    for name, (scale,) in shown.items():
        palette = DIVERGING if name == "positions" else HEAT
        assert scale["colours"] == gradient_stops(palette, 16) and len(scale["colours"]) == 17
        marker = next(t.marker for t in drawn[name].to_plotly().data if t.type == "scatter" and t.marker.showscale)
        assert (scale["low"], scale["high"], scale["unit"]) == (marker.cmin, marker.cmax, marker.colorbar.title.text)
