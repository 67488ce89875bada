"""Every page with every kind of model, and with everything that can go wrong: it says so, and goes on."""

import os
import subprocess
import sys
import time

import numpy as np
import pytest
from files import HOSTILE_NAMES, animated, bad, corners, flat, saved
from PIL import Image
from visitor import MAIN, SLUGS, App

import vitcore
from app import session
from vitcore import zoo
from vitcore.analysis import filters, positions
from vitcore.cards import CARDS, DEFAULT
from vitcore.images import printable

KINDS = ["registers", "no-class-token", "mean-of-patches", "no-positions", "no-head", "wide", "distilled", "hybrid"]
HUB = CARDS[1]


def sample(name: str) -> bytes:
    return (session.SAMPLES / f"{name}.jpg").read_bytes()


# Every page, every kind of model


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_page_shows_the_model_that_ships(theme):
    app = App("overview", theme)
    for slug in SLUGS:
        app.go(slug).fine()
        assert app.charts(), f"{slug} has no picture"
        assert {c["layout"]["meta"]["mode"] for c in app.charts()} == {theme}
        assert not app.at.warning and not app.at.error


@pytest.mark.parametrize("kind", KINDS)
def test_every_page_shows_every_kind_of_model(kind, kinds, offer):
    offer({kind: kinds[kind]})
    app = App("overview", model=kind)
    for slug in SLUGS:
        app.go(slug).fine()
        assert app.values()["model"] == kind
        assert not app.at.warning and not app.at.error, app.sentences("warning")
        assert app.charts() or app.at.info, f"{slug} has neither a picture nor a word about why there is none"


@pytest.mark.parametrize("kind", KINDS)
def test_every_page_shows_every_setting_of_every_kind_of_model(kind, kinds, offer):
    vit = kinds[kind]
    offer({kind: vit})
    app = App("patches", model=kind).set(shuffle=True, gutter=8).set(seed=99, patch=vit.grid.patches - 1).fine()
    app.go("attention").set(ask=True, style="paper", fusion="min", discard=95, residual=0, shared=True).fine()
    app.set(query=0, block=0, first=vit.blocks - 1, fusion="max").fine()
    app.go("distance").set(cls="renormalise").fine()
    app.go("filters").set(scale="minmax", components=1, **({} if vit.hybrid else {"k": 1})).fine()
    app.go("positions").fine()
    if kind != "no-positions":
        app.set(side=4, position=0).fine()


# What isn't defined is said


def test_a_hybrid_says_it_has_no_patch_filters(kinds, offer):
    offer(hybrid=kinds["hybrid"])
    app = App("filters", model="hybrid").fine()
    (said,) = app.sentences("info")
    assert "no RGB patch filters" in said and "first convolution" in said
    assert [c["alt"] for c in app.charts()] == [
        "The first 28 principal components", "Variance explained by the first k components"
    ]  # fmt: skip
    assert "k" not in app.controls, "a photo can't be rebuilt from a root convolution"


def test_a_hybrid_does_not_say_that_patches_are_pixels(kinds, offer):
    offer(hybrid=kinds["hybrid"])
    app = App("patches", model="hybrid", shuffle="true").fine()
    assert any("In a hybrid a patch is a cell" in said for said in app.sentences("caption"))
    assert not any("Eq. 1" in said or "the answer is the same" in said for said in app.sentences("caption"))
    assert any("does not bring the answer back" in said for said in app.sentences("caption"))


def test_no_positions_is_said(kinds, offer):
    offer({"no-positions": kinds["no-positions"]})
    app = App("positions", model="no-positions").fine()
    (said,) = app.sentences("info")
    assert "no learned absolute position embeddings" in said
    assert not app.charts() and "position" not in app.controls
    assert any("no learned absolute position" in said for said in app.go("overview").fine().sentences("info"))
    app.go("patches").set(shuffle=True).fine()
    assert [c["alt"] for c in app.charts()][1:] == [
        "Patches in order: top 5",
        "Patches shuffled, positions stay: top 5",
    ]


