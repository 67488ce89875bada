"""The recorded trainings that ship: they open, end at the model that ships, and show something come to be."""

from pathlib import Path

import numpy as np
import pytest

from vitcore.analysis.position_embeddings import correlation_with_distance, position_similarity
from vitcore.analysis.training_curves_and_masks import emerged_structure
from vitcore.models import load_model
from vitcore.models.model_cards import DEFAULT_MODEL
from vitcore.train import film_files
from vitcore.train.learning.masked_patches import MASKED, REPLACED, UNTOUCHED
from vitcore.train.presets import recipe_of_preset

RECORDINGS = Path(__file__).parents[2] / "assets" / "recordings"


def shipped_film(name: str):
    """A fixture: the film of this name."""
    return pytest.fixture(scope="module")(lambda: film_files.open_film(RECORDINGS / f"{name}.safetensors"))


film, masked, alone = map(shipped_film, (DEFAULT_MODEL, "masked-patches", "labels-alone"))


def test_they_are_small_and_the_film_ends_at_the_model_that_ships(film, shipped):
    assert repr(film) == f"<Film {film.title}: {len(film.steps)} frames of {len(film.photos)} photos; {', '.join(film.arrays)}>"
    assert sum(file.stat().st_size for file in RECORDINGS.iterdir()) <= 15e6
    np.testing.assert_allclose(film.array_at("kernel", -1), load_model.patch_kernel(shipped), atol=2e-3)
    np.testing.assert_allclose(film.array_at("positions", -1), load_model.position_embeddings(shipped), atol=2e-3)


def test_steps_rise_from_nothing(film, masked, alone):
    for one in (film, masked, alone):
        assert one.steps[0] == 0 and (np.diff(one.steps) > 0).all() and len(one.steps) >= 15
        assert len(one.photos) == len(one.names) >= 6
        assert one.log[-1]["step"] == one.steps[-1] and one.log[-1]["loss"] < 0.8 * one.log[0]["loss"]


def test_they_say_how_many_photos_they_were_measured_on(film, alone):
    """Every accuracy of the log is a whole number of that many photos."""
    for one in (film, alone):
        looked = [record for record in one.log if "top1" in record]
        assert len(looked) >= 10
        for record in looked:
            right = record["top1"] / 100 * record["val_photos"]
            assert right == pytest.approx(round(right), abs=1e-4), record
    assert film.accuracy().photos == 600


def test_it_comes_to_know_the_grid_to_look_near_and_to_name_what_it_sees(film):
    """At first every head looks about as far as uniform attention, and every one of 1000 classes is as likely as any other; at
    the end block 0 has near and far heads, a castle is a castle, and a dog some dog."""
    near = [correlation_with_distance(position_similarity(film.array_at("positions", i)), film.grid) for i in (0, -1)]
    assert abs(near[0]) < 0.1 and near[1] <= -0.5
    spread = np.ptp(film.arrays["distance_px"][:, 0], axis=1)
    assert spread[0] < 3 and spread[-1] > 25
    first, last = (np.mean([film.top(i, k)[0][1] for k in range(len(film.names))]) for i in (0, -1))
    assert first < 0.005 and last > 0.1
    assert "castle" in [label for label, _ in film.top(-1, film.names.index("castle"))]


def test_masked_colours_come_nearer_the_truth(masked):
    """Mean absolute error over patches that were hidden, in bytes: half of what it was, and better than the photo's mean."""
    fate, truth = masked.shared_arrays["fate"], masked.shared_arrays["truth"].astype(float)
    hidden = (fate == MASKED) | (fate == REPLACED)
    error = [np.abs(frame.astype(float) - truth)[hidden].mean() for frame in masked.arrays["predicted"]]
    seen = (truth * (fate == UNTOUCHED)[..., None]).sum(1, keepdims=True) / (fate == UNTOUCHED).sum(1)[:, None, None]
    flat = np.abs(np.broadcast_to(seen, truth.shape) - truth)[hidden].mean()
    assert error[-1] < 0.6 * error[0] and error[-1] < flat


def test_labels_alone_say_what_they_were_and_what_comes_by_itself(alone):
    """No teacher in its command; its card says photos, steps and accuracy; 24 frames and more. From labels alone: smooth
    filters and a sense of place; no head of layer 0 comes to look nearer than another."""
    assert alone.task == "classify" and len(alone.steps) >= 24
    assert alone.command.split()[3:5] == ["train", "labels_alone"] and "teacher" not in alone.command
    assert int(alone.steps[-1]) == recipe_of_preset("labels_alone").steps
    step, right, photos = alone.accuracy()
    assert step == alone.steps[-1] and right > 50, "ten kinds: one in ten by chance"
    assert photos == recipe_of_preset("labels_alone").evaluate_most and "Imagenette" in alone.data
    first, last = (emerged_structure(alone.arrays, i, alone.grid) for i in (0, -1))
    assert not (first.filters or first.positions or first.heads)
    assert last.filters and last.positions and not last.heads
