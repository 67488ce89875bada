"""Take it away, on the page: the handout's numbers are the app's, the ZIP grows, stops and ends, and the link is honest."""

import base64
import errno
import html
import io
import json
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import streamlit
from model_files import run_folder
from picture_files import corners, saved
from PIL import Image
from visitor import App

import vitcore
from app import texts
from app.shell import copy_link
from app.state.jobs import report_zip
from app.state.photos import sample_photos
from app.state.recordings import covered_photos
from vitcore.analysis import filters
from vitcore.assets import asset_path
from vitcore.models import load_model
from vitcore.report import report_bundle
from vitcore.report.report_settings import ReportSettings
from vitcore.train import run_folder as on_disk

TINY_SETTINGS = {"fusion": "max", "discard": 40, "residual": 30, "first": 2}


@pytest.fixture
def tiny_app(offer, tiny):
    """An app whose model is small, so that everything is quick: `tiny_app("report", photo="cat")`."""
    offer(tiny=tiny)
    return lambda slug, **address: App(slug, model="tiny", **address)


def shown(app: App) -> str:
    """The handout on the page."""
    (frame,) = app.at.get("iframe")
    return frame.proto.srcdoc


def test_what_was_switched_off_and_deleted_comes_along_into_the_handout(tiny_app):
    said = shown(App("report", photo="cat", deletion_fill="removed").fine())
    assert "What the answer rests on" in said and "Chefer" in said and "Deletion" in said
    app = tiny_app("switch", photo="cat", off="L1.attn-L99H0").fine().go("report").fine()
    said = shown(app)
    assert app.values()["off"].startswith("L1.attn") and "L1.attn" in said and "L99H0" not in said and "Chefer" not in said


def test_what_was_covered_and_where_the_photo_was_steered_come_along_into_the_handout(tiny_app, tiny):
    code = covered_photos.encode_patches(np.arange(tiny.grid.patches) < 3, tiny.grid)
    app = tiny_app("cover", photo="cat", covered=code, fill="Blur").fine().go("report").fine()
    assert (app.values()["covered"], app.values()["fill"]) == (code, "blur")
    assert f"3 of {tiny.grid.patches} patches are covered. Covered with: Blur" in shown(app)
    app.set(ask=True).set(patch=5, pin=2).fine()
    told = f"Settings changed: rollout of patch 5 · patch 2 pinned · 3 of {tiny.grid.patches} patches are covered."
    assert told in app.sentences("markdown")
    app.press("defaults")
    assert numbers(app)["settings"]["patch"] is numbers(app)["settings"]["pin"] is None and "are covered" not in shown(app)
    assert "Settings changed: " not in app.text("markdown")

    app = tiny_app("switch", photo="cat", steer="150", steer_layer="1", second_photo="Espresso").fine().go("report").fine()
    said, values = shown(app), app.values()
    assert (values["steer"], values["steer_layer"], values["second_photo"]) == (150, 1, "espresso")
    assert "Steer: towards the second photo" in said and "Towards Espresso, %: 150" in said and "covered" not in said
    cat, espresso = (asset_path(f"samples/{name}.jpg") for name in ("cat", "espresso"))
    direction = vitcore.steering_direction(tiny, towards=espresso, away=cat, layer=1)
    (label, _), *_ = vitcore.record(vitcore.steer(tiny, direction, 1, 1.5), cat).top_classes(1)
    assert html.escape(label) in said.partition("Steer: towards")[2], "the library's answer"


def test_settings_that_are_named_in_another_language_come_along(tiny_app):
    """The address has the names of the language that was left; they are spelled anew once, not for ever."""
    app = tiny_app("rollout", fusion="max", discard="40").go("overview").set(lang="zh-CN").go("report").fine()
    assert app.values()["fusion"] == "max" and app.values()["discard"] == 40


def test_settings_of_a_page_that_was_left_before_its_end_come_along(tiny_app, monkeypatch):
    app = tiny_app("rollout").fine()
    with monkeypatch.context() as left_early:
        left_early.setattr("app.views.rollout.method_panel._compute_map", lambda *asked: streamlit.stop())
        app.set(discard=40)
    assert app.go("report").fine().values()["discard"] == 40


def numbers(app: App) -> dict:
    return json.loads(re.search(r'<script type="application/json" id="numbers">(.*?)</script>', shown(app), re.S)[1])