@pytest.mark.parametrize(
    ("kind", "readout"), [("no-class-token", "attention pool"), ("mean-of-patches", "mean of patches")]
)
def test_no_class_token_is_said(kind, readout, kinds, offer):
    offer({kind: kinds[kind]})
    app = App("attention", model=kind).fine()
    assert any(f"no class token: its answer is read from the {readout}" in c for c in app.sentences("caption"))
    assert any(f"what the {readout} gathered" in m for m in app.sentences("markdown"))
    assert any("no class token" in c for c in app.go("distance").fine().sentences("caption"))
    app.go("overview").fine()
    assert "class token" not in app.chart("Attention rollout")["layout"]["title"]["subtitle"]["text"]
    assert not any("gave more to the class token" in c for c in app.sentences("caption"))


@pytest.mark.parametrize("slug", ["attention", "distance"])
def test_nothing_is_said_of_a_class_token_that_is_there(slug):
    assert not any("no class token" in c for c in App(slug).sentences("caption"))


def test_a_model_without_a_head_shows_no_answer(kinds, offer):
    offer({"no-head": kinds["no-head"]})
    for slug in ("overview", "attention"):
        assert "The five likeliest classes" not in [c["alt"] for c in App(slug, model="no-head").fine().charts()]
        assert "The five likeliest classes" in [c["alt"] for c in App(slug).fine().charts()]


# The hub


def unreachable(monkeypatch):
    def fetch(name, progress=None):
        raise zoo.ModelError(f"{name} could not be downloaded: the hub can't be reached (ConnectError).")

    monkeypatch.setattr(zoo, "fetch", fetch)


def test_the_hub_is_out_of_reach(monkeypatch):
    unreachable(monkeypatch)
    app = App("overview")
    for slug in SLUGS:
        before = app.go(slug).fine().charts()
        app.set(model=HUB.name).fine()
        (said,) = app.sentences("warning")
        assert "can't be reached" in said and f"The app stays on {CARDS[0].title}." in said
        assert app.charts() == before
        app.set(model=DEFAULT).fine()
        assert not app.at.warning


def test_it_is_tried_again_when_asked(monkeypatch, kinds, offer):
    unreachable(monkeypatch)
    app = App("attention", model=HUB.name).fine()
    assert app.at.warning and len(app.component("gathered")["values"]) == 256
    asked = []
    monkeypatch.setattr(zoo, "fetch", lambda name, progress=None: asked.append(name))
    offer({HUB.name: zoo.wrap(kinds["registers"].module, HUB.name)})
    app.set(opacity=50).fine()
    assert app.at.warning and not asked, "not at every touch"
    next(b for b in app.at.button if b.label == "Try again").click()
    app.run().fine()
    assert asked == [HUB.name] and not app.at.warning
    assert len(app.component("gathered")["values"]) == 16


def test_the_app_stays_on_the_model_it_had(kinds, offer):
    offer(registers=kinds["registers"])
    app = App("attention", model="registers").set(model="not-there").fine()
    (said,) = app.sentences("warning")
    assert "not-there" in said and said.endswith("The app stays on registers.")
    assert len(app.component("gathered")["values"]) == 16


def test_a_download_says_how_far_it_is(kinds, offer):
    from streamlit.delta_generator import DeltaGenerator

    offer(registers=kinds["registers"])
    told = []
    with pytest.MonkeyPatch.context() as patch:
        progress = DeltaGenerator.progress
        patch.setattr(DeltaGenerator, "progress", lambda self, *args: told.append(args) or progress(self, *args))
        App("overview", model="registers").fine()
    assert told[0][0] == 0.5 and "Downloading the model" in told[0][1]


def test_a_name_that_is_no_model():
    app = App("patches", model="no_such_vit").fine()
    assert "no_such_vit" in app.sentences("warning")[0]
    assert len(app.component("split")["cell"]) == 2


HARMFUL = ["../../etc/passwd", "/etc/passwd", "https://x.example/m", "..", "a" * 5000, "💥", "a b", "x.safetensors", "**bold**",
           "runs/first", "-", "%00", "'; --", "![](x)"]  # fmt: skip


def test_names_that_could_do_harm():
    app = App("patches")
    for name in HARMFUL:
        app.set(model=name).fine()
        (said,) = app.sentences("warning")
        assert len(said) < 700 and said.endswith(f"The app stays on {CARDS[0].title}."), name
        assert app.charts()
    assert App("patches", model=HARMFUL[0]).fine().at.warning


