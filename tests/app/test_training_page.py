"""The Train page: the form makes the recipe, what is wrong is said, a run is a process of its own, and runs are watched."""

import json
import shlex
import signal
import sys
from collections import Counter
from pathlib import Path
from typing import ClassVar

import pytest
from filelock import FileLock
from made_up_runs import a_run, give_model
from PIL import Image
from visitor import App

from app import texts
from app.state.training import run_status, training_processes
from app.views.train import recipe_form, run_panel
from vitcore.cli import commands
from vitcore.cli.training import train
from vitcore.train import run_folder
from vitcore.train.learning import training_cost
from vitcore.train.learning.training_cost import TrainingCost
from vitcore.train.presets import PRESETS
from vitcore.train.recipe import recipe_fields, with_changes
from vitcore.translation import say

WORDS = texts.prose("train", "en")
TINY = {"steps": 30, "batch": 8, "image_px": 32, "patch_px": 8, "width": 24, "blocks": 1}


class FakeProcess:
    """What `subprocess.Popen` was asked to start, and does not."""

    asked: ClassVar[list] = []
    pid = 2**22 + 1  # more than Linux gives

    def __init__(self, command, **options):
        self.asked.append((command, options))

    def wait(self):
        return 0


@pytest.fixture
def asked(monkeypatch) -> list:
    monkeypatch.setattr(FakeProcess, "asked", [])
    monkeypatch.setattr(training_processes, "Popen", FakeProcess)
    return FakeProcess.asked


def filled(app: App, preset: str = "image_folder_tiny", **values) -> App:
    return app.set(**{f"{preset}.{name}": value for name, value in values.items()}).fine()


def button(app: App, label: str):
    return next(b for b in app.at.button if b.label == label)


def test_a_model_that_cannot_be_built_is_said(monkeypatch):
    monkeypatch.setattr(training_cost, "params_and_forward_flop", lambda *_: 1 / 0)
    assert filled(App("train"), steps=317).sentences("error") == ["division by zero"]


def test_what_it_costs_is_measured_when_asked_and_again_if_that_failed(monkeypatch):
    measured, answers = [], [MemoryError("out of memory"), TrainingCost(1, 2.0, 0.5, 180.0)]

    def measure(recipe, classes):
        measured.append(classes)
        if isinstance(answer := answers.pop(0), Exception):
            raise answer
        return answer

    monkeypatch.setattr(training_cost, "training_cost", measure)
    app = filled(App("train"), steps=313)
    assert [m.label for m in app.at.metric] == ["Parameters", "MACs a step"] and not measured
    assert "out of memory" in app.press("Measure the time on this machine").text("caption")
    assert {m.label: m.value for m in app.run().fine().at.metric}["The whole run"] == "3 min"
    filled(app, steps=301)
    assert len(app.at.metric) == 2 and measured == [18, 18], "another recipe, another measurement"


# The form


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_has_a_control_for_every_field(preset):
    app = App("train", preset=preset).fine()
    assert {f"{preset}.{field.name}" for field in recipe_fields()} <= app.controls.keys()
    assert not app.at.error
    assert set(recipe_form.preset_description(preset)) >= {"what", "Command"}
    assert f"vitcore train {preset} --data samples" in app.component("command")["text"]


def test_the_form_makes_the_recipe_and_a_run_is_a_process_of_its_own(asked, tmp_path):
    changes = TINY | {"decay": "linear", "flip": False, "lr_peak": 5e-4, "rand_augment": "rand-m9-n2"}
    app = filled(App("train"), **changes).set(run_name="mine").press("Start training")
    run = run_folder.find_run("mine")
    assert run_folder.read_recipe(run) == with_changes(PRESETS["image_folder_tiny"](), changes)
    assert run_folder.read_source(run) == "samples"
    ((command, options),) = asked
    assert command == [sys.executable, "-m", "vitcore", "train", "--resume", "mine"]
    assert options["start_new_session"] and Path(options["cwd"]) == training_processes.VITCORE_ROOT
    assert options["env"]["VITCORE_RUNS"] == str(tmp_path / "runs")
    assert (run.path / "output.txt").exists()
    assert app.values()["run"] == "mine" and app.controls["run"].proto.query_param_key == "run"
    app.set(run="a new one").fine()
    assert app.at.dataframe[0].value["run"].tolist() == ["mine"]


