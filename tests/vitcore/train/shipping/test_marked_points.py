"""Marked points: a mirrored photo's are found where they went, and what ships is what the shipped model finds."""

import numpy as np
import pytest
from PIL import Image

from tests.shipping.marked_points import matched_by_layer, matched_csv, patch_of_point, read_points
from tests.vitcore.interventions.conftest import make_kind
from vitcore.assets import SAMPLES, asset_path
from vitcore.images import open_photo
from vitcore.tokens.marked_points import read_matched_csv

POINTS = read_points((asset_path("matches") / "points.csv").read_text(encoding="utf-8"))


def test_points_go_through_the_models_crop(shipped):
    wide = open_photo(Image.new("RGB", (400, 200)))
    middle = shipped.grid.middle
    assert patch_of_point(shipped, wide, 0.501, 0.501) == middle and patch_of_point(shipped, wide, 0.01, 0.5) is None


def test_the_same_photo_finds_every_point_and_noise_as_many_as_chance():
    vit, point = make_kind("registers"), {"a": (0.3, 0.4), "b": (0.6, 0.6)}
    pixels = np.random.default_rng(0).integers(0, 255, (80, 80, 3), np.uint8)
    photos = {"one": open_photo(pixels), "two": open_photo(pixels.copy())}
    found = matched_by_layer(vit, photos, {"one": point, "two": point}, ["residual", "keys"])
    assert len(found) == 2 * vit.blocks and {one.matched for one in found} == {1.0}
    assert {(one.pairs, one.points, one.same_place) for one in found} == {(1, 4, 1.0)}
    near = vit.grid.touching()[[patch_of_point(vit, photos["one"], *place) for place in point.values()]]
    assert found[0].by_chance == pytest.approx(near.mean())
    again = read_matched_csv(matched_csv(found, "made so"))
    assert [one[:4] for one in again] == [one[:4] for one in found] and again[0][4:] == pytest.approx(found[0][4:], abs=1e-4)
    with pytest.raises(ValueError, match="no two photos have a point in common"):
        matched_by_layer(vit, photos, {"one": {"a": (0.5, 0.5)}, "two": {"b": (0.5, 0.5)}})


def test_what_ships_is_what_the_shipped_model_finds(shipped):
    shipped_rows = read_matched_csv((asset_path("matches") / "matched.csv").read_text(encoding="utf-8"))
    photos = {name: open_photo(SAMPLES / f"{name}.jpg") for name in POINTS}
    found = matched_by_layer(shipped, photos, POINTS, ["keys"])
    assert found[0].pairs >= 20, "pairs of photos with a point in common"
    for one, row in zip(found, [row for row in shipped_rows if row.kind == "keys"], strict=True):
        assert row[:4] == one[:4] and row[4:] == pytest.approx(one[4:], abs=0.03)
