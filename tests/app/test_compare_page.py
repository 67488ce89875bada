"""Compare: both models' pictures are vitcore's, what can't be had is said, and pairs are a touch away."""

import re

import numpy as np
import pytest
from made_up_runs import a_run, give_model
from PIL import Image
from visitor import App

from app import texts
from app.state import preset_pairs, reports
from app.state.memory import visitor_storage
from app.state.memory.memory_cache import CACHE
from app.state.models import loaded_models
from app.state.photos import sample_photos
from app.state.recordings import cached_recordings
from app.state.recordings.model_comparisons import answer_agreement
from app.state.visit import second_model
from tests.shipping.preset_pair_pictures import draw_pair, example_pair
from vitcore.figures.heat_overlay import scale_top
from vitcore.file_names import result_file_name
from vitcore.forward.compare_models import compare, record_tokens
from vitcore.forward.mask_outliers import outliers_in_recording
from vitcore.images import open_photo
from vitcore.models import load_model
from vitcore.models.model_cards import DEFAULT_MODEL, MODEL_CARDS
from vitcore.models.random_weights import with_random_weights
from vitcore.translation import using_translation

TEXT = texts.prose("compare", "en")
TITLES = "Red panda", "Chelsea the cat"
PHOTO = sample_photos.SAMPLES / f"{sample_photos.sample_photo_rows()[0]['id']}.jpg"


@pytest.fixture(scope="module")
def expected(shipped):
    """The model that ships beside its own random weights, as the library compares them."""
    image = open_photo(PHOTO)
    return compare(record_tokens(shipped, image), record_tokens(with_random_weights(shipped), image))


def values(app: App, key: str) -> np.ndarray:
    return np.array(app.component(key)["values"])


def test_both_rollouts_and_their_difference_are_the_librarys(expected):
    alone = App("rollout").fine().component("gathered")
    app = App("compare").fine()
    for key, times in zip(("a_map", "b_map"), expected.times_even, strict=True):
        np.testing.assert_allclose(values(app, key) / app.component(key)["even"], times.ravel(), rtol=1e-3, atol=1e-4)
    one, times = app.component("a_map"), np.stack(expected.times_even)
    assert scale_top(times, 1) == scale_top(times[0], 1), "its own scale reaches as far"
    assert [one[key] for key in ("values", "even", "overlay")] == [alone[key] for key in ("values", "even", "overlay")]
    np.testing.assert_allclose(values(app, "differ"), expected.difference.ravel(), rtol=1e-2, atol=1e-3)
    assert {app.component(key)["group"] for key in ("a_map", "b_map", "differ")} == {"compared"}, "pointed at together"
    shown = [metric.value for metric in app.at.metric]
    mean = np.mean([value for *_, value in expected.cka_per_layer])
    assert shown == [f"{expected.rank_correlation:.2f}", f"{mean:.2f}", f"{expected.answers.shared_top5} / 5"]
    assert f"Rank correlation over 256 places: {shown[0]}." in app.text("markdown")
    called = [said for said in app.sentences("markdown") if re.match("### [AB] · Inside ViT Ti/8 · 128 px", said)]
    assert len(called) == 2 and any(re.search(r"There [AB] has", said) for said in app.sentences("markdown"))
    assert "Patch by patch" in app.text("caption")


def test_every_picture_of_both_with_its_number(expected):
    app, charts = App("compare"), {"distance": 2, "tokens": 1, "filters": 2, "positions": 0, "answers": 2}
    for picture, count in charts.items():
        app.set(picture=picture).fine()
        assert len(app.charts()) == count, picture
        assert any(re.search(r"\d", said) for said in app.sentences("markdown")), picture
        assert any(TEXT[f"limits {picture}"] in said for said in app.sentences("caption"))
    app.set(picture="attention").fine().set(layer=3, one_head=1).fine()
    one = cached_recordings.cached_recording(load_model.load(), open_photo(PHOTO)).head_maps(3)[1]
    np.testing.assert_allclose(values(app, "a_map"), 100 * one.ravel(), rtol=1e-2, atol=1e-3, err_msg="as on Attention")


