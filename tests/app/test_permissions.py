"""Local and public: what is off is off, by the page and by messages made by hand, and the page says so."""

import re
import subprocess
import sys
from dataclasses import replace

import pytest
from app_server import Visit
from made_up_runs import a_run
from picture_files import corners, saved
from visitor import MAIN, App

import vitcore
from app import permissions, texts
from app.menu import PAGES
from app.state.models import loaded_models
from app.state.training import run_status, training_estimate, training_processes
from vitcore.models import load_model
from vitcore.models.model_cards import MODEL_CARDS

STRANGE = "vit_small_patch8_224.augreg2_in21k_ft_in1k"  # timm's, and not in the menu


def said(key: str) -> str:
    return texts.prose("common", "en")[key]


@pytest.fixture
def public(monkeypatch):
    monkeypatch.setenv("INSIDE_VIT_PUBLIC", "1")


# Which mode


@pytest.mark.parametrize(("said", "address", "public"), [
    ("", "127.0.0.1", False), ("", "localhost", False), ("", "", True), ("", "0.0.0.0", True), ("", "192.168.1.7", True),
    ("1", "127.0.0.1", True), ("true", "localhost", True), ("0", "0.0.0.0", False), ("no", "", False),
])  # fmt: skip
def test_the_setting_decides_and_without_it_the_address(monkeypatch, said, address, public):
    monkeypatch.setenv("INSIDE_VIT_PUBLIC", said)
    monkeypatch.setattr(permissions.config, "get_option", lambda name: address)
    monkeypatch.setattr(permissions.runtime, "exists", lambda: True)
    assert permissions.is_public() is public
    assert [permissions.is_allowed(what) for what in permissions.RESTRICTED] == [not public] * len(permissions.RESTRICTED)


OPEN = """
import os, sys
from streamlit import config
from streamlit.web import bootstrap, cli
bootstrap.run_asgi_app = lambda *_, **__: print(config.get_option("server.address"))
cli.main(["run", sys.argv[1]], standalone_mode=False)
os.environ["STREAMLIT_SERVER_ADDRESS"] = "0.0.0.0"
config.get_config_options(force_reparse=True)
cli.main(["run", sys.argv[1]], standalone_mode=False)
"""


