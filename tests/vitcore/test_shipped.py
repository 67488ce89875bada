"""The shipped model shows what the paper shows: positions know the grid, and the first block looks both near and far."""

import json
from pathlib import Path

import numpy as np
import pytest

import vitcore
from vitcore import zoo
from vitcore.analysis.positions import correlation_with_distance, similarity
from vitcore.cards import CARDS, DEFAULT

ROOT = Path(__file__).parent.parent.parent
SAMPLES = sorted((ROOT / "assets" / "samples").glob("*.jpg"))


@pytest.fixture(scope="module")
def card() -> dict:
    return json.loads((ROOT / "assets" / "models" / f"{DEFAULT}.json").read_text())


def test_near_positions_are_alike(shipped):
    assert correlation_with_distance(similarity(zoo.positions(shipped)), shipped.grid) <= -0.5


def test_the_first_block_has_heads_near_and_far(shipped):
    far = np.mean([vitcore.record(shipped, photo, fusions=()).distance_px[0] for photo in SAMPLES], 0)
    share = far / shipped.grid.image_px[1]
    assert share.min() < 0.2
    assert share.max() > 0.45


def test_it_is_small():
    assert (ROOT / "assets" / "models" / f"{DEFAULT}.safetensors").stat().st_size <= 12e6


def test_the_card_tells_what_was_measured_and_how(card, shipped):
    measured = card["trained"]["measured"]
    assert measured["position_correlation"] == pytest.approx(
        correlation_with_distance(similarity(zoo.positions(shipped)), shipped.grid), abs=2e-3
    )
    assert "python -m vitcore.train" in card["trained"]["commands"][0]
    assert card["card"]["licence"] == CARDS[0].licence == "Apache-2.0"
    assert card["card"]["params_m"] == CARDS[0].params_m