def test_outliers_that_can_decide_how_alike_tokens_are_are_named():
    said = App("compare", photo="cat", picture="tokens").fine().sentences("markdown")
    found = outliers_in_recording(
        cached_recordings.cached_recording(load_model.load(), open_photo(sample_photos.SAMPLES / "cat.jpg"))
    )
    told = f"A has {len(found.patches)} outlier tokens of very large norm on this photo, from layer {found.first.min()} on"
    assert any(told in one for one in said) and not any(one.startswith("B has") for one in said)


def test_another_input_is_resampled_and_said_and_random_weights_take_it():
    app = App("compare", b="itself", b_px="64x64").fine()
    assert app.component("b_map")["rows"] == app.component("a_map")["rows"] == 8
    assert any("Resampled" in said and "8×8" in said for said in app.sentences("caption"))
    assert "Inside ViT Ti/8 · 128 px, given 64 px" in app.text("markdown")
    said = next(one for one in app.sentences("caption") if one.startswith("A: "))
    assert TEXT["one grid"].format(whose="B", other="A", rows=8, cols=8) in said
    first, second = re.findall(r"\*\*([<\d. ]+) %\*\*", said)
    assert first != second, "which one is more confident"
    app = App("compare", b="random", b_px="64x64").fine()
    assert not app.at.warning and app.component("b_map")["rows"] == 8
    redrawn, trained = (loaded_models.loaded_model(f"{DEFAULT_MODEL}~{kind}64x64") for kind in ("random~", ""))
    kernels = [vit.module.state_dict()["patch_embed.proj.weight"] for vit in (redrawn, trained)]
    assert redrawn.grid.image_px == (64, 64) and not np.allclose(*kernels)


def test_models_of_other_depths_are_asked_at_the_same_depth(kinds, offer):
    offer({"registers": kinds["registers"]})
    app = App("compare", b="registers", picture="attention", both_layer="11").fine()
    assert "Layer 11 of A is shown beside layer 2 of B, at the same depth" in app.text("caption")
    assert app.controls["one_head"].options == [str(i) for i in range(3)]
    app.set(layer=0, one_head=2, ask=True).set(query=15).fine()
    assert app.component("b_map")["selected"] == 15


def test_what_can_not_be_had_is_said_and_random_weights_stand_in(monkeypatch):
    asked = []

    def fetch(name, progress=None):
        asked.append(name)
        raise load_model.ModelError(f"{name} could not be downloaded: the hub can't be reached (ConnectError).")

    monkeypatch.setattr(load_model, "fetch_weights", fetch)
    app = App("compare", b=MODEL_CARDS[1].title).fine()
    (said,) = app.sentences("warning")
    assert "can't be reached" in said and said.endswith(TEXT["stays"].format(model=TEXT["b.random"]))
    assert app.values()["b"] == "random" and app.component("b_map"), "B goes back to the one before"
    app.set(picture="answers").fine()
    assert asked == [MODEL_CARDS[1].name], "not at every touch"
    app.press("Try again")
    assert asked == 2 * [MODEL_CARDS[1].name]
    assert app.values()["b"] == "random" and app.at.warning
    app.set(b="itself").fine()
    assert not app.at.warning
    app.set(b=MODEL_CARDS[1].name).fine()
    assert app.values()["b"] == "itself" and asked == 3 * [MODEL_CARDS[1].name]


def test_in_public_only_models_of_the_menu(monkeypatch):
    monkeypatch.setenv("INSIDE_VIT_PUBLIC", "1")
    monkeypatch.setattr(load_model, "fetch_weights", lambda name, progress=None: pytest.fail(name))
    app = App("compare", b="vit_small_patch8_224.augreg2_in21k_ft_in1k").fine()
    assert texts.prose("common", "en")["off downloads"] in app.sentences("warning")[0]
    labels = {button.label for button in app.at.button}
    assert TEXT["ready dino"] in labels and TEXT["ready tuned"] not in labels, "one of them is not in the menu"