def labels(app: App, kind: str = "download_button") -> list[str]:
    return [element.label for element in app.at.get(kind)]


def test_the_handout_says_where_it_came_from_in_the_visitor_s_language(tiny_app):
    app = tiny_app("report", photo="cat").fine()
    page = shown(app)
    assert "Stefan van der Walt" in page and "<h1>Chelsea the cat</h1>" in page and 'class="caution"' not in page
    assert "python -m vitcore report assets/samples/cat.jpg --model tiny --out report" in page
    assert any(label.startswith("Handout, HTML, ") for label in labels(app))
    for lang in ("zh-CN", "zh-TW"):
        app = tiny_app("report", lang=lang).fine()
        assert f'<html lang="{lang}">' in shown(app)
        assert app.at.title[0].value == texts.prose("menu", lang)["report"]


def test_the_handout_of_ones_own_photo_says_what_a_link_lacks(tiny_app):
    app = tiny_app("report").upload("my cat.jpg", saved(corners(), "JPEG")).fine()
    text = texts.prose("report", "en")
    page, lacks, send = shown(app), text["lacks photo"], text["send handout"]
    assert "<h1>my cat.jpg</h1>" in page and lacks in html.unescape(page)
    assert send not in html.unescape(page), "who reads it has it"
    assert "'my cat.jpg'" in html.unescape(page), "the command names the file"
    assert app.sentences("info") == [f"{lacks} {send}"]
    page = shown(app.upload("cat.jpg", saved(corners(), "JPEG")).fine())
    assert "Stefan van der Walt" not in page and "<h1>cat.jpg</h1>" in page, "a gallery photo's name brings no credits"


# The handout


def test_the_handout_s_numbers_are_the_app_s(shipped):
    report, page = App("report", photo="cat"), App("rollout", photo="cat")
    for settings in ({}, TINY_SETTINGS):  # as it comes, and with other settings
        said = numbers(report.set(**settings).fine() if settings else report.fine())
        told = (page.set(**settings) if settings else page).fine().component("gathered")
        assert np.allclose(100 * np.array(said["rollout"]).ravel(), told["values"], atol=1e-3), settings
    table = App("distance", photo="cat").fine().at.dataframe[0].value.iloc[:, 2:].to_numpy()
    assert np.allclose(said["distance_px"], table, atol=0.051)
    rec = vitcore.record(shipped, sample_photos.SAMPLES / "cat.jpg")
    assert [name for name, _ in said["top5"]] == [name for name, _ in rec.top_classes()]
    assert np.allclose([share for _, share in said["top5"]], [share for _, share in rec.top_classes()], atol=1e-6)
    found = filters.principal_components(load_model.first_layer_filters(shipped))
    assert np.allclose(said["filters_variance"], found.variance[:28])


def test_the_address_in_the_handout(monkeypatch, tiny_app):
    monkeypatch.setattr(copy_link.st.context.__class__, "url", property(lambda _: "http://localhost:8501/report"))
    page = shown(tiny_app("report", photo="cat", ask="true").set(discard=40, patch=5).fine())
    href = re.search(r'href="(http://localhost[^"]*)"', page)[1].replace("&amp;", "&")
    assert href == "http://localhost:8501/report?photo=cat&model=tiny&discard=40&ask=true&patch=5"
    assert "opens only on the machine that this file was made on" in page
    again = App("report", **dict(pair.split("=") for pair in href.partition("?")[2].split("&"))).fine()
    assert numbers(again)["rollout"] == json.loads(re.search(r'id="numbers">(.*?)</script>', page, re.S)[1])["rollout"]


# The animation


def test_the_animation_is_still_until_somebody_plays_it(tiny_app):
    app = tiny_app("report").fine()
    (before,) = app.at.get("image")
    assert not before.proto.imgs[0].url.startswith("data:image/webp")
    (after,) = app.set(animation_plays=True).fine().at.get("image")
    data = base64.b64decode(after.proto.imgs[0].url.partition(",")[2])
    assert Image.open(io.BytesIO(data)).n_frames == 3


# Many photos


@pytest.fixture
def blank_pictures(monkeypatch):
    """What is asked here is which files there are; that its PNGs are pictures, `tests/vitcore/report/test_bundle.py` asks."""
    monkeypatch.setattr(report_bundle, "print_figure", lambda *asked: b"")


