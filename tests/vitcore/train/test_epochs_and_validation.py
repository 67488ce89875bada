"""`--epochs`, `--val-data` and the lines of `vitcore train`: steps from photos, photos to validate on by class, what is printed."""

import dataclasses
import json
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image
from safetensors.torch import load_file

from vitcore.__main__ import main
from vitcore.cli.training.train import LINE_EVERY_STEPS, progress_lines
from vitcore.train import run_folder
from vitcore.train.data.photo_sources import DataError, open_training_photos
from vitcore.train.evaluation.choose_split import open_split
from vitcore.train.recipe import Recipe
from vitcore.train.trainer import run_training

TINY = ["--image-px", "16", "--patch-px", "4", "--width", "24", "--blocks", "1", "--heads", "3", "--warmup-steps", "1",
        "--snapshots", "2"]  # fmt: skip
TRAIN = ["train", "image_folder_tiny", *TINY, "--batch", "8"]


def fill(folder, counts):
    for number, (name, count) in enumerate(counts.items()):
        (folder / name).mkdir(parents=True)
        for i in range(count):
            Image.new("RGB", (16, 16), (20 * i, 90 * number, 60)).save(folder / name / f"{i}.png")


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Photos of classes a, b and c, 20 of each, and others to validate on, of c and a alone."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(run_folder, "RUNS_FOLDER", tmp_path / "runs")
    fill(tmp_path / "photos", dict.fromkeys("abc", 20))
    fill(tmp_path / "others", {"a": 2, "c": 5})
    return tmp_path


@pytest.mark.parametrize(("epochs", "more", "steps"), [
    ("2", [], 14),  # 54 photos are trained on, a tenth is held out
    ("2", ["--val-data", "others"], 15), ("0.01", [], 1), ("4", ["--learn-most", "12"], 6),
])  # fmt: skip
def test_epochs_are_passes_over_the_photos_that_are_trained_on(home, epochs, more, steps):
    assert main([*TRAIN, "--data", "photos", "--id", "by-epochs", "--epochs", epochs, *more, "--quiet"]) == 0
    assert main([*TRAIN, "--data", "photos", "--id", "by-steps", "--steps", str(steps), *more, "--quiet"]) == 0
    one, other = (run_folder.find_run(name) for name in ("by-epochs", "by-steps"))
    assert run_folder.read_recipe(one) == run_folder.read_recipe(other) and run_folder.read_log(one)[-1]["step"] == steps
    assert [r["lr"] for r in run_folder.read_log(one)] == [r["lr"] for r in run_folder.read_log(other)]


def test_epochs_of_drawn_pictures_are_of_those_in_the_set(home):
    drawn = "drawn:classes=2,px=16,photos=24,validation=4"
    assert main([*TRAIN, "--data", drawn, "--id", "drawn", "--epochs", "1.5", "--quiet"]) == 0
    assert run_folder.read_recipe(run_folder.find_run("drawn")).steps == 5


@pytest.mark.parametrize(("more", "words"), [
    (["--epochs", "1", "--steps", "3"], "--epochs and --steps"), (["--epochs", "0"], "above 0, not 0"),
    (["--epochs", "nan"], "above 0, not nan"), (["--epochs", "inf"], "above 0, not inf"),
    (["--val-data", "strange"], "strange has a class that the training photos lack: fox"),
    (["--val-data", "photos"], "photos that are trained on"), (["--val-data", "photos/a"], "photos that are trained on"),
    (["--val-data", "flat"], "None of the 1 photo of flat can be tested"), (["--val-data", "nowhere"], "nowhere"),
])  # fmt: skip
def test_what_can_not_be_done_is_said_before_the_name_is_taken(home, capsys, more, words):
    fill(home / "strange", {"a": 1, "fox": 1})
    (home / "flat").mkdir()
    Image.new("RGB", (16, 16)).save(home / "flat" / "0.png")
    assert main([*TRAIN, "--data", "photos", "--id", "mine", *more]) == 2
    err = [line for line in capsys.readouterr().err.splitlines() if line.startswith("vitcore: ")]
    assert len(err) == 1 and words in err[0]
    assert not (home / "runs" / "mine").exists()


