"""Experiments run once, go on after a kill with the same CSV, and say in one sentence what stops them."""

import errno
import json
import random
import shutil
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from tests.forked_python import ROOT, start
from tests.vitcore.experiments.conftest import SHORT, TINY
from vitcore.__main__ import main
from vitcore.experiments import results_csv, run_experiment
from vitcore.experiments.catalogue import EXPERIMENTS, judge_claims
from vitcore.experiments.experiment import LEARNING_RATE_SEED, ExperimentError
from vitcore.train import run_folder

KILLED_AFTER = random.Random(2010_11929).randint(2, 24)  # records of all runs together, of 36: the same every time


def quiet(line):
    """Nobody watches."""


def run(tiny, out: Path, **more) -> Path:
    return run_experiment.run_experiment(replace(tiny, seeds=more.pop("seeds", 2)), True, out, on_progress=quiet, **more)


def test_a_row_a_run_and_evaluation_below_what_made_them(tiny, tmp_path):
    file = run(tiny, tmp_path / "a")
    found = results_csv.read_results(file)
    assert [(r.cell, r.curve, r.x, r.seed, r.step, r.measure, r.run) for r in found.rows] == [
        (cell, "stem", x, seed, 6, measure, f"tiny-quick-{cell}-{seed}")
        for seed in (20, 21) for cell, x in (("none", "none"), ("after", "1-D")) for measure in ("test_top1", "top1")
    ]  # fmt: skip
    assert found.facts["command"] == "vitcore experiment tiny --quick" and found.facts["seeds"] == 2
    assert {"torch", "timm"} <= set(found.facts["versions"]) and found.facts["hardware"]["cores"]
    assert found.facts["overlap"] == pytest.approx(round(SHORT.test_share * 359) / 1438, abs=0.01), (
        "digits are the same for every seed"
    )
    assert judge_claims(tiny, found)[0][1].low > float("-inf")

    # the learning rate is the one that was best on validation pictures of another seed
    assert {(r.cell, r.curve, r.x, r.seed) for r in found.trials} == {
        (f"after-at-{rate}", "after", rate, LEARNING_RATE_SEED) for rate in ("0.001", "0.004")
    }
    rate = run_experiment.best_learning_rates(found.trials)["after"]
    right = {r.x: r.value for r in found.trials if r.measure == "top1"}
    assert right[f"{rate:g}"] == max(right.values())
    assert all(run_folder.read_recipe(run_folder.find_run(f"tiny-quick-after-{seed}")).lr_peak == rate for seed in (20, 21))
    assert run_folder.read_recipe(run_folder.find_run("tiny-quick-none-20")).lr_peak == SHORT.lr_peak

    # a cell that is run again gives its row again; what is finished is not run again
    gone, kept = found.rows[:2], found.rows[2:]
    results_csv.write_results(file, found.facts, [*found.trials, *kept])
    shutil.rmtree(run_folder.RUNS_FOLDER / gone[0].run)
    seen = []
    run(tiny, tmp_path / "a", run_tasks=lambda left: seen.extend(t.run for t in left) or run_experiment.run_tasks_in_process(left))
    assert seen == ["tiny-quick-none-20"]
    again = results_csv.read_results(file).rows
    assert [r[:6] for r in again] == [r[:6] for r in found.rows]
    assert [r.value for r in again] == pytest.approx([r.value for r in found.rows], abs=1e-6)
    run(tiny, tmp_path / "a", run_tasks=lambda left: seen.append(len(left)) or iter(()))
    assert seen[1:] == [0, 0]


@pytest.fixture(scope="module")
def once(tmp_path_factory) -> Path:
    """The folder of an experiment that has been run: `out/tiny.csv`, and its `runs`, which nobody changes."""
    folder = tmp_path_factory.mktemp("experiment")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_folder, "RUNS_FOLDER", folder / "runs")
        run(TINY, folder / "out")
    return folder


@pytest.fixture
def out(once, tiny, tmp_path, monkeypatch) -> Path:
    """The results' folder, to be changed, and the runs found."""
    monkeypatch.setattr(run_folder, "RUNS_FOLDER", once / "runs")
    return shutil.copytree(once / "out", tmp_path / "out")


def test_a_verdict_is_given_when_all_seeds_are_there_and_not_before(tiny, out):
    found = results_csv.read_results(out / "tiny.csv")
    before = results_csv.ExperimentResults(found.facts, tuple(row for row in found.rows if row.seed < 21), found.trials)
    (_, told), (_, early) = (*judge_claims(tiny, found), *judge_claims(tiny, before))
    assert told.open_reason != "seeds" and (early.verdict, early.open_reason) == ("open", "seeds")
    with pytest.raises(ExperimentError, match="other seeds"):
        run(tiny, out, seeds=3)