def test_a_model_that_is_no_plain_vit_is_refused_in_a_sentence(monkeypatch):
    """It downloads, it loads, and then its blocks don't attend over one grid."""
    import timm

    monkeypatch.setattr(zoo, "fetch", lambda name, progress=None: None)
    load = zoo.load
    monkeypatch.setattr(
        zoo, "load", lambda name: load(name) if name == DEFAULT else zoo.wrap(timm.create_model(name), name)
    )
    for name in ("resnet18", "convit_tiny", "cait_xxs24_224"):
        app = App("attention", model=name).fine()
        (said,) = app.sentences("warning")
        assert name in said and said.endswith(f"The app stays on {CARDS[0].title}.")
        assert app.charts()


REAL = f"""
import os
from streamlit.testing.v1 import AppTest
at = AppTest.from_file({str(MAIN)!r}, default_timeout=120)
at.query_params["model"] = {HUB.name!r}
at.run()
assert not at.exception, at.exception
(said,) = [w.value for w in at.warning]
assert "reached" in said and "safetensors" in said and "stays on" in said, said
assert len(at.get("plotly_chart")) == 6
print(said)
"""


@pytest.mark.slow
def test_the_hub_is_really_out_of_reach(tmp_path):
    """Nothing is replaced: a server whose hub is a closed port."""
    env = {k: v for k, v in os.environ.items() if "proxy" not in k.lower()}
    env |= {"HF_ENDPOINT": "http://127.0.0.1:9", "HF_HOME": str(tmp_path), "VITCORE_MODELS": str(tmp_path / "by-hand")}
    env.pop("HF_HUB_OFFLINE", None)
    begun = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", REAL], env=env, cwd=MAIN.parents[1], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert str(tmp_path / "by-hand" / f"{HUB.name}.safetensors").replace("-", "") in done.stdout.replace(
        "\\", ""
    ).replace("-", "")
    assert time.monotonic() - begun < 120


# Addresses


NONSENSE = {
    "photo": "…", "model": "…", "patch": "-5", "block": "999", "gutter": "abc", "discard": "9999", "style": "x", "first": "77",
    "query": "99999", "ask": "maybe", "fusion": "sum", "residual": "NaN", "opacity": "1e9", "position": "-1", "side": "0",
    "components": "0", "k": "-3", "scale": "log", "cls": "", "over": "moon", "shuffle": "2", "seed": "1e3", "shared": "[]",
    "unheard": "of", "embed": "…",
}  # fmt: skip


@pytest.mark.parametrize("slug", SLUGS)
def test_a_nonsense_address_falls_back(slug):
    app = App(slug, **NONSENSE).fine()
    plain = App(slug).fine()
    assert app.values() == plain.values() | {"model": "…"}
    assert len(app.at.warning) == 1
    assert [c["alt"] for c in app.charts()] == [c["alt"] for c in plain.charts()]


def test_a_nonsense_number_falls_back_or_into_range():
    for value in ("-1", "256", "1e400", "-inf", "nan", "", "0x10", "9" * 400, "1.5", "١٢"):
        app = App("attention", ask="true", query=value, block=value, first=value, discard=value).fine()
        values = app.values()
        assert 0 <= values["query"] < 256 and 0 <= values["block"] < 12 and 0 <= values["first"] < 12, value
        assert 0 <= values["discard"] <= 95, value


SETTINGS = {
    "overview": {},
    "patches": {"gutter": ("4", 4), "patch": ("7", 7), "shuffle": ("true", True), "seed": ("3", 3)},
    "filters": {"components": ("12", 12), "scale": ("minmax", "minmax"), "k": ("5", 5)},
    "positions": {"position": ("3", 3), "side": ("9", 9)},
    "distance": {"cls": ("renormalise", "renormalise"), "over": ("samples", "samples")},
    "attention": {
        "ask": ("true", True), "query": ("9", 9), "style": ("paper", "paper"), "fusion": ("max", "max"), "discard": ("30", 30),
        "residual": ("10", 10), "first": ("2", 2), "block": ("3", 3), "shared": ("true", True),
    },
}  # fmt: skip