def test_what_is_started_is_what_the_page_says_now_and_without_a_name_it_is_preset_and_time(asked):
    """The button is touched before the page has answered to what was typed last."""
    app = App("train").fine()
    app.at.get_by_key("image_folder_tiny.steps").set_value(31)
    app.press("Start training")
    name = app.values()["run"]
    assert name.startswith("image_folder_tiny-2") and len(asked) == 1
    assert run_folder.read_recipe(run_folder.find_run(name)).steps == 31
    app = App("train").fine()
    app.at.get_by_key("run_name").set_value("mine")
    assert app.press("Start training").values()["run"] == "mine"


@pytest.mark.parametrize(("preset", "changes"), [
    ("image_folder_tiny", {}), ("masked_patches", {"steps": 7, "flip": False, "compile": True, "lr_peak": 3e-4}),
    ("layer_by_layer", {"keep_patches": "0.5:0.9, 0.7:1"}), ("distillation", {"teacher": "", "task": "classify"}),
])  # fmt: skip
def test_the_command_makes_the_same_recipe(preset, changes):
    wanted = with_changes(PRESETS[preset](), changes)
    words = shlex.split(recipe_form.train_command(preset, wanted, "/my photos", "mine"))
    assert words[:4] == ["python", "-m", "vitcore", "train"]
    args = commands.command_parser().parse_args(words[3:])
    assert train._recipe(args) == wanted
    assert (args.data, args.id) == ("/my photos", "mine")


def test_every_kind_of_model_is_offered_where_it_can_learn(asked):
    """Its fields are in the recipe and in the command, it can be built, and what is typed for another kind stays there."""
    app = filled(App("train"), steps=7)
    plain = [metric.value for metric in app.at.metric]
    for kind in (kind for kind in recipe_form.KINDS if kind != recipe_form.PLAIN_VIT):
        app.set(kind=kind).fine()
        assert not app.at.error and [metric.value for metric in app.at.metric] != plain, kind
        args = commands.command_parser().parse_args(shlex.split(app.component("command")["text"])[3:])
        assert train._recipe(args) == with_changes(recipe_form.recipe_for_kind("image_folder_tiny", kind), {"steps": 7}), kind
    app.set(kind="hybrid").set(**{"image_folder_tiny.hybrid.patch_px": 8})
    assert "patches are 16 px apart" in app.sentences("error")[0]
    app.set(kind="plain").fine()
    assert not app.at.error and [metric.value for metric in app.at.metric] == plain
    app.set(kind="resnet", preset="masked_patches").fine()
    assert app.values()["kind"] == recipe_form.PLAIN_VIT and not app.at.error, "a ResNet guesses no hidden patches"
    assert set(app.controls["kind"].options) == {WORDS[f"kind {kind}"] for kind in ("plain", "none", "2d", "relative", "mean")}
    assert recipe_form.model_kind_fields("paper_pretraining", "hybrid") == {"resnet": "R50/16"}, "as the paper has it"


@pytest.mark.parametrize(("values", "said"), [
    ({"steps": 0}, "Steps is at least 1, not 0."), ({"heads": 5}, "can't be shared evenly among 5 heads"),
    ({"image_px": 60}, "is not a whole number of patches"), ({"task": "distil"}, "needs a teacher"),
    ({"momentum": 1.5}, "is a share, 0 to 1"),
], ids=str)  # fmt: skip
def test_what_is_out_of_range_is_said(values, said):
    app = filled(App("train"), **values)
    (sentence,) = app.sentences("error")
    assert said in sentence
    assert "Start training" not in [b.label for b in app.at.button]


# The photos


def test_a_folder_is_counted(tmp_path):
    for kind in ("cats", "dogs"):
        (tmp_path / "photos" / kind).mkdir(parents=True)
        for i in range(10):
            Image.new("RGB", (40, 40), (i, 0, 0)).save(tmp_path / "photos" / kind / f"{i}.png")
    app = App("train").set(photos_from="folder")
    assert "Name a folder" in app.sentences("warning")[0]
    assert button(app, "Start training").disabled
    app.set(photos_path=str(tmp_path / "photos")).fine()
    assert any("18 training photos, 2 held out. They have 2 classes." in said for said in app.sentences("caption"))
    assert not button(app, "Start training").disabled
    app.set(photos_path=str(tmp_path / "photos" / "cats"))
    assert "have no classes" in app.sentences("warning")[0], "classify needs them"
    assert not app.set(preset="masked_patches").at.warning, "masked patch prediction does not"
    assert "does not exist" in app.set(photos_path="/nowhere").sentences("warning")[0]


