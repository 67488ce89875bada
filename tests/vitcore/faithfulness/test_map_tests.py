"""Random weights, changed photos and outlines, worked out by hand; the tables that ship; the verb that makes them."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from tests.conftest import SAMPLES
from tests.vitcore.faithfulness.conftest import noise_for
from vitcore import figures, record
from vitcore.__main__ import main
from vitcore.assets import asset_path
from vitcore.cli.map_tests import run_tests
from vitcore.faithfulness import map_test_tables
from vitcore.faithfulness.covered_patches import logits_without_patches
from vitcore.faithfulness.deletion import DeletionCurve, deletion_curves, random_maps
from vitcore.faithfulness.map_test_results_as_charts import photo_deletion_chart
from vitcore.faithfulness.method_maps import CHANCE, MAPS, MIDDLE, NO_METHODS, map_title, maps_by_model
from vitcore.faithfulness.method_ranking import (
    PhotoDeletion,
    add_random_orders,
    photo_deletion,
    rank_methods,
    rank_of_method_sentence,
    ranking_sentence,
)
from vitcore.faithfulness.photo_masks import photos_with_masks
from vitcore.faithfulness.plausibility import (
    EVEN,
    bootstrap_interval,
    mask_agreement,
    mass_on_mask,
    pixel_auc,
    plausibility_scores,
    pointing_game,
)
from vitcore.faithfulness.stability import CHANGES, compress_as_jpeg, stability_test
from vitcore.faithfulness.weight_randomisation import mean_randomisation_tests, randomisation_tests, unchanged_maps_sentence
from vitcore.figures.charts.map_tests import PLAIN
from vitcore.images import PhotoError
from vitcore.models import load_model
from vitcore.tokens.segment_iou import read_segment_iou_csv

GRADIENT_METHODS = ("gradient_rollout", "chefer", "integrated_gradients", "grad_cam")


@pytest.fixture
def named(make_vit):
    return replace(make_vit(img_size=64), labels=tuple("abcdefghij"))


def test_each_set_of_patches_is_run_once_and_orders_by_chance_come_with_their_reverse(named):
    pixels, orders = np.asarray(noise_for(named)), random_maps(named, 4)
    assert (orders["chance 0"] == -orders["chance 1"]).all() and (orders["chance 0"] != orders["chance 2"]).any()
    heard = []
    curves = deletion_curves(
        named, noise_for(named), orders, steps=4, inputs="pixels", on_progress=lambda done, count: heard.append((done, count))
    )
    assert heard[-1] == (14, 14), "nothing, all, and three sets of two orders from each end"
    assert [done for done, _ in heard] == sorted(done for done, _ in heard)
    np.testing.assert_array_equal(curves["chance 0"].strongest_first, curves["chance 1"].weakest_first)
    assert sum(curve.gap for curve in curves.values()) == pytest.approx(0, abs=1e-12)
    one_by_one = [
        logits_without_patches(named, pixels, [np.argsort(-orders["chance 2"].ravel())[:k]], "removed") for k in (0, 16, 32)
    ]
    for found, answer in zip(curves["chance 2"].strongest_first, one_by_one, strict=False):
        logits = answer[0].astype(float)
        assert found == pytest.approx(np.exp(logits)[curves["chance 2"].target] / np.exp(logits).sum(), abs=1e-5)


@pytest.mark.parametrize("fill", ["removed", "mean"])
def test_random_orders_added_later_are_those_run_at_once(named, fill):
    rec, names = record(named, noise_for(named)), ("rollout", MIDDLE)
    at_once = photo_deletion(named, rec, names, fill=fill, steps=4, random_orders=6, target=2)
    later = add_random_orders(named, rec, photo_deletion(named, rec, names, fill=fill, steps=4, random_orders=0, target=2),
                              random_orders=6)  # fmt: skip
    assert later.places == at_once.places and later.ranked == at_once.ranked and set(later.places) == set(names)
    for name, curve in at_once.curves.items():
        np.testing.assert_allclose(later.curves[name].weakest_first, curve.weakest_first, atol=1e-6)
    with pytest.raises(ValueError, match="1 or more"):
        add_random_orders(named, rec, later, random_orders=0)


def test_gradient_maps_of_random_weights_are_other_maps_and_one_that_ignores_weights_is_called_so(make_vit):
    vit = replace(make_vit(img_size=64), labels=tuple("abcdefghij"))
    tests = [
        randomisation_tests(vit, maps_by_model(record(vit, noise_for(vit, seed)), (*GRADIENT_METHODS, MIDDLE), 3), seed)
        for seed in range(4)
    ]
    means = mean_randomisation_tests(tests)
    for name in GRADIENT_METHODS:
        assert abs(means[name].correlations[-1]) <= 0.2, name
        assert means[name].depends_on_weights
    assert (means[MIDDLE].correlations == 1).all() and not means[MIDDLE].depends_on_weights
    assert unchanged_maps_sentence(means) == "Unchanged by random weights (rank correlation of 0.5 or more): middle of the picture."


def test_changed_photos_lie_on_the_first_one_again(named):
    pixels = np.asarray(noise_for(named, 3))
    brightness = lambda seen: named.grid.to_map(named.grid.cut(seen).mean((1, 2, 3)))  # noqa: E731
    for name in ("shift", "mirror"):
        apply, moved, still = CHANGES[name]
        np.testing.assert_allclose(moved(brightness(apply(pixels, named.grid))), still(brightness(pixels)))
    assert 0 < np.abs(compress_as_jpeg(pixels, named.grid).astype(int) - pixels).mean() < 64
    test = stability_test(named, record(named, noise_for(named)))
    assert set(test.correlations) == set(MAPS) and test.target != test.other
    assert [test.correlations[name]["class"] for name in ("rollout", "class_attention")] == pytest.approx([1, 1])
    assert test.correlations["chefer"]["class"] < 0.999
    assert test.correlations[MIDDLE]["mirror"] == pytest.approx(1) and test.correlations[MIDDLE]["shift"] < 1
    assert set(test.probabilities) == {"photo", *CHANGES}


def test_agreement_with_a_mask_by_hand():
    mask = np.zeros((8, 8), bool)
    mask[:4, :4] = True  # the upper left of four patches
    heat = np.array([[3.0, 1.0], [0.0, -5.0]])
    assert mass_on_mask(heat, mask) == 0.75 and pointing_game(heat, mask) == 1 and pointing_game(-heat, mask) == 0
    assert pointing_game(np.ones((2, 2)), mask) == 0.25 == mass_on_mask(np.ones((2, 2)), mask) and np.isnan(
        mass_on_mask(-np.ones((2, 2)), mask)
    )
    counted = np.ones((8, 8), bool)
    counted[:4, 4:] = False
    assert mass_on_mask(heat, mask, counted) == 1
    fine = np.where(mask, 2.0, 1.0)
    assert pixel_auc(fine, mask) == 1 and pixel_auc(-fine, mask) == 0 and pixel_auc(np.ones((8, 8)), mask) == 0.5
    fine[0, 0] = 0  # one of 16 pixels of the object below all 48 others
    assert mask_agreement(fine, mask).auc == pytest.approx(15 / 16)
    low, high = bootstrap_interval(np.array([0.0, 1.0] * 50 + [np.nan]))
    assert low == pytest.approx(0.4, abs=0.03) and high == pytest.approx(0.6, abs=0.03)


def test_a_baseline_is_never_called_best(named):
    """The middle of the picture and chance orders win here; only methods have places, and the baseline that wins is named."""
    assert set(NO_METHODS) == {CHANCE, MIDDLE} == set(PLAIN), "a chart draws them apart"
    shares = np.array([0, 0.5, 1])
    fall = {MIDDLE: (0.9, 0.1), CHANCE: (0.8, 0.2), "rollout": (0.7, 0.3), "chefer": (0.6, 0.4)}
    results = [
        PhotoDeletion(photo=str(i), label="a", fill="mean", places={}, curves={
            name: DeletionCurve(shares=shares, strongest_first=np.array([1, low - i / 50, 0]), target=0, fill="mean",
                                weakest_first=np.array([1, high + i / 50, 0]))
            for name, (high, low) in fall.items()})
        for i in range(3)
    ]  # fmt: skip
    assert [one.best for one in results] == ["rollout"] * 3 and results[0].ranked[:2] == [MIDDLE, CHANCE]
    scores = rank_methods(results)
    said = ranking_sentence(scores, "mean")
    assert said.startswith("Best over 3 photos (patches in the mean colour): rollout.")
    assert said.endswith("middle of the picture is not significantly worse.")
    assert rank_of_method_sentence(scores, "chefer").startswith("Chefer's relevance ranks 2 of 2") and not rank_of_method_sentence(
        scores, MIDDLE
    )
    for insertion in (False, True):
        names = [label.text for label in photo_deletion_chart(results[0], insertion).labels]
        assert [map_title("rollout") in name for name in names if "<b>" in name] == [True]
    (found,) = photo_deletion(named, record(named, noise_for(named)), (MIDDLE,), steps=2, random_orders=0).curves
    assert found == MIDDLE and ranking_sentence([scores[0]], "mean").startswith("Only middle of the picture was tested")


def test_tables_come_back_as_they_went(named):
    rec, names = record(named, noise_for(named)), ("rollout", "chefer")
    one = photo_deletion(named, rec, names, steps=4, random_orders=4)
    text = map_test_tables.deletion_csv([one], "vitcore test x")
    (back,) = map_test_tables.read_deletion_csv(text)
    assert (
        map_test_tables.command_of_table(text) == "vitcore test x"
        and back.places == pytest.approx(dict(one.places))
        and back.ranked == one.ranked
    )
    assert back.curves["chefer"].gap == pytest.approx(one.curves["chefer"].gap, abs=1e-3)
    tests = {"x": randomisation_tests(named, maps_by_model(rec, names, 0))}
    again = map_test_tables.read_randomisation_csv(map_test_tables.randomisation_csv(tests, ""))["x"]["chefer"]
    np.testing.assert_allclose(again.correlations, tests["x"]["chefer"].correlations, atol=1e-4)
    assert again.parts == tests["x"]["chefer"].parts
    stable = stability_test(named, rec, names)
    back = map_test_tables.read_stability_csv(map_test_tables.stability_csv({"x": stable}, ""))["x"]
    assert (back.target, back.other) == (stable.target, stable.other)
    assert back.probabilities == pytest.approx(dict(stable.probabilities), abs=1e-4)
    for name in names:
        assert back.correlations[name] == pytest.approx(stable.correlations[name], abs=1e-4)


@pytest.fixture
def masked_photos(tmp_path):
    """Two photos whose object is their left half, in folders of files named alike."""
    for name in ("images", "masks"):
        (tmp_path / name).mkdir()
    for i in range(2):
        Image.fromarray(np.random.default_rng(i).integers(0, 256, (64, 64, 3), np.uint8)).save(tmp_path / f"images/{i}.png")
        Image.fromarray(np.uint8([[255] * 32 + [0] * 32] * 64)).save(tmp_path / f"masks/{i}.png")
    return tmp_path


def test_plausibility_of_photos_with_masks(named, masked_photos):
    scores = {one.name: one for one in plausibility_scores(named, photos_with_masks(masked_photos), ("rollout", MIDDLE))}
    assert scores[EVEN].values.tolist() == [[0.5, 0.5, 0.5]] * 2
    assert scores[MIDDLE].mean("auc") == pytest.approx(0.5, abs=0.01) == scores[MIDDLE].mean("mass")
    low, high = scores["rollout"].interval("auc")
    assert low <= scores["rollout"].mean("auc") <= high
    (masked_photos / "masks/1.png").unlink()
    with pytest.raises(PhotoError, match="has no mask in masks"):
        photos_with_masks(masked_photos)
    with pytest.raises(PhotoError, match="has neither manifest"):
        photos_with_masks(masked_photos / "images")


def test_the_verb_writes_tables_that_say_the_same_as_its_json(named, masked_photos, monkeypatch, capsys):
    monkeypatch.setattr(load_model, "load", lambda *_, **__: named)
    monkeypatch.setattr(figures, "print_figure", lambda fig, kind: fig.title.encode())  # which files there are is asked
    argv = ["test", masked_photos / "images", "--masks", masked_photos, "--methods", "rollout,chefer,middle", "--orders", "4",
            "--fill", "removed,mean", "--csv", masked_photos / "out", "--out", masked_photos / "out", "--json"]  # fmt: skip
    assert main([str(one) for one in argv]) == 0
    found = json.loads(capsys.readouterr().out)
    table = map_test_tables.read_deletion_csv((masked_photos / "out/deletion.csv").read_text())
    assert [(one.photo, one.fill) for one in table] == [(one["photo"], one["fill"]) for one in found["deletion"]]
    assert found["ranking"]["mean"]["sentence"].startswith("Best over 2 photos (patches in the mean colour)")
    assert found["weights"]["0.png"]["middle"]["depends_on_weights"] is False
    assert found["stability"]["1.png"]["correlations"]["rollout"]["class"] == pytest.approx(1)
    assert {row["method"] for row in found["plausibility"]} == {"rollout", "chefer", "middle", "even"}
    ious = read_segment_iou_csv((masked_photos / "out/segments.csv").read_text())
    assert [row.iou for row in ious] == pytest.approx([row["iou"] for row in found["segments"]], abs=1e-4) and len(ious) == 5
    assert {file.name for file in (masked_photos / "out").iterdir()} >= {"ranking.png", "weights.png", "0-mean-insertion.png",
           "plausibility.csv", "stability.csv", "weights.csv"}  # fmt: skip
    masks = ["test", "--masks", str(masked_photos), "--json", "--methods", "rollout", "--tests"]
    assert main([*masks, "plausibility"]) == 0 and "segments" not in json.loads(capsys.readouterr().out)
    assert main([*masks, "segments"]) == 0 and "plausibility" not in json.loads(capsys.readouterr().out)
    assert main([*masks, "deletion"]) == 2 and "name one of plausibility, segments in --tests" in capsys.readouterr().err
    assert main(["test", str(masked_photos / "images/0.png"), "--tests", "deletion", "--methods", "middle,rollout"]) == 0
    said = capsys.readouterr().out
    assert "mean IoU" not in said and "Best on one photo (patches removed)" in said and "middle of the picture" in said
    for wrong in (["--fill", "red"], ["--tests", "x"]):
        with pytest.raises(SystemExit):
            main(["test", "x.jpg", *wrong])
    assert main(["test"]) == 2 and "name a photo" in capsys.readouterr().err


def test_the_verb_goes_on_where_it_was_stopped(named, masked_photos, monkeypatch, capsys):
    monkeypatch.setattr(load_model, "load", lambda *_, **__: named)
    photos, out, recorded = masked_photos / "images", masked_photos / "out", []
    argv = ["test", str(photos), "--methods", "rollout,middle", "--orders", "2", "--csv", str(out)]
    monkeypatch.setattr(run_tests, "record_photo", lambda vit, file: recorded.append(file.name) or record(vit, file))
    assert main(argv) == 0 and recorded == ["0.png", "1.png"]
    whole = {file.name: file.read_text() for file in out.iterdir()}
    kept = [line for line in whole["stability.csv"].splitlines(keepends=True) if not line.startswith("1.png")]
    (out / "stability.csv").write_text("".join(kept))  # it was stopped between two tables of the last photo
    recorded.clear()
    assert main([*argv, "--resume"]) == 0 and recorded == ["1.png"]
    assert {file.name: file.read_text() for file in out.iterdir()} == whole
    recorded.clear()
    capsys.readouterr()
    assert main([*argv, "--resume", "--json"]) == 0 and not recorded
    found = json.loads(capsys.readouterr().out)
    assert len(found["deletion"]) == len(found["weights"]) == len(found["stability"]) == 2
    assert found["stability"]["1.png"]["class"] in named.labels
    assert main([*argv, "--resume", "--seed", "1"]) == 2 and "another command" in capsys.readouterr().err
    for old in (whole["stability.csv"].replace("probability_", "p_"), whole["stability.csv"].rpartition(",")[0]):
        (out / "stability.csv").write_text(old)  # of an older version, and cut off
        assert main([*argv, "--resume"]) == 2 and "stability.csv has other columns" in capsys.readouterr().err
    (out / "stability.csv").write_text(whole["stability.csv"])
    assert main([*argv[:-2], "--resume"]) == 2 and "--csv FOLDER" in capsys.readouterr().err
    assert main(["test", str(photos), str(photos / "0.png"), "--methods", "middle", "--tests", "weights", "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)["weights"]) == ["0.png", "1.png", "0.png-2"], "photos named alike"


def test_the_tables_that_ship_are_this_model_s(shipped):
    """One photo's curves are computed anew; the ranking's sentence is made of the table."""
    table = map_test_tables.read_deletion_csv((asset_path("maps") / "deletion.csv").read_text(encoding="utf-8"))
    by_fill = {fill: [one for one in table if one.fill == fill] for fill in {one.fill for one in table}}
    assert set(by_fill) == {"removed", "mean", "blur"}
    gallery = {file.name for file in SAMPLES.glob("*.jpg")}
    assert all({one.photo for one in some} == gallery for some in by_fill.values())
    assert all(one.places.keys() == set(MAPS) and set(one.curves) == {*MAPS, CHANCE} for one in table)
    kept = next(one for one in by_fill["removed"] if one.photo == "cat.jpg")
    anew = photo_deletion(shipped, record(shipped, SAMPLES / "cat.jpg"), ("rollout", "chefer"), random_orders=0)
    for name, curve in anew.curves.items():
        np.testing.assert_allclose(kept.curves[name].strongest_first, curve.strongest_first, atol=0.02)
        assert kept.curves[name].gap == pytest.approx(curve.gap, abs=0.01)
    scores = rank_methods(by_fill["removed"])
    assert ranking_sentence(scores, "removed").startswith(f"Best over {len(gallery)} photos (patches removed): ")
    methods = [score.name for score in scores if score.name != MIDDLE]
    assert f" ranks 3 of {len(methods)}, with " in rank_of_method_sentence(scores, methods[2])
    with (asset_path("maps") / "plausibility.csv").open(encoding="utf-8") as file:
        made_by = next(file)
        rows = {row["method"]: row for row in csv.DictReader(file)}
    assert made_by.startswith("# vitcore test --masks ") and set(rows) == {*MAPS, EVEN}
    assert float(rows[EVEN]["auc"]) == 0.5