def test_killed_at_any_moment_it_ends_with_the_same_csv(tiny, tmp_path, monkeypatch):
    whole = run(tiny, tmp_path / "whole", seeds=1).read_bytes()
    broken = tmp_path / "broken"
    broken.mkdir()
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
        "from dataclasses import replace\nfrom pathlib import Path\nfrom tests.vitcore.experiments.conftest import TINY\n"
        "from vitcore.experiments import run_experiment\nfrom vitcore.train import run_folder\n"
        f"run_folder.RUNS_FOLDER = Path({str(broken / 'runs')!r})\n"
        f"run_experiment.run_experiment(replace(TINY, seeds=1), True, Path({str(broken)!r}))\n"
    )
    process = start("-c", code, cwd=broken)
    logged = lambda: sum(len(file.read_bytes().splitlines()) for file in broken.glob("runs/*/log.jsonl"))  # noqa: E731
    end = time.monotonic() + 60
    while logged() < KILLED_AFTER and process.poll() is None and time.monotonic() < end:
        time.sleep(0.01)
    assert process.poll() is None, process.communicate()[1]
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=30)
    monkeypatch.setattr(run_folder, "RUNS_FOLDER", broken / "runs")
    left = []
    run(tiny, broken, seeds=1, run_tasks=lambda tasks: left.extend(tasks) or run_experiment.run_tasks_in_process(tasks))
    assert 0 < len(left) and (broken / "tiny.csv").read_bytes() == whole


def said(capsys, *words: str) -> str:
    """What the shell says on the way out of a command that can't be done: one line."""
    assert main(["experiment", *map(str, words)]) == 2
    line = capsys.readouterr().err.strip().splitlines()[-1]  # after a line a cell that went well
    assert line.startswith("vitcore: ")
    return line


def test_what_can_not_be_run_is_said_in_one_sentence(tiny, tmp_path, capsys, monkeypatch):
    assert "no experiment 'nothing': positions, data" in said(capsys, "nothing", "--quick")
    assert "--quick has its own data" in said(capsys, "tiny", "--quick", "--data", "samples")
    (tmp_path / "photos" / "cats").mkdir(parents=True)
    for i in range(3):
        Image.new("RGB", (9, 9), (i, 0, 0)).save(tmp_path / "photos" / "cats" / f"{i}.png")
    assert "only one class (cats)" in said(capsys, "tiny", "--data", tmp_path / "photos", "--out", tmp_path)
    assert not run_folder.RUNS_FOLDER.exists(), "nothing was begun"
    other = tmp_path / "tiny.csv"
    other.write_text(f"# {json.dumps({'version': 99})}\ncell\n", encoding="utf-8")
    assert "version 99, and this vitcore reads version 2" in said(capsys, "tiny", "--quick", "--out", tmp_path)
    other.write_text("cell,curve\n1,2\n", encoding="utf-8")
    assert "no result of an experiment" in said(capsys, "tiny", "--quick", "--out", tmp_path)
    facts = run_experiment.csv_first_line_facts(tiny, True, "digits") | {"versions": {"torch": "0.1"}}
    results_csv.write_results(other, facts, [])
    assert "made with other versions" in said(capsys, "tiny", "--quick", "--out", tmp_path)
    assert main(["experiment"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in EXPERIMENTS)


def test_a_full_disk_loses_nothing(tiny, out, monkeypatch, capsys):
    file = out / "tiny.csv"
    found, write = results_csv.read_results(file), run_folder.write_file_atomically
    results_csv.write_results(file, found.facts, [*found.trials, *(row for row in found.rows if row.seed == 20)])
    before = file.read_bytes()

    def full(to, content, sync=True):
        if Path(to).suffix == ".csv":
            raise OSError(errno.ENOSPC, "No space left on device")
        write(to, content, sync)

    monkeypatch.setattr(run_folder, "write_file_atomically", full)
    line = said(capsys, "tiny", "--quick", "--out", out)
    assert "could not be written (No space left on device)" in line and file.read_bytes() == before
    monkeypatch.setattr(run_folder, "write_file_atomically", write)
    run(tiny, out)
    assert results_csv.read_results(file).seeds() == [20, 21]


def test_a_run_of_the_same_name_is_not_overwritten(tiny, tmp_path):
    run_experiment.train_task(run_experiment.training_tasks(tiny, True, "digits")[0])
    with pytest.raises(ExperimentError, match="of another recipe or other photos"):
        run_experiment.train_task(run_experiment.training_tasks(tiny, True, "samples")[0])


def test_results_of_pictures_drawn_otherwise_are_of_other_recipes(tiny, monkeypatch):
    from vitcore.train.data import synthetic_pixels

    data = "drawn:classes=4,px=16,photos=40"
    before = run_experiment.csv_first_line_facts(tiny, True, data)["recipes"]
    assert run_experiment.csv_first_line_facts(tiny, True, data)["recipes"] == before
    monkeypatch.setattr(synthetic_pixels, "RADIUS", synthetic_pixels.RADIUS * 1.1)
    assert run_experiment.csv_first_line_facts(tiny, True, data)["recipes"] != before