@pytest.mark.parametrize("slug", SLUGS)
def test_every_setting_is_in_the_address(slug):
    given = SETTINGS[slug] | {"photo": ("cat", "cat")}
    app = App(slug, **{key: address for key, (address, _) in given.items()}).fine()
    assert app.values() == {key: value for key, (_, value) in given.items()} | {"model": DEFAULT, "camera_on": False}
    unbound = {key for key, control in app.controls.items() if not control.proto.query_param_key}
    assert unbound == {"camera_on"}, "a camera is not opened by a link"
    assert all(control.proto.query_param_key == key for key, control in app.controls.items() if key not in unbound)


def test_how_the_rollout_is_drawn_is_in_the_address():
    assert App("attention", style="paper").fine().component("gathered")["overlay"] is None
    heat = App("attention", opacity="80").fine()
    assert heat.component("gathered")["overlay"] and heat.component("gathered")["opacity"] == 0.8


def test_a_model_is_in_the_address_by_its_name_and_by_its_title(kinds, offer):
    offer({HUB.name: zoo.wrap(kinds["registers"].module, HUB.name)})
    for address in (HUB.name, HUB.title):
        app = App("patches", model=address).fine()
        assert app.values()["model"] == HUB.name
        assert app.component("split")["rows"] == 4


def test_no_two_models_have_one_title():
    """Streamlit writes what the menu says into the address: two of the same could not be told apart."""
    assert len({card.title for card in CARDS}) == len(CARDS)


def test_settings_stay_from_page_to_page():
    app = App("attention").set(block=3, fusion="max", ask=True).set(query=17)
    app.go("patches").set(patch=5).go("overview").go("attention").fine()
    assert {k: app.values()[k] for k in ("block", "fusion", "ask", "query")} == {
        "block": 3, "fusion": "max", "ask": True, "query": 17
    }  # fmt: skip


def test_numbers_out_of_range_for_the_new_model(kinds, offer):
    offer(registers=kinds["registers"], hybrid=kinds["hybrid"])
    app = App("attention", ask="true", query="250", block="11", first="9").fine()
    app.set(model="registers").fine()
    vit, values = kinds["registers"], app.values()
    assert 0 <= values["query"] < vit.grid.patches and values["block"] < vit.blocks and values["first"] < vit.blocks
    app.go("patches").fine().set(model=DEFAULT).fine().set(patch=255).fine().set(model="hybrid").fine()
    assert 0 <= app.values()["patch"] < kinds["hybrid"].grid.patches
    app.go("positions").fine().set(model=DEFAULT).fine().set(position=255).set(model="registers").fine()
    app.go("filters").set(model=DEFAULT).set(k=192, components=98).fine().set(model="registers").fine()
    assert app.values()["k"] <= 24 and app.values()["components"] <= 24


# Photos


def shown(app: App) -> str:
    """The picture on the patches page, as Python sent it to the canvas."""
    return app.component("split")["image"]


def test_a_good_photo_becomes_the_photo():
    app = App("patches").fine()
    before = shown(app)
    app.upload("mine.png", saved(corners((300, 200)), "PNG")).fine()
    assert app.values()["photo"] == session.UPLOAD
    assert any("mine.png" in said for said in app.sentences("caption"))
    assert shown(app) != before and not app.at.error
    mine = shown(app)
    app.set(photo="cat").fine()
    assert shown(app) != mine
    app.set(photo=session.UPLOAD).fine()
    assert shown(app) == mine


def test_the_photo_stays_from_page_to_page():
    app = App("patches").upload("mine.png", saved(corners((300, 200)), "PNG"))
    mine = shown(app)
    for slug in SLUGS:
        app.go(slug).fine()
        assert app.values()["photo"] == session.UPLOAD
    assert shown(app.go("patches")) == mine


BAD = bad()


def test_a_bad_file_is_one_sentence_and_the_photo_stays():
    app = App("patches", photo="cat").upload("mine.png", saved(corners((300, 200)), "PNG")).fine()
    before, values = shown(app), app.values()
    for name, data in BAD.items():
        app.upload(name, data).fine()
        (said,) = app.sentences("error")
        assert said.startswith(name) and said.endswith(".") and "\n" not in said and len(said) < 250
        assert said.count(". ") == 0, f"one sentence: {said}"
        assert not any(word in said for word in ("Error", "Traceback", "0x")), said
        assert shown(app) == before and app.values() == values, name
    app.set(gutter=3).fine()
    assert shown(app) == before
    app.upload("other.png", saved(flat(), "PNG")).fine()
    assert not app.at.error and shown(app) != before


