"""Watch it learn: every snapshot of a film on scales that stay, played, followed while it grows, and said when there is none."""

import json
import re

import pytest
from filelock import FileLock
from made_up_runs import STEPS, a_run, add_frame
from visitor import MAIN, App

import vitcore
from app import texts
from app.state.training import films, run_status
from app.views.learn import film_player
from vitcore.train import film_files, run_folder

SHIPPED = films.RECORDINGS
AROUND = {"lang": "en", "lecture": False}  # the controls of every page


@pytest.fixture(autouse=True)
def no_recordings(monkeypatch, tmp_path):
    monkeypatch.setattr(films, "RECORDINGS", tmp_path / "recordings")


def pictures(app: App) -> list[str]:
    """The charts there are, by name."""
    return [c.proto.id.rpartition("-film_")[2] for c in app.at.get("bidi_component") if "-film_" in c.proto.id]


def test_without_a_film_there_is_a_way_to_make_one():
    app = App("learn").fine()
    assert "There is no film yet" in app.sentences("info")[0]
    assert "Train a model" in [link.proto.label for link in app.at.get("page_link")]


def test_every_snapshot_is_shown_on_scales_that_stay():
    a_run()
    app = App("learn").fine()
    assert app.values() == {"film": "runs/demo", "scene": "cat", "frame": 0} | AROUND, "it opens at the beginning"
    assert pictures(app) == ["rollout", "answer", "filters", "last_block", "positions", "distance", "loss", "accuracy"]
    first = {name: app.component(f"film_{name}") for name in pictures(app)}
    app.set(frame=40).fine()
    last = {name: app.component(f"film_{name}") for name in pictures(app)}
    assert first["distance"]["y"]["range"] == last["distance"]["y"]["range"]
    assert first["distance"]["traces"] != last["distance"]["traces"]
    for name in ("rollout", "last_block"):
        scales = [next(t for t in spec["traces"] if t["kind"] == "scale") for spec in (first[name], last[name])]
        assert scales[0] == scales[1] and scales[0]["low"] == 0
    assert (first["loss"]["lines"][-1]["x"], last["loss"]["lines"][-1]["x"]) == ([0.7, 0.7], [40, 40])
    assert first["loss"]["traces"] == last["loss"]["traces"]
    assert [n["parts"][0].strip() for n in first["answer"]["notes"]] == ["Macaw", "Cat", "Crab"]
    app.set(scene="macaw", frame=0).fine()
    assert [n["parts"][0].strip() for n in app.component("film_answer")["notes"]] == ["Crab", "Macaw", "Cat"]


def test_every_setting_is_in_the_address():
    a_run()
    app = App("learn", film="runs/demo", frame="3", scene="macaw").fine()
    assert app.values() == {"film": "runs/demo", "scene": "macaw", "frame": 3} | AROUND
    bound = {key: control for key, control in app.controls.items() if key != "lang"}  # which writes its own
    assert all(control.proto.query_param_key == key for key, control in bound.items())


NONSENSE = [{"frame": "7"}, {"frame": "x"}, {"film": "runs/../.."}, {"film": "/etc/passwd"}, {"scene": ""}]


@pytest.mark.parametrize("address", NONSENSE, ids=str)
def test_a_nonsense_address_falls_back(address):
    a_run()
    app = App("learn", **address).fine()
    assert app.values()["film"] == "runs/demo" and app.values()["frame"] in STEPS and len(pictures(app)) == 8


def test_what_was_masked_what_is_predicted_and_what_was_there():
    a_run(task="masked")
    app = App("learn", frame="40").fine()
    assert pictures(app)[:3] == ["given", "predicted", "truth"] and "answer" not in pictures(app)
    given, predicted = app.component("film_given"), app.component("film_predicted")
    assert given["title"] == "Input of the model: 75 % corrupted"
    assert re.fullmatch(r"Prediction of the model: off by \d+ of 255", predicted["title"])
    assert len({app.component(f"film_{n}")["traces"][0]["source"] for n in ("given", "predicted", "truth")}) == 3
    app.set(frame=0).fine()
    assert app.component("film_given") == given and app.component("film_predicted") != predicted
    assert app.component("film_accuracy")["title"] == "Accuracy: 12 % at step 10 (colours)"