@pytest.fixture
def three(monkeypatch, blank_pictures) -> list[str]:
    """The gallery has three photos, one of them damaged."""
    names = ["cat", "rocket", "crab"]
    photos = [(f"{name}.jpg", (sample_photos.SAMPLES / f"{name}.jpg").read_bytes()) for name in names]
    photos[1] = ("rocket.jpg", photos[1][1][:3000])
    monkeypatch.setattr(sample_photos, "sample_files", lambda: photos)
    return names


def archive(app: App) -> zipfile.ZipFile:
    return zipfile.ZipFile(io.BytesIO(app.at.session_state["_batch"].data()))


def folders(app: App) -> set[str]:
    return {name.split("/")[0] for name in archive(app).namelist() if "/" in name} - {"model"}


@pytest.fixture
def stopped(tiny_app, three, monkeypatch):
    """The page whose ZIP was stopped after one photo, and how many were there each time."""
    seen, go_on = [], report_zip.add_reports_to_zip
    app = tiny_app("report").fine()
    with monkeypatch.context() as patch:

        def stopped_after_one(one):
            seen.append(next(go_on(one)))
            yield seen[-1]
            one.stop()  # what the button does, in the run that interrupts this one

        patch.setattr(report_zip, "add_reports_to_zip", stopped_after_one)
        app.press("begin")
    return app, seen


def test_the_zip_can_be_stopped_go_on_and_end_early(stopped):
    app, _ = stopped
    assert "Stopped after 1 of 3 photos." in app.text("markdown")
    assert "zip" not in [d.key for d in app.at.get("download_button")]
    app.press("enough")
    assert folders(app) == {"cat"} and any(label.startswith("ZIP, ") for label in labels(app))


def test_a_stopped_zip_goes_on_where_it_was(stopped):
    app, seen = stopped
    app.press("go_on")
    assert seen == [1] and folders(app) == {"cat", "crab"}
    names = archive(app).namelist()
    assert len(names) == len(set(names)), "no photo is in it twice"


def began_anew(one: report_zip.ZipJob) -> None:
    one.run_number += 1


@pytest.mark.parametrize("meanwhile", [began_anew, report_zip.ZipJob.stop])
def test_a_run_that_was_overtaken_adds_nothing(meanwhile, tiny_app, three):
    """Two runs of the page at once: the older one, in the middle of a photo, finds that the newer began anew, or stopped."""
    app = tiny_app("report").fine()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report_zip.st, "session_state", {})
        report_zip.start_zip_job("tiny", sample_photos.sample_files(), ReportSettings(), True)
        one = report_zip.current_zip_job()
    old = report_zip.add_reports_to_zip(one)
    assert next(old) == 1
    made = one.bundle.render_photo

    def overtaken(*given):
        meanwhile(one)
        return made(*given)

    one.bundle.render_photo = overtaken
    one.done_count = 0
    assert list(old) == [2], "the damaged one is only named"
    assert len(one.bundle.photos) == 1 and app is not None


def test_ones_own_photos_and_when_none_can_be_read(tiny_app, blank_pictures):
    app = tiny_app("report", which="own").fine()
    assert app.at.get_by_key("begin").disabled
    app.at.get_by_key("batch").upload("text.jpg", b"I am not a photograph.")
    app.run().press("begin")
    assert app.sentences("error") == [texts.prose("report", "en")["none"]]
    assert "zip" not in [d.key for d in app.at.get("download_button")]
    picker = app.press("again").at.get_by_key("batch")
    for name in ("one.png", "../two.png"):
        picker.upload(name, saved(corners(), "PNG"))
    picker.upload("text.jpg", b"I am not a photograph.")
    app.run().press("begin")
    assert folders(app) == {"one", "two"} and "text.jpg" in app.text("warning")


def test_the_zip_of_ones_own_photos_begins_with_the_photo_that_is_looked_at(tiny_app, blank_pictures):
    app = tiny_app("report", which="own").upload("my cat.jpg", saved(corners(), "JPEG")).fine()
    assert not app.at.get_by_key("begin").disabled
    assert folders(app.press("begin")) == {"my-cat"}