def test_two_photos_are_compared_side_by_side(shipped):
    cat = sample_photos.SAMPLES / "cat.jpg"
    alone = [App("rollout", photo=name).fine().component("gathered") for name in (PHOTO.stem, "cat")]
    app = App("compare", b="itself", b_photo="cat", view="curtain").fine()
    for key, one in zip(("a_map", "b_map"), alone, strict=True):
        found = app.component(key)
        np.testing.assert_allclose(values(app, key) / found["even"], np.array(one["values"]) / one["even"], rtol=1e-3, atol=1e-4)
    assert app.component("a_map")["detail"] != app.component("b_map")["detail"], "each on its own"
    recs = [cached_recordings.cached_recording(load_model.load(), open_photo(file)) for file in (PHOTO, cat)]
    agreed = answer_agreement(*recs)
    far = [100 * rec.distance_renormalised_px.mean() / 128 for rec in recs]
    shown = [metric.value for metric in app.at.metric]
    assert shown == [f"{far[0]:.1f} · {far[1]:.1f} %", f"{agreed.divergence_bits:.2f}", f"{agreed.shared_top5} / 5"]
    assert TEXT["two photos"] in app.text("caption") and "A minus B" not in app.text("markdown")
    drawn = "".join(one.proto.id for one in app.at.get("bidi_component"))
    assert "a_map" in drawn and "differ" not in drawn and "both_maps" not in drawn and "view" not in app.controls
    called = [said for said in app.sentences("markdown") if re.match("### [AB] · ", said)]
    assert called == [f"### {letter} · {title} · Inside ViT Ti/8 · 128 px" for letter, title in zip("AB", TITLES, strict=True)]
    app.set(ask=True).set(patch=40).fine()
    assert app.component("a_map")["selected"] == app.component("b_map")["selected"] == 40, "the same place of both"
    for picture, count in {"attention": 0, "distance": 2, "filters": 2, "positions": 0, "answers": 2}.items():
        app.set(picture=picture).fine()
        assert len(app.charts()) == count, picture
        assert (TEXT["same model"] in app.text("caption")) == (picture in ("filters", "positions"))
    app.set(picture="tokens").fine()
    assert app.charts() == [] and TEXT["no tokens of two"] in app.sentences("info")
    led = {one.proto.label: one.proto.page for one in app.at.get("page_link")}
    assert [led[TEXT[f"photos {page}"]] for page in ("tokens", "switch")] == ["tokens", "switch"]


def test_with_another_photo_comes_the_same_model():
    app = App("compare").fine().set(b_photo="espresso").fine()
    assert app.values()["b"] == "itself", "random weights on another photo would tell nothing"
    app.set(b="random").fine()
    assert app.values()["b"] == "random" and app.values()["b_photo"] == "espresso", "unless that is what is asked"
    app.set(b="itself").set(photo="espresso").fine()
    assert app.values() | {"b": "random", "b_photo": "same"} == app.values(), "the first photo is no second one"
    assert app.component("differ") and app.at.metric[1].label == TEXT["alike tokens"]
    app.set(b_photo="cat").press(TEXT["ready size"])
    assert app.values() | {"b": "itself", "b_px": "64x64", "b_photo": "same"} == app.values(), "a ready pair is of one photo"


def test_ones_own_second_photo_is_in_files_and_in_no_link(monkeypatch):
    asked = []
    monkeypatch.setattr("app.views.compare.comparison_handout_section.download_button", lambda *given, **more: asked.append(given))
    app = App("compare").fine().upload("my dog.png", (sample_photos.SAMPLES / "cat.jpg").read_bytes(), "b_file").fine()
    assert app.values() | {"b": "itself", "b_photo": "your-second-photo"} == app.values()
    _, make, kind, names = asked[-1]
    page = make().decode()
    assert result_file_name(kind, *names).startswith(f"compare-{PHOTO.stem}-my-dog-")
    assert f"<h1>{TITLES[0]} · my dog.png</h1>" in page and f"assets/samples/{PHOTO.stem}.jpg &#39;my dog.png&#39;" in page
    assert texts.prose("report", "en")["lacks second photo"] in app.component("copy_link")["note"]
    theirs = App("compare", b="itself", b_photo="Your second photo").fine()
    told = texts.prose("common", "en")["missing second photo"]
    assert [one.value for one in theirs.at.toast] == [told] and theirs.values()["b_photo"] == "same"
    for photo, shown in (("cat", "cat"), ("Espresso", "espresso"), (PHOTO.stem, "same")):  # the last is the first photo
        theirs = App("compare", b_photo=photo).fine()
        assert list(theirs.at.toast) == [] and theirs.values()["b_photo"] == shown
    again = App("compare", b_photo="Espresso").fine().set(picture="answers").fine()
    assert again.values()["b"] == "random", "the photo came with the link and was not changed: B stays as the link says"
    names = list(visitor_storage._last_visits)
    for name in names:
        visitor_storage.forget_visitor(name)
    assert names and not [key for key in CACHE.keys() if any(name in repr(key) for name in names)], "all of a visitor is forgotten"