@pytest.mark.parametrize("begins", [STEPS[0], STEPS[-1]])
def test_it_plays_to_its_end_and_stops(monkeypatch, begins):
    monkeypatch.setattr(film_player, "FRAME_S", 0)
    a_run()
    app = App("learn", frame=str(begins)).fine()
    next(b for b in app.at.button if b.key == "play").click()
    seen = []
    for _ in range(8):
        app.run().fine()
        seen.append(app.values()["frame"])
        if app.at.get_by_key("play").label == "Play":
            break
    assert seen == [*STEPS[1:], STEPS[-1]], "from the beginning; at its end it waits for the page's answer"
    assert app.run().values()["frame"] == 40


def test_a_page_that_is_behind_does_not_turn_the_film_back(monkeypatch):
    """On a busy machine the page asks for the next snapshot before it has got the one that was sent."""
    monkeypatch.setattr(film_player, "FRAME_S", 0)
    a_run()
    app = App("learn", frame="0").fine()
    assert app.press("play").values()["frame"] == 1 and app.run().values()["frame"] == 3
    assert app.set(frame=1).values()["frame"] == 10, "not the visitor's choice: it was sent, and not answered yet"
    assert app.set(frame=3).values()["frame"] == 40
    for late in (3, 10):
        app.set(frame=late).fine()
        assert app.values()["frame"] == 40 and app.at.get_by_key("play").label == "Pause", "it has not shown the last yet"
    shown = app.component("film_rollout")
    assert app.run().fine().at.get_by_key("play").label == "Play" and app.component("film_rollout") == shown
    assert app.set(frame=10).fine().values()["frame"] == 10, "the visitor's choice"


def test_it_can_be_paused_and_who_moves_the_slider_while_it_plays_is_followed(monkeypatch):
    monkeypatch.setattr(film_player, "FRAME_S", 0)
    a_run()
    app = App("learn", frame="0").fine()
    for expected in ("Pause", "Play"):
        assert app.press("play").at.get_by_key("play").label == expected
    assert app.values()["frame"] == app.run().values()["frame"] == 1
    app = App("learn", frame="0").fine().press("play")
    assert app.values()["frame"] == 1
    assert app.set(frame=10).values()["frame"] == 40


def test_a_run_that_is_being_trained_is_followed():
    run = a_run(state="running", steps=(0, 1, 3))
    with FileLock(run.path / "lock"):
        app = App("learn").fine()
        assert app.values()["frame"] == 3
        add_frame(run, 10)
        assert app.run().values()["frame"] == 10
        app.set(frame=1)
        add_frame(run, 40)
        assert app.run().fine().values()["frame"] == 1, "who looks back is left there"
        assert app.controls["frame"].options == ["0", "1", "3", "10", "40"]


def test_the_first_snapshot_of_a_run_and_another_film_opens_at_its_beginning():
    a_run("new", steps=(0,))
    app = App("learn").fine()
    assert "frame" not in app.controls and len(pictures(app)) == 6 and app.at.get_by_key("play").disabled
    a_run("long")
    a_run("short", steps=(0, 1, 3))
    app = App("learn", film="runs/long", frame="10").fine()
    assert app.set(film="runs/short").fine().values()["frame"] == 0


def test_recordings_that_ship_come_first_and_by_their_title(tmp_path):
    a_run()
    film = film_files.film_of_run(run_folder.find_run("demo").path)
    film_files.save_film(film, films.RECORDINGS / "shipped.safetensors")
    text = (films.RECORDINGS / "shipped.json").read_text().replace('"title": "demo"', '"title": "How it began"')
    (films.RECORDINGS / "shipped.json").write_text(text)
    app = App("learn").fine()
    assert app.controls["film"].options == ["How it began", "runs/demo"] and app.values()["film"] == "shipped"
    assert len(pictures(app)) == 8