def test_a_run_that_goes_on_takes_no_other_data_or_recipe(home, capsys):
    for flags in (["--epochs", "2"], ["--val-data", "others"], ["--steps", "9"], ["--no-flip"]):
        assert main(["train", "--resume", "mine", *flags]) == 2
        assert f"leave out {'--flip' if flags == ['--no-flip'] else flags[0]}." in capsys.readouterr().err


def test_validation_photos_are_judged_whole_by_the_names_of_their_classes(home, capsys):
    train, judged = open_training_photos("photos", "others")
    assert len(train) == 60 and train.classes == judged.classes == ("a", "b", "c")
    assert judged.labels.tolist() == [{"a": 0, "c": 2}[file.parent.name] for file in judged.items]
    assert main([*TRAIN, "--data", "photos", "--val-data", "others", "--id", "mine", "--steps", "3", "--quiet"]) == 0
    last = run_folder.read_log(run_folder.find_run("mine"))[-1]
    assert last["val_photos"] == 7 and "top1" in last and "top5" not in last, "of three classes five are all"
    capsys.readouterr()
    assert main(["evaluate", "--model", "runs/mine", "--data", "photos", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["split"], found["photos"], found["outside_split"]) == ("validation", 7, 60) and "top5" not in found
    assert found["top1"] == pytest.approx(last["top1"], abs=0.01)
    assert main(["evaluate", "--model", "runs/mine", "--data", "others", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["top1"] == found["top1"]
    assert main(["few-shot", "--model", "runs/mine", "--data", "photos", "--shots", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["photos"] == 67, "60 to learn from, 7 asked about"
    assert [len(open_split("photos", split, "mine").photos) for split in ("train", "validation", "all")] == [60, 7, 60]


def test_own_validation_photos_come_first_and_those_of_the_data_stay_aside(home):
    fill(home / "both" / "train", {"a": 4, "b": 4})
    fill(home / "both" / "val", {"a": 1, "b": 2})
    assert [len(part) for part in open_training_photos("photos", "both")] == [60, 3]
    assert [len(part) for part in open_training_photos("both", "both")] == [8, 3]
    fill(home / "few", {"b": 3})
    train, judged = open_training_photos("both", "few")
    assert (len(train), judged.labels.tolist()) == (8, [1, 1, 1])
    with pytest.raises(DataError, match="photos that are trained on"):
        open_training_photos("both/train", "both/../both/train/a")


def test_validation_photos_are_none_of_the_training_s(home):
    """Digits are held out by the seed of the run; a Parquet file may be named in two ways, or among several."""
    train, judged = open_training_photos("digits", "digits", seed=1)
    learned, kept = ({pixels.tobytes() for pixels in part.items} for part in (train, judged))
    assert len(judged) and len(learned & kept) < len(kept) / 10, "few people write one digit alike"
    for name in ("one", "other"):
        pq.write_table(
            pa.table({"image": [{"bytes": (home / "others" / "a" / "0.png").read_bytes()}] * 4, "label": [0, 1, 0, 1]}),
            f"{name}.parquet",
        )
    (home / "both").mkdir()
    for name in ("train", "test"):
        shutil.copy("one.parquet", home / "both" / f"{name}.parquet")
    for source, same in (
        ("one.parquet", "./one.parquet"), ("one.parquet,other.parquet", "other.parquet"), ("both/test.parquet", "both"),
    ):  # fmt: skip
        with pytest.raises(DataError, match="photos that are trained on"):
            open_training_photos(source, same)
    for source, other in (("one.parquet", "other.parquet"), ("both", "both/test.parquet"), ("both", "both")):
        assert [len(part) for part in open_training_photos(source, other)] == [4, 4]
    drawn = "drawn:classes=2,px=16,photos=24,validation=4"
    assert [len(part) for part in open_training_photos(drawn, drawn.replace("validation=4", "validation=3"))] == [24, 3]


def test_a_run_that_goes_on_keeps_its_validation_photos(home, monkeypatch):
    """Stopped after a step and resumed: the same evaluations and weights as unbroken."""
    start = [*TRAIN, *"--data photos --val-data others --epochs 0.8 --evaluate-every-steps 2 --quiet --id".split()]
    assert main([*start, "whole"]) == 0
    save = run_training.evaluate_and_save

    def stop_at_three(run, folder, *judges):
        if run.step == 3:
            folder.stop_file.touch()
        return save(run, folder, *judges)

    with monkeypatch.context() as stopping:
        stopping.setattr(run_training, "evaluate_and_save", stop_at_three)
        assert main([*start, "broken"]) == 0
    whole, broken = (run_folder.find_run(name) for name in ("whole", "broken"))
    assert run_folder.read_log(broken)[-1]["step"] == 3
    assert main(["train", "--resume", "broken", "--quiet"]) == 0
    seen = lambda run: [{k: v for k, v in r.items() if k != "images_per_s"} for r in run_folder.read_log(run)]  # noqa: E731
    assert seen(whole) == seen(broken) and seen(whole)[-1]["val_photos"] == 7
    one, other = load_file(whole.model), load_file(broken.model)
    assert all(np.array_equal(value, other[name]) for name, value in one.items())


def test_samples_with_photos_of_their_own_to_validate_on_share_none(home):
    folders = [
        run_folder.create_run(name, Recipe(), "samples", validation=other) for name, other in (("one", ""), ("two", "others"))
    ]
    assert [run_folder.validates_on_training_photos(folder) for folder in folders] == [True, False]
    (folders[0].path / "source.json").write_text('{"data": "samples"}')  # as older runs have it
    assert run_folder.validates_on_training_photos(folders[0])


def lines_of(capsys):
    return [line for line in capsys.readouterr().err.splitlines() if line.startswith("step ")]


def test_a_line_every_few_steps_tells_how_it_goes(home, capsys):
    more = ["--steps", "23", "--evaluate-every-steps", "7"]
    assert main([*TRAIN, "--data", "photos", "--id", "loud", *more]) == 0
    told = lines_of(capsys)
    assert [line.split()[1] for line in told] == [f"{step}/23" for step in (1, 7, 10, 14, 20, 21, 23)]
    assert all(f" {word} " in line for line in told for word in ("loss", "lr", "images_per_s"))
    assert all(" left " in line for line in told[:-1]) and " left " not in told[-1]
    assert ["top1" in line for line in told] == [False, True, False, True, False, True, True]
    assert not any("top5" in line for line in told)
    assert main([*TRAIN, "--data", "photos", "--id", "silent", *more, "--quiet"]) == 0
    assert not lines_of(capsys) and run_folder.read_log(run_folder.find_run("silent"))[-1]["step"] == 23


def test_the_time_left_is_of_the_mean_speed_of_the_last_steps(capsys):
    show = progress_lines(dataclasses.replace(Recipe(), steps=1000, batch=10))
    for step in range(1, 2 * LINE_EVERY_STEPS + 1):
        show({"step": step, "loss": 1.0, "lr": 0.1, "images_per_s": 1.0 if step <= LINE_EVERY_STEPS else 100.0})
    assert lines_of(capsys)[-1] == "step 20/1000 loss 1 lr 0.1 images_per_s 100 left 2 min", "980 steps of 10 photos, 100 a second"


def test_a_run_all_of_warm_up_says_so(home, capsys):
    assert main([*TRAIN, "--data", "photos", "--id", "short", "--epochs", "0.2", "--warmup-steps", "5"]) == 0
    assert "All 2 steps are warm-up" in capsys.readouterr().err
    assert main([*TRAIN, "--data", "photos", "--id", "long", "--epochs", "1", "--warmup-steps", "5"]) == 0
    assert "warm-up" not in capsys.readouterr().err