def test_a_ready_pair_is_one_touch():
    app = App("compare")
    app.press(TEXT["ready size"])
    assert app.values() | {"b": "itself", "b_px": "64x64", "picture": "rollout"} == app.values()
    app.set(picture="answers").fine().press(TEXT["ready random"])
    assert app.values() | {"b": "random", "picture": "answers"} == app.values(), "a chosen kind of picture stays"
    drawn = [html for one in app.at.get("html") if "<img" in (html := one.proto.body)]
    assert len(drawn) == len(preset_pairs.PRESET_PAIRS), "each pair has a picture"
    grey = TEXT["ready example"].format(model=MODEL_CARDS[0].title)
    assert any(grey in said for said in app.sentences("caption")), "whose picture stands for those that are not here"
    named = {name for one in preset_pairs.PRESET_PAIRS for name in (one.first, one.second) if name}
    listed = named - {second_model.RANDOM, second_model.ITSELF}
    assert listed - {card.name for card in MODEL_CARDS} == preset_pairs.UNLISTED_MB.keys(), "the size of every download is known"


def test_the_pictures_of_ready_pairs_are_what_is_computed_now(shipped):
    """If this fails after a change of the model, the photo or a drawing: python -m tests.shipping.preset_pair_pictures"""
    example = example_pair()
    expected = {f"example-{one.picture}": (example, one.picture) for one in preset_pairs.PRESET_PAIRS}
    expected["random"] = (shipped, with_random_weights(shipped)), "rollout"
    expected["size"] = example_pair(0.5), "rollout"
    for name, (vits, picture) in expected.items():
        kept = np.asarray(Image.open(preset_pairs.PICTURES / f"{name}.webp").convert("RGBA")).astype(int)
        computed = draw_pair(*vits, picture).astype(int)
        on_black = [one[..., :3] * one[..., 3:] / 255 for one in (kept, computed)]
        assert kept.shape == computed.shape and np.abs(on_black[0] - on_black[1]).mean() < 4, name
    assert all(preset_pairs.preset_pair_picture(one).file.is_file() for one in preset_pairs.PRESET_PAIRS)
    assert sum(file.stat().st_size for file in preset_pairs.PICTURES.iterdir()) < 150_000


def test_a_run_stands_beside_its_checkpoint(make_module):
    import torch
    from safetensors.torch import save_file

    run, later = a_run(), make_module()
    give_model(run, later)
    before = run.path / "checkpoint-before"
    before.mkdir()
    save_file({f"vit.{k}": v.contiguous() for k, v in make_module(seed=1).state_dict().items()}, before / "model.safetensors")
    torch.save({"step": 30, "best": 0.0}, before / "custom_checkpoint_0.pkl")
    app = App("compare", model="runs/demo", b="checkpoint-before").fine()
    assert any("runs/demo, step 30" in said.replace("run demo", "runs/demo") for said in app.sentences("markdown"))
    assert float(app.at.metric[0].value.replace("−", "-")) < 1
    assert app.controls["b_px"].disabled, "no size: what is opened again is the run's model"
    app.set(model=DEFAULT_MODEL).fine()
    assert app.values()["b"] == "random", "the other model has no checkpoints"


def test_the_handout_is_made_of_names_alone(shipped):
    from vitcore.report.report_settings import ReportOrigin

    key, words = open_photo(PHOTO).key, texts.translation_table("zh-CN")
    origin = ReportOrigin(lang="zh-CN")
    with using_translation(words):
        names = DEFAULT_MODEL, f"{DEFAULT_MODEL}~random", key, key
        made = reports.comparison_handout(names, ("one", "two"), origin, (PHOTO.stem, PHOTO.stem), False)
        made = made.decode()
        assert (
            'lang="zh-CN"' in made and "秩相关" in made and "one" in made and sample_photos.sample_photo_rows()[0]["author"] in made
        )
