"""Frames and films: what is kept is what was there, steps are spaced by ratio, and a film survives its file."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from vitcore.models.checkpoint_inspection.saved_settings.class_names_file import imagenet_class_names
from vitcore.train import film_files
from vitcore.train.learning.masked_patches import UNTOUCHED
from vitcore.train.recipe import Recipe, with_changes
from vitcore.train.run_folder import RunError
from vitcore.train.trainer.run_training import run_training


@pytest.mark.parametrize(("steps", "count"), [(1000, 24), (30, 12), (3, 24), (1, 1), (10_000, 40)])
def test_steps_are_spaced_by_ratio(steps, count):
    found = sorted(film_files.film_snapshot_steps(Recipe(steps=steps, snapshots=count)))
    assert found[0] == 0 and found[-1] == steps and len(found) <= count + 1
    late = [b / a for a, b in itertools.pairwise(found) if a > 20]
    assert all(abs(r - late[0]) < 0.15 for r in late)


def test_none_when_none_are_wanted():
    assert film_files.film_snapshot_steps(with_changes(Recipe(), {"snapshots": 0})) == set()


def test_masked_frames_show_the_photos_own_colours(new_run):
    folder = new_run(task="masked", snapshots=3)
    run_training(folder, lambda record: None)
    film = film_files.film_of_run(folder.path)
    patches = film.photos.reshape(len(film.photos), 4, 4, 4, 4, 3).mean((2, 4)).reshape(len(film.photos), 16, 3)
    np.testing.assert_allclose(film.shared_arrays["truth"], patches, atol=1.01)
    assert film.arrays["predicted"].shape == (len(film.steps), len(film.photos), 16, 3)
    assert ((film.shared_arrays["fate"] != UNTOUCHED).sum(1) == 8).all()
    assert film.top(0, 0) == []


def test_a_film_survives_its_file(new_run, tmp_path):
    folder = new_run(snapshots=3)
    run_training(folder, lambda record: None)
    film = film_files.film_of_run(folder.path, "My film")
    film_files.save_film(film, tmp_path / "film.safetensors")
    found = film_files.open_film(tmp_path / "film.safetensors")
    assert (found.title, found.task, found.grid, found.names) == ("My film", "classify", film.grid, film.names)
    assert found.steps.tolist() == film.steps.tolist() and found.log == film.log
    for name, array in film.arrays.items():
        if name != "top_class":  # renumbered: only the classes that are shown are kept
            np.testing.assert_array_equal(found.arrays[name], array)
    for frame in range(len(film.steps)):
        for photo in range(len(film.names)):
            assert found.top(frame, photo) == film.top(frame, photo)
    assert found.imagenet == ()
    imagenet = replace(film, classes=imagenet_class_names(1000))
    for _ in range(2):  # the second time of what was saved
        film_files.save_film(imagenet, tmp_path / "film.safetensors")
        imagenet = film_files.open_film(tmp_path / "film.safetensors")
        assert [imagenet_class_names(1000)[i] for i in imagenet.imagenet] == [*imagenet.classes]


def test_strided_arrays_are_written_as_they_read(tmp_path):
    array = np.arange(24.0).reshape(2, 3, 4).transpose(2, 0, 1)
    from safetensors.numpy import load_file, save_file

    save_file(film_files.contiguous_arrays({"a": array}), tmp_path / "a.safetensors")
    np.testing.assert_array_equal(load_file(tmp_path / "a.safetensors")["a"], array)


def test_a_long_log_is_thinned_but_keeps_evaluations():
    log = [{"step": i, "loss": 1.0} | ({"val_loss": 5.0} if i == 7 else {}) for i in range(1000)]
    found = film_files.thin_training_log(log, 100)
    assert len(found) <= 102 and found[-1] == log[-1] and log[7] in found


def test_what_is_no_film_is_said(tmp_path, new_run):
    (tmp_path / "x.safetensors").write_bytes(b"nothing")
    with pytest.raises(RunError, match="can't be read"):
        film_files.open_film(tmp_path / "x.safetensors")
    with pytest.raises(RunError, match="can't be read yet"):
        film_files.film_of_run(new_run(snapshots=3).path)