def test_a_zip_of_many_photos(tiny_app, three):
    app = tiny_app("report", discard="40").fine().press("begin")
    assert folders(app) == {"cat", "crab"}, "the damaged one is left out"
    (said,) = app.sentences("warning")
    assert "rocket.jpg is damaged" in said
    assert any(label.startswith("ZIP, ") for label in labels(app))
    with np.load(io.BytesIO(archive(app).read("cat/numbers.npz"))) as kept:
        assert np.array_equal(kept["rollout"], np.array(numbers(App("report", model="tiny", photo="cat", discard="40"))["rollout"]))
    assert "Stefan van der Walt" in archive(app).read("cat/handout.html").decode()
    assert app.at.session_state["_batch"].photos == [], "what is done with is not held"
    assert "begin" in [b.key for b in app.press("again").at.button]


def test_a_zip_is_made_with_what_the_page_says_now(tiny_app, three, monkeypatch):
    """The button is touched before the page has answered to what was set last."""
    monkeypatch.setattr(report_zip, "add_reports_to_zip", lambda one: [])
    app = tiny_app("report", discard="40").fine()
    app.at.get_by_key("discard").set_value(70)
    batch = app.press("begin").at.session_state["_batch"]
    assert batch.bundle.settings.discard == pytest.approx(0.7)


def test_a_zip_that_grows_too_large_says_so(tiny_app, three, monkeypatch):
    monkeypatch.setattr(report_zip, "MAX_ZIP_BYTES", 2**20)
    monkeypatch.setattr(report_bundle, "print_figure", lambda *asked: np.random.default_rng(0).bytes(90_000))
    app = tiny_app("report").fine().press("begin")
    assert folders(app) == {"cat"} and any("larger than 1 MB" in said for said in app.sentences("warning"))


@pytest.mark.parametrize("full", ["no folder", "the first photo", "the end"])
def test_a_zip_that_can_not_be_written_says_so_and_the_page_goes_on(full, tiny_app, three, monkeypatch):
    def no_room(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "a folder of the server's")

    if full == "no folder":
        monkeypatch.setattr(report_zip.tempfile, "TemporaryFile", no_room)
    else:
        monkeypatch.setattr(report_bundle.ReportBundleWriter, "add_photo" if full == "the first photo" else "close", no_room)
    app = tiny_app("report").fine().press("begin")
    said = [one for kind in ("warning", "error") for one in app.sentences(kind)]
    assert len(said) == 1 and "This server could not write the ZIP file: No space left on device." in said[0]
    assert not any(label.startswith("ZIP, ") for label in labels(app))
    assert app.go("patches").fine().at.title


# The link


def test_the_link_is_under_every_title_and_says_what_it_lacks(tiny_app, monkeypatch, tmp_path):
    text = texts.prose("report", "en")
    for slug in ("overview", "patches", "report", "train"):
        link = App(slug).fine().component("copy_link")
        assert (link["label"], link["note"]) == (text["copy"], "")
    app = tiny_app("patches").upload("mine.jpg", saved(corners(), "JPEG")).fine()
    assert app.component("copy_link")["note"] == f"{text['lacks photo']} {text['send handout']}"
    assert app.set(photo="cat").fine().component("copy_link")["note"] == ""
    run_folder(tmp_path / "runs" / "mine")
    monkeypatch.setattr(on_disk, "RUNS_FOLDER", tmp_path / "runs")
    note = App("patches", model="runs/mine").fine().component("copy_link")["note"]
    assert note == f"{text['lacks model']} {text['send handout']}", "a model trained here does not travel"
    shutil.rmtree(tmp_path / "runs")


def test_nothing_here_needs_a_heavy_import_early():
    script = "import sys, streamlit; before = set(sys.modules); import app.state.jobs.report_zip, app.state.reports;"
    command = [sys.executable, "-c", script + "print(*sorted(set(sys.modules) - before))"]  # a Python that has imported nothing
    done = subprocess.run(command, cwd=Path(report_zip.__file__).parents[3], capture_output=True, text=True, check=True)
    assert not {"torch", "plotly", "timm", "matplotlib"} & set(done.stdout.split())


def test_the_handout_says_what_the_app_says_of_the_model():
    """Who reads it has no app that warns: what was taught, by whom, and that the answer is weak."""
    said = html.unescape(shown(App("report", photo="cat").fine()))
    assert "Taught by another model" in said and "the same layer of ViT-Ti/16" in said and "Weak at naming" in said
    assert 'class="caution"' in said