def test_the_film_and_the_card_say_that_they_are_two_measurements(monkeypatch):
    """Each names its photos, how many there were, and the other's number."""
    monkeypatch.setattr(films, "RECORDINGS", SHIPPED)
    app = App("learn").fine()
    (said,) = [said for said in app.sentences("caption") if "was trained on" in said]
    assert "is 62.3 % on 600 held-out photos, with 1,000 classes to choose from (step 3,110)." in said
    assert "The model card says 60.8 %, on 1,328 validation photos." in said
    told = [*app.sentences("markdown"), *app.sentences("caption")]
    assert any("points were measured on 600 held-out photos." in said for said in told)
    said = " ".join(app.set(film="labels-alone").fine().sentences("caption"))
    assert "is 66.2 % on 1,000 held-out photos, with 10 classes to choose from" in said and "model card says" not in said
    said = " ".join(App("card").fine().sentences("markdown"))
    assert "| Inside ViT Ti/8 · 128 px | Imagenette, Imagewoof (1,328) | 60.8 % | 84.2 % |" in said
    assert "from Imagenette and Imagewoof" in said and "validation photos of Tiny ImageNet" in said
    assert "accuracy is lower by 27 percentage points for the model and by 25 for the teacher." in said
    assert "ends at an accuracy of 62.3 %. This accuracy is another measurement" in said
    assert "during training on 600 validation photos" in said
    assert "with the weights of step 3,110" in said


@pytest.mark.parametrize("broken", ["still.json", "still.safetensors", "0000040.safetensors"])
def test_a_damaged_film_is_said(broken):
    run = a_run()
    (run.frames / broken).write_bytes(b"\x00" * 9)
    app = App("learn").fine()
    assert "can't be read yet" in app.sentences("error")[0] and not pictures(app)


def test_prose_has_every_word_the_pages_ask_for():
    asked = {"train": ("page.py", "recipe_form.py", "run_panel.py"), "learn": ("page.py", "film_player.py", "film_sentences.py")}
    for page, sources in asked.items():
        words = {w for file in sources for w in re.findall(r'text\["([^"]+)"\]', (MAIN.parent / "views" / page / file).read_text())}
        assert words <= texts.prose(page).keys()
    pictures = {*film_player.FIGURES}
    assert pictures | {f"{one} alt" for one in (*pictures, "loss", "accuracy", "rate")} <= texts.prose("learn").keys()


def test_a_training_of_ones_own_is_followed_and_left_alone(make_module, noise, monkeypatch):
    from app.state.training import training_processes

    killed = []
    monkeypatch.setattr(training_processes.os, "kill", lambda *asked: killed.append(asked))
    with vitcore.film("mine", [noise()]) as film:
        film.frame(make_module(), 0, loss=2.0)
        told = json.dumps(run_folder.read_status_and_check_alive(film.folder) | {"pid": 12345})
        run_folder.write_file_atomically(film.folder.path / "status.json", told)
        app = App("learn", film="runs/mine").fine()
        assert "Code outside the app ran this training" in app.text("caption")
        assert pictures(app) == ["rollout", "answer", "filters", "last_block", "positions", "distance", "loss"]
        film.frame(make_module(seed=1), 70, last=True, loss=1.0)
        assert app.run().fine().values()["frame"] == 70
        panel = App("train", run="mine").fine()
        around = {"to_lecture", "light_dark", "more", "desk_keys", "desk_poll"}
        assert [button.label for button in panel.at.button if button.key not in around] == []
        assert run_status.run_status("mine").seconds_left is None
        training_processes.stop_run("mine")
        assert killed == []
    assert run_status.run_status("mine").state == "finished" and run_status.run_status("mine").steps == 70
    assert training_processes.resume_run("mine") == "" and not run_status.run_status("mine").resumable


def test_why_a_loss_may_rise_is_said_of_what_was_taught_layer_by_layer(monkeypatch):
    monkeypatch.setattr(films, "RECORDINGS", SHIPPED)
    log = json.loads((SHIPPED / "vit-tiny-patch8-128.json").read_text(encoding="utf-8"))["log"]
    later = [next(r["step"] for r in log if term in r) for term in ("looker", "rolled")]

    def said(film: str) -> str:
        app = App("learn", film=film).fine()
        return " ".join([*app.sentences("markdown"), *app.sentences("caption")])

    assert f"added to the loss (step {later[0]:,}, {later[1]:,})" in said("vit-tiny-patch8-128")
    assert "changes its meaning" not in said("labels-alone")


@pytest.mark.parametrize(("on_training_photos", "name"), [(True, "training photos, not augmented"), (False, "validation")])
def test_a_loss_on_training_photos_is_not_called_validation(on_training_photos, name):
    log = [{"step": step, "loss": 2.0, "val_loss": 1.0} for step in (1, 2)]
    specs = films.film_curve_specs("key", 2, 2, "light", "en", on_training_photos, log)
    assert [word for word in ("training photos, not augmented", "validation") if word in json.dumps(specs["loss"])] == [name]