def test_a_link_opens_no_path_and_what_is_downloaded_is_left_for_the_run():
    app = App("train", photos_from="folder", photos_path="/etc").fine()
    assert app.values()["photos_from"] == "samples" and "photos_path" not in app.controls
    app.set(photos_from="folder")
    assert app.values()["photos_path"] == ""
    assert not any(app.controls[key].proto.query_param_key for key in ("photos_from", "photos_path"))
    assert "assume 10 classes" in app.set(photos_from="cifar10").fine().text("caption")
    app.set(photos_from="hub").set(photos_hub="owner/name").fine()
    assert "--data hf:owner/name" in app.component("command")["text"]


# Starting, stopping, going on


@pytest.mark.parametrize(("name", "said"), [("../up", "can't be a run's name"), ("taken", "There is a run 'taken' already")])
def test_a_name_that_cannot_be_had(name, said, asked):
    run_folder.create_run("taken", PRESETS["image_folder_tiny"](), "samples")
    app = App("train").set(run_name=name).press("Start training")
    assert said in app.sentences("error")[0]
    assert not asked and app.values()["run"] == "a new one"


def test_stop_asks_the_process_that_holds_the_run(monkeypatch):
    killed = []
    monkeypatch.setattr(training_processes.os, "kill", lambda pid, number: killed.append((pid, number)))
    run = a_run(state="running")
    word = json.loads((run.path / "status.json").read_text())
    (run.path / "status.json").write_text(json.dumps(word | {"pid": 12345}))
    training_processes.stop_run("demo")
    assert not killed, "nobody holds it, so whose number is that?"
    with FileLock(run.path / "lock"):
        app = App("train", run="demo").fine()
        app.press("Stop")
        assert killed == [(12345, signal.SIGTERM)]
        assert button(app, "Stop").disabled and run_status.run_status("demo").state == "stopping"
        (run.path / "status.json").write_text(json.dumps(word | {"pid": training_processes.os.getpid()}))
        training_processes.stop_run("demo")
        assert len(killed) == 1, "never this server itself"
    run_folder.write_status(run, "stopped", 40)
    assert run_status.run_status("demo").state == "stopped"


def test_resume_goes_on_or_says_what_went_wrong(asked, monkeypatch):
    a_run(state="stopped").checkpoint.mkdir()
    App("train", run="demo").press("Resume")
    assert asked[0][0][-2:] == ["--resume", "demo"]

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(training_processes, "Popen", full)
    app = App("train", run="demo").press("Resume")
    assert app.sentences("error") == ["The training could not be started: No space left on device."]


def test_a_run_is_deleted_after_a_question_unless_it_is_trained():
    for name in ("demo", "other"):
        a_run(name, state="running")
    with FileLock(run_folder.find_run("demo").path / "lock"):
        assert "is being trained" in training_processes.delete_run("demo")
    assert training_processes.delete_run("../demo") == training_processes.delete_run("nothing") == ""
    app = App("train", run="demo").press("Delete")
    assert "all its files" in app.text("markdown")
    app.press("Keep it")
    assert sorted(run_status.run_ids()) == ["demo", "other"]
    app.press("Delete").press("Delete it")
    assert run_status.run_ids() == ["other"] and [path.name for path in run_folder.RUNS_FOLDER.iterdir()] == ["other"]
    assert app.values()["run"] == run_panel.NEW_RUN


def test_the_last_step_is_read_from_the_end_of_the_log():
    run = a_run()
    with run.log.open("a") as log:
        log.write("".join(f'{{"step": {step}, "loss": 1}}\n' for step in range(41, 5000)) + '{"step": 50')
    assert run_status.last_logged_step(run) == 4999
    run.log.write_text("")
    assert run_status.last_logged_step(run) is None
    run.log.unlink()
    assert run_status.last_logged_step(run) is None