def test_a_server_is_bound_to_this_machine_unless_it_is_told_otherwise():
    done = subprocess.run([sys.executable, "-c", OPEN, str(MAIN)], cwd=MAIN.parents[1], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["127.0.0.1", "0.0.0.0"]


# Every page


def test_every_page_opens_in_public_mode(public):
    """In local mode other tests open them."""
    app = App(PAGES[0].slug)
    for row in PAGES:
        app.go(row.slug).fine()
        assert app.at.title[0].value == texts.prose("menu", "en")[row.slug]


def test_the_train_page_says_what_is_off_and_why_and_runs_can_be_watched_and_that_is_all(public):
    a_run(state="failed", message="/home/somebody/photos can't be read", problems=["/home/somebody/a.jpg is empty."])
    app = App("train").fine()
    assert said("off trainings") in app.sentences("info")[0] and len(app.at.dataframe) == 1
    assert not {"photos_from", "photos_path", "run_name"} & app.controls.keys()
    assert not {b.label for b in app.at.button} & {"Start training", "Measure the time on this machine"}
    app = App("train", run="demo").fine()
    assert "somebody" not in app.text() and not {b.label for b in app.at.button} & {"Stop", "Resume", "Delete"}


@pytest.mark.parametrize("lang", texts.LANGUAGES)
def test_a_model_outside_the_menu_is_downloaded_in_local_mode_only(monkeypatch, lang):
    asked = []

    def fetch(name, progress=None):
        asked.append(name)
        raise load_model.ModelError("no")

    monkeypatch.setattr(load_model, "fetch_weights", fetch)
    App("patches", model=STRANGE).fine()
    assert asked == [STRANGE]
    monkeypatch.setenv("INSIDE_VIT_PUBLIC", "1")
    told, why = App("patches", model=STRANGE, lang=lang).fine().text("warning"), texts.prose("common", lang)["off downloads"]
    assert why in told and MODEL_CARDS[0].title in told, "why, and which one is shown"
    monkeypatch.setattr(texts, "language", lambda: lang)
    with pytest.raises(load_model.ModelError) as refused:
        loaded_models.load_or_download(STRANGE, False, print)
    assert asked == [STRANGE] and str(refused.value) == why


# Messages made by hand


@pytest.fixture
def visit(server):
    visits = []

    def begin() -> Visit:
        visits.append(Visit(server))
        return visits[-1]

    yield begin
    for one in visits:
        one.close()


@pytest.fixture
def never(monkeypatch):
    """What must not happen, as it happens."""
    happened = []
    monkeypatch.setattr(training_processes, "Popen", lambda *a, **k: happened.append("a process"))
    monkeypatch.setattr(training_processes.os, "kill", lambda *a: happened.append("a signal"))
    monkeypatch.setattr(training_processes.shutil, "rmtree", lambda *a, **k: happened.append("a deletion"))
    monkeypatch.setattr(
        training_estimate, "_count_photos", lambda source, lang: happened.append(source) or training_estimate.PhotoCount()
    )
    monkeypatch.setattr(load_model, "fetch_weights", lambda name, progress=None: happened.append(name))
    return happened


def test_no_message_starts_a_training_or_opens_a_folder(monkeypatch, visit, never, tmp_path):
    """The page is opened in local mode, where its buttons are; then the server is public, and they are pressed."""
    monkeypatch.setenv("INSIDE_VIT_PUBLIC", "0")
    one = visit().open("train")
    one.send(photos_from=texts.prose("train", "en")["source folder"]).send(photos_path=str(tmp_path))
    assert str(tmp_path) in never, "the message reaches the server"
    never.clear()
    monkeypatch.setenv("INSIDE_VIT_PUBLIC", "1")
    one.send(photos_path="/etc", **{"Start training": True})
    assert said("off trainings") in one.text
    one.send(photos_path="/etc", **{"Measure the time on this machine": True})
    two = visit().open("train")
    two.ids, two.buttons = one.ids, one.buttons
    two.send(photos_from=texts.prose("train", "en")["source folder"], photos_path="/etc", **{"Start training": True})
    assert never == [] and run_status.run_ids() == []


@pytest.mark.parametrize(("state", "label"), [("stopped", "Resume"), ("stopped", "Delete"), ("running", "Stop")])
def test_no_message_touches_a_run(monkeypatch, visit, never, state, label):
    from vitcore.train import run_folder

    monkeypatch.setenv("INSIDE_VIT_PUBLIC", "0")
    monkeypatch.setattr(run_folder, "is_training", lambda run: state == "running")
    run = a_run(state=state)
    (run.path / "checkpoint").mkdir(exist_ok=True)
    one = visit().open("train", "run=demo")
    assert label in one.buttons
    monkeypatch.setenv("INSIDE_VIT_PUBLIC", "1")
    one.send(**{label: True})
    for act in (training_processes.stop_run, training_processes.resume_run, training_processes.delete_run):
        with pytest.raises(permissions.NotAllowedError):
            act("demo")
    assert never == [] and run_status.run_ids() == ["demo"]


def test_no_message_downloads_a_model(monkeypatch, visit, never):
    monkeypatch.setenv("INSIDE_VIT_PUBLIC", "1")
    one = visit().open("patches")
    one.send(model=STRANGE)
    one.send(model="../../etc/passwd")
    visit().open("patches", f"model={STRANGE}")
    assert never == []


def test_a_server_that_others_reach_is_public_by_itself(monkeypatch, visit, never):
    monkeypatch.delenv("INSIDE_VIT_PUBLIC", raising=False)
    option = permissions.config.get_option
    monkeypatch.setattr(permissions.config, "get_option", lambda name: "0.0.0.0" if name == "server.address" else option(name))
    one = visit().open("train")
    assert said("off trainings") in one.text and "photos_path" not in one.ids


# What is made known


def test_the_readme_explains_both():
    readme = (MAIN.parents[1] / "README.md").read_text(encoding="utf-8")
    for word in ("INSIDE_VIT_PUBLIC", "INSIDE_VIT_MEMORY_GB", "STREAMLIT_SERVER_ADDRESS", "127.0.0.1"):
        assert word in readme


# Names that strangers give


HOSTILE = "![x](http://evil.example/x.png) *a* `b` <b>c</b> [d](http://evil.example) :red[e] $f$"
RAW = re.compile(r"(?<!\\)!\[x\]|(?<!\\)\[d\]\(|(?<!\\)<b>|(?<!\\):red\[|(?<!\\)`b|(?<!\\)\*a\*|(?<!\\)\$f\$")
SHOWN_AS_MARKDOWN = ("markdown", "caption", "info", "warning", "error", "success", "button", "header", "subheader")


def markdown(app: App) -> list[str]:
    """Every text of the page that is read as Markdown."""
    return [getattr(e, "value", "") or getattr(e, "label", "") or "" for kind in SHOWN_AS_MARKDOWN for e in app.at.get(kind)]


def test_names_are_never_markdown(named):
    app = App("patches", model="hostile", shuffle="true").upload(f"{HOSTILE}.gif".replace("/", "_"), saved(corners(), "PNG"))
    for slug in (row.slug for row in PAGES if row.uses_model):
        app.go(slug)
        for step in range(1, 10) if slug == "story" else [0]:
            if step:
                app.set(step=step)
            app.fine()
            assert app.values()["model"] == "hostile"
            assert [text for text in markdown(app) if RAW.search(str(text))] == [], (slug, step)


@pytest.fixture(scope="session")  # a worker may come back to this file, and a name of the app's is one model
def hostile(make_module):
    """A model whose classes are called like that, as folders may be."""
    vit = vitcore.wrap(make_module(), name="hostile")
    return replace(vit, labels=tuple(f"{HOSTILE} {i}" for i in range(10)), card=replace(vit.card, title=HOSTILE))


@pytest.fixture
def named(offer, hostile):
    """The app can have it."""
    offer(hostile=hostile)