def test_what_was_wrong_is_old_news_once_another_photo_is_chosen():
    app = App("patches").upload("text.jpg", BAD["text.jpg"]).fine()
    assert len(app.at.error) == 1
    assert not app.set(photo="cat").fine().at.error


def test_hostile_names_are_shown_as_they_are():
    app = App("patches")
    for name in [n for n in HOSTILE_NAMES if "\x00" not in n]:
        app.upload(name, b"not a photo").fine()
        (said,) = app.sentences("error")
        assert said.startswith(printable(name).strip()) and len(said) < 200
        app.upload(name, saved(corners(), "PNG")).fine()
        assert app.values()["photo"] == session.UPLOAD
        assert any(printable(name).strip() in said for said in app.sentences("caption")), name


def test_a_name_is_not_markdown():
    app = App("patches").upload("![](x)*_`$a$:red[b].jpg", b"")
    assert app.at.error[0].value.startswith(r"\!\[\]\(x\)\*\_\`\$a\$\:red\[b\].jpg is empty")


ODD = {
    "frames.gif": (lambda: animated("GIF"), "3 frames: the first one is shown."),
    "deep.png": (lambda: saved(Image.fromarray(np.linspace(0, 65535, 64 * 64).astype(np.uint16).reshape(64, 64)), "PNG"), "16-bit"),
    "inks.jpg": (lambda: saved(flat((0, 255, 255, 0), mode="CMYK"), "JPEG"), "CMYK"),
    "glass.png": (lambda: saved(flat((200, 0, 0, 90), mode="RGBA"), "PNG"), "Transparent"),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_an_odd_photo_is_shown_with_a_note(name):
    make, note = ODD[name]
    app = App("patches").upload(name, make()).fine()
    assert app.values()["photo"] == session.UPLOAD and not app.at.error
    assert any(note in said for said in app.sentences("caption"))
    assert app.go("attention").fine().charts()


def test_somebody_elses_upload_is_not_in_a_link():
    app = App("patches", photo="mine.png").fine()
    assert app.values()["photo"] == session.samples()[0]["id"]
    assert session.UPLOAD not in app.at.selectbox(key="photo").options


# Numbers


@pytest.mark.parametrize("settings", [
    {}, {"fusion": "max", "discard": 60}, {"fusion": "min", "residual": 20, "first": 4}, {"ask": True, "query": 33},
], ids=str)  # fmt: skip
def test_the_rollout_on_the_page_is_vitcores(settings, shipped):
    app = App("attention").set(**{k: v for k, v in settings.items() if k != "query"})
    if "query" in settings:
        app.set(query=settings["query"])
    first = session.samples()[0]["id"]
    rec = vitcore.record(shipped, sample(first), fusions=("mean", "max", "min"))
    start = rec.grid.prefix + settings["query"] if "query" in settings else None
    expected = rec.rollout(
        start, settings.get("fusion", "mean"), discard_ratio=settings.get("discard", 0) / 100,
        residual=settings.get("residual", 50) / 100, first_block=settings.get("first", 0),
    )  # fmt: skip
    told = app.fine().component("gathered")
    assert np.allclose(told["values"], 100 * expected.ravel(), atol=1e-3)
    assert told["selected"] == settings.get("query")


def test_the_distances_on_the_page_are_vitcores(shipped):
    first = session.samples()[0]["id"]
    rec = vitcore.record(shipped, sample(first))
    app = App("distance").fine()
    for way, px in (("drop", rec.distance_px), ("renormalise", rec.distance_renormalised_px)):
        table = app.set(cls=way).at.dataframe[0].value
        assert np.allclose(table.iloc[:, 1:].to_numpy(), px, atol=0.051)


def test_the_average_over_photos_is_the_mean_of_each(shipped):
    names = ["cat", "rocket"]
    app = App("distance", over="folder").fine()
    assert len(app.at.info) == 1 and not app.charts()
    picker = app.at.get_by_key("folder")
    for name in names:
        picker.upload(f"{name}.jpg", sample(name))
    picker.upload("text.jpg", BAD["text.jpg"])
    app.run().fine()
    assert any("text.jpg" in said for said in app.sentences("caption"))
    expected = np.mean([vitcore.record(shipped, sample(name)).distance_px for name in names], 0)
    assert np.allclose(app.at.dataframe[0].value.iloc[:, 1:].to_numpy(), expected, atol=0.051)
    assert "2 images" in app.charts()[0]["layout"]["title"]["subtitle"]["text"]


def test_the_average_can_be_stopped_and_goes_on(monkeypatch):
    monkeypatch.setattr(session, "sample_files", lambda: [(f"{n}.jpg", sample(n)) for n in ("cat", "rocket", "crab")])
    go_on = session.go_on
    with monkeypatch.context() as patch:

        def stopped_after_one(vit, photos, mean):
            yield next(go_on(vit, photos, mean))
            mean.stopped = True  # what the button does, in the run that interrupts this one

        patch.setattr(session, "go_on", stopped_after_one)
        app = App("distance").set(over="samples").fine()
    assert "1 image" in app.charts()[0]["layout"]["title"]["subtitle"]["text"]
    app.run().fine()
    assert "1 image" in app.charts()[0]["layout"]["title"]["subtitle"]["text"], "stopped means stopped"
    next(b for b in app.at.button if b.label == "Go on").click()
    app.run().fine()
    assert "3 images" in app.charts()[0]["layout"]["title"]["subtitle"]["text"]


def bars(chart: dict) -> list[tuple[str, float]]:
    """The answer a chart of the top 5 tells: label as written on it, share in percent."""
    texts = [note["text"].partition(" <b>")[0] for note in chart["layout"]["annotations"]]
    return list(zip(texts, chart["data"][0]["x"], strict=True))


@pytest.mark.parametrize("kind", [DEFAULT, "registers", "wide"])
def test_shuffled_patches_with_their_positions_give_the_same_answer(kind, kinds, offer):
    offer({k: v for k, v in kinds.items() if k == kind})
    app = App("patches", model=kind, shuffle="true").fine()
    ordered, scrambled, moved = (bars(app.chart(title)) for title in ("Patches in", "Patches shuffled, positions stay",
                                                                      "Patches shuffled, positions move"))  # fmt: skip
    assert [label for label, _ in ordered] == [label for label, _ in moved]
    assert np.allclose([p for _, p in ordered], [p for _, p in moved], atol=1e-2)
    assert scrambled != ordered
    assert any("the answer is the same" in said for said in app.sentences("caption"))
    order = app.component("split")["order"]
    assert sorted(order) == list(range(len(order))) and order != sorted(order)
    other = app.set(seed=5).component("split")["order"]
    assert other != order


def test_the_filters_and_positions_on_the_page_are_vitcores(shipped):
    app = App("filters", components="12").fine()
    found = filters.components(zoo.patch_kernel(shipped))
    assert np.allclose(session.components(DEFAULT).variance, found.variance)
    assert app.chart("The first 12")
    position = App("positions", position="40").fine()
    cosine = positions.similarity(zoo.positions(shipped))
    number = float(position.at.metric[0].value)
    assert number == pytest.approx(positions.correlation_with_distance(cosine, shipped.grid), abs=0.006)


def test_the_patch_on_the_page_is_the_patch(shipped):
    rec = vitcore.record(shipped, sample(session.samples()[0]["id"]))
    app = App("patches", patch="37").fine()
    left, top, right, bottom = rec.grid.box_px(37)
    numbers = rec.seen.pixels[top:bottom, left:right].ravel()
    assert app.at.code[0].value.split() == [str(v) for v in numbers]
    assert any("Patch 37: row 2, column 5" in said for said in app.sentences("markdown"))
    assert any("N = HW/P² = 128·128 / 8·8 = **256 patches**" in said for said in app.sentences("markdown"))
    assert any("becomes token 38 of 257" in said for said in app.sentences("caption"))


def test_prose_has_every_word_a_page_asks_for():
    import re

    for slug in SLUGS:
        source = (MAIN.parent / "views" / f"{slug}.py").read_text()
        asked = set(re.findall(r'text\["([^"]+)"\]', source)) | set(re.findall(r'text\["([^"]+)" if', source))
        assert asked <= session.prose(slug).keys()