def test_a_process_that_could_not_speak_is_spoken_for():
    run = run_folder.create_run("mute", PRESETS["image_folder_tiny"](), "samples")
    (run.path / "output.txt").write_text("warming up\nvitcore: the recipe can't be read.\n")
    process = FakeProcess([])
    process.wait = lambda: 2
    training_processes._wait_for_process(process, run, 0.0)
    seen = run_status.run_status("mute")
    assert (seen.state, seen.message) == ("failed", "the recipe can't be read.")


# Watching


def test_a_finished_run_is_shown():
    give = a_run(problems=["a/b.jpg is damaged.", "c.jpg is not a picture."])
    app = App("train", run="demo").fine()
    told = {m.label: m.value for m in app.at.metric}
    assert told["Loss"] == "0.075" and told["Top-1, training photos"] == "50.0 %" and "Time left" not in told
    loss = app.component("watch_loss")
    assert loss["title"] == "Loss: 0.075 at step 40" and len(loss["traces"]) == 3
    assert app.component("watch_accuracy")["y"]["range"] == [0, 102]
    assert [e.label for e in app.at.expander] == ["2 photos were left out"]
    assert any("a/b.jpg is damaged." in said for said in app.sentences("caption"))
    links, frame = ([link.proto.label for link in one.at.get("page_link")] for one in (app, App("train").fine()))
    assert Counter(links) - Counter(frame) == Counter(["Watch it learn"]), "it has left no model"
    assert give.id in app.values()["run"]


def test_what_a_run_says_is_read_in_the_visitor_s_language_and_an_older_run_s_as_it_was_written():
    run = a_run(state="failed", message=say("run {id} is being trained by another process.", id="demo"),
                problems=[say("{name} is empty.", name="a.jpg"), "b.jpg is odd."])  # fmt: skip
    app = App("train", run="demo", lang="zh-CN").fine()
    assert app.sentences("error") == ["训练 demo 正由另一个进程进行。"]
    assert {"a.jpg 是空的。", "b.jpg is odd."} <= {said.replace("\\", "") for said in app.sentences("caption")}
    word = json.loads((run.path / "status.json").read_text())
    assert word["message"] == "run demo is being trained by another process."
    assert word["problems"] == ["a.jpg is empty.", "b.jpg is odd."]
    run_folder.write_file_atomically(run.path / "status.json", json.dumps({k: v for k, v in word.items() if k != "parts"}))
    assert (run_status.run_status("demo").message, run_status.run_status("demo").problems) == (
        word["message"],
        tuple(word["problems"]),
    )


def test_a_failed_run_says_why_and_one_that_cannot_be_read_too():
    run = a_run(state="failed", message="the loss is not a number at step 7: try a lower lr_peak")
    (run.path / "output.txt").write_text("step 6 loss 3\nstep 7 loss nan\n")
    app = App("train", run="demo").fine()
    assert "try a lower lr_peak" in app.sentences("error")[0]
    assert app.component("printed")["text"].splitlines()[-1] == "step 7 loss nan"
    assert "Resume" not in [b.label for b in app.at.button], "there is no checkpoint"
    (run.path / "recipe.json").write_text('{"version": 99}')
    assert "version 99" in app.run().fine().sentences("error")[0]


@pytest.mark.parametrize("name", ["../..", "/etc", "nobody", "…", ""])
def test_an_address_with_no_run_of_that_name_shows_the_form(name):
    app = App("train", run=name).fine()
    assert app.values()["run"] == "a new one" and run_status.find_run(name) is None


# The model it left


def test_its_model_is_in_the_menu_and_is_read_anew_when_it_has_changed(make_module):
    import os

    run = a_run()
    give_model(run, make_module(0))
    app = App("rollout", model="runs/demo").fine()
    assert not app.at.warning and len(app.component("gathered")["values"]) == 16
    assert any("trained here" in said and "40 steps" in said for said in app.sentences("caption"))
    before = app.component("gathered")["values"]
    os.utime(give_model(run, make_module(1)), ns=(1, 1))
    assert app.run().fine().component("gathered")["values"] != before
    run.path.rename(run.path.with_name("gone"))
    app.run().fine()
    assert "stays on Inside ViT" in app.sentences("warning")[0]
