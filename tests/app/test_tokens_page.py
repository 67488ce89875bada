"""The page Tokens without a browser: what its picture is given equals the library's numbers, masked and unmasked."""

import io
from functools import partial

import numpy as np
import pytest
from picture_files import corners, flat, saved
from PIL import Image
from visitor import App

import vitcore
from app import texts
from app.state.jobs import photo_search_job
from app.state.memory import memory_cache
from app.state.recordings import patch_token_bytes_for_browser
from vitcore.assets import asset_path
from vitcore.forward.mask_outliers import outliers_in_recording
from vitcore.tokens.photo_search import PhotoIndex

TEXT = texts.prose("tokens", "en")
PHOTOS = [asset_path("samples/red-panda.jpg"), asset_path("samples/cat.jpg")]
LAYER = 8


def given(app: App) -> dict:
    return app.fine().component("tokens")


@pytest.mark.parametrize("mask", [False, True])
def test_the_picture_has_the_librarys_numbers(files, shipped, mask):
    data = given(App("tokens", tokens_of="Keys", tokens_view="Segments", segments="4",
                     mask_outliers=str(mask).lower()))  # fmt: skip
    tokens = vitcore.patch_tokens(shipped, PHOTOS, "keys", mask_outliers=mask)
    read = lambda key, kind: np.frombuffer(files[data[key]], kind)  # noqa: E731
    found = vitcore.pca(tokens, 0)
    assert np.abs(read("colours", np.uint8).reshape(12, 2, 256, 3)[0].astype(int) - found.colours().astype(int)).max() <= 1
    np.testing.assert_allclose(read("first", np.float32).reshape(12, 2, 256)[LAYER],
                               vitcore.pca(tokens, LAYER).first_component(), atol=1e-3)  # fmt: skip
    for way, pair in enumerate(((0, 1), (1, 0))):
        rows, matches = (
            read("matches", np.float32).reshape(2, 12, 5, 256)[way, LAYER],
            vitcore.correspondences(tokens, *pair, LAYER),
        )
        np.testing.assert_allclose(rows[1], matches.cosine, atol=1e-5)
        assert (rows[0] == matches.best).mean() > 0.99 and (rows[4] == matches.cycle_consistent).mean() > 0.99
    labels = read("segments", np.int8).reshape(12, 2, 256)
    assert set(np.unique(labels)) == ({-1, 0, 1, 2, 3} if mask else {0, 1, 2, 3})
    units = [np.frombuffer(files[urls[LAYER]], np.int8).reshape(256, -1).astype(np.float32) for urls in data["vectors"]]
    units = [one / np.linalg.norm(one, axis=1, keepdims=True) for one in units]
    exact = vitcore.cosine_similarity(tokens, 136)[LAYER]
    assert np.abs(np.stack([one @ units[0][136] for one in units]) - exact).max() < 0.01, "as drawn, to the second digit"
    outliers = [outliers_in_recording(vitcore.record(shipped, photo)).patches.tolist() for photo in PHOTOS]
    assert data["out"] == (outliers if mask else [[], []]) and data["unmasked"] == ([[], []] if mask else outliers)
    assert (data["outlier_shares"] == []) == mask and data["state"]["view"] == "segments"


def test_the_download_draws_what_the_page_shows(monkeypatch):
    taken = {}
    monkeypatch.setattr(
        "app.views.tokens.tokens_controls_and_picture.show_downloads", lambda make, key, **rest: taken.update(rest, make=make)
    )
    App("tokens", layer=str(LAYER)).fine()
    found = vitcore.pca(vitcore.patch_tokens(vitcore.load(), PHOTOS), LAYER)
    drawn = [raster.pixels.astype(int) for raster in taken["make"]().rasters]
    assert taken["colours"].shape == (2, 256, 3) and taken["share_of_variance"] == pytest.approx(found.share.sum(), abs=1e-3)
    for pixels, colours in zip(drawn, taken["colours"], strict=True):
        each = pixels.reshape(16, pixels.shape[0] // 16, 16, -1, 3).mean((1, 3)).reshape(256, 3)
        differences = each - each[:1], (colours - colours[:1].astype(float)) * patch_token_bytes_for_browser.PHOTO_SHARE
        assert np.abs(differences[0] - differences[1]).max() < 3, "the detail has one mean in every patch"


@pytest.mark.parametrize(("view", "method"), [("foreground", "kmeans"), ("segments", "kmeans"), ("segments", "normalised_cut")])
def test_the_download_is_of_the_view_that_is_chosen(files, monkeypatch, view, method):
    taken = {}
    monkeypatch.setattr(
        "app.views.tokens.tokens_controls_and_picture.show_downloads", lambda make, key, **rest: taken.update(rest, make=make)
    )
    app = App("tokens", layer=str(LAYER), tokens_view=TEXT[f"tokens_view.{view}"], grouping=TEXT[f"grouping.{method}"]).fine()
    data, cut = given(app), method == "normalised_cut"
    read = lambda key, kind: np.frombuffer(files[data[key]], kind).reshape(12, 2, 256)[LAYER]  # noqa: E731
    labels = read("first", np.float32) > 0 if view == "foreground" else read("segments", np.int8)
    means = np.stack(
        [photo.grid.cut(photo.model_input.pixels).mean((1, 2)) for photo in map(partial(vitcore.record, vitcore.load()), PHOTOS)]
    )
    for label in np.unique(labels):
        colours, own = taken["colours"][labels == label].astype(float), means[labels == label]
        if view == "segments" and not cut:
            assert len(np.unique(colours, axis=0)) == 1, "a segment has one colour"
        else:
            np.testing.assert_allclose(colours, own if label else patch_token_bytes_for_browser.DIMMED * own, atol=1)
    title = taken["make"]().title
    assert title == TEXT[f"title {'cut' if cut else view}"].format(layer=LAYER), "and is called so"


def test_the_download_of_a_chosen_patch_is_its_similarity_as_the_page_lights_it(shipped, monkeypatch):
    """In place of the view, also in the film; each photo's scale is named, and what is left out is dark."""
    taken = {}
    monkeypatch.setattr(
        "app.views.tokens.tokens_controls_and_picture.show_downloads", lambda make, key, **rest: taken.update(rest, make=make)
    )
    App("tokens", layer=str(LAYER), patch="136", tokens_view=TEXT["tokens_view.segments"], mask_outliers="true").fine()
    tokens = vitcore.patch_tokens(shipped, PHOTOS, mask_outliers=True)
    exact = vitcore.cosine_similarity(tokens, 136)[LAYER]
    np.testing.assert_allclose(taken["cosine"], exact, atol=1e-5)
    kept = [np.sort(one[~out]) for one, out in zip(exact, tokens.left_out, strict=True)]
    for colours, one, out, own in zip(taken["colours"], exact, tokens.left_out, kept, strict=True):
        bright = colours.astype(int).sum(-1)
        assert (bright[out] == bright.min()).all() and out.any(), "what is left out is dark"
        assert bright[np.where(out, -1, one).argmax()] == bright.max() and (bright[one < own[len(own) // 2]] == bright.min()).all()
    drawn = taken["make"]()
    assert drawn.title.startswith(f"Similarity to patch 136 (row 8, column 8) · layer {LAYER}")
    assert f"cosine {np.median(kept[0]):.2f} to 1.00" in drawn.subtitle
    film = Image.open(io.BytesIO(taken["animation"]()))
    assert film.n_frames >= 12 and film.width > film.height


def test_a_second_photo_is_never_the_first_and_what_a_model_lacks_is_said(kinds, offer):
    app = App("tokens").fine()
    assert given(app)["second"] == "Chelsea the cat" and given(app)["segments"] is None
    found = patch_token_bytes_for_browser.segment_ious_by_name(vitcore.load())
    backed = f"The best of 5 segments (k-means) has a mean IoU of {found['kmeans'].iou:.2f} with the object."
    assert f"rollout has {found['rollout'].iou:.2f} and the middle" in app.text("caption") and backed in app.text("caption")
    app.set(photo="cat").fine()
    assert given(app)["second"] == "Red panda"
    offer(distilled=kinds["distilled"])
    app.set(model="distilled").fine()
    assert "mean IoU" not in app.text("caption"), "of another model nothing was measured"
    data = given(app)
    assert data["grid"]["rows"] * data["grid"]["cols"] == kinds["distilled"].grid.patches
    app.set(tokens_view="segments", grouping="normalised_cut", whiten=False, threshold=1.0).fine()
    assert given(app)["cut"] and given(app)["state"]["threshold"] == 1.0


def test_a_second_photo_may_be_ones_own_and_goes_along_in_the_film(files, shipped, tmp_path, monkeypatch):
    taken = {}
    monkeypatch.setattr("app.views.tokens.tokens_controls_and_picture.show_downloads", lambda make, key, **rest: taken.update(rest))
    mine = saved(corners((300, 200)), "PNG")
    app = App("tokens").fine().upload("mine.png", mine, "second_file")
    data = given(app)
    assert app.values()["second_photo"] == "your-second-photo" and data["second"] == "Your second photo"
    (tmp_path / "mine.png").write_bytes(mine)
    tokens = vitcore.patch_tokens(shipped, [PHOTOS[0], tmp_path / "mine.png"])
    matches = np.frombuffer(files[data["matches"]], np.float32).reshape(2, 12, 5, 256)[0, LAYER]
    np.testing.assert_allclose(matches[1], vitcore.correspondences(tokens, layer=LAYER).cosine, atol=1e-5)
    film = Image.open(io.BytesIO(taken["animation"]()))
    assert film.n_frames >= 12 and film.width > film.height, "both photos side by side, made of keys alone"

    uploads = [key for key in memory_cache.CACHE.keys() if key[0] == "second upload"]
    (kept,) = [key for key in uploads if memory_cache.CACHE.peek(key) == (mine, "mine.png")]  # of this visitor
    assert memory_cache.CACHE._entries[kept].pinned, "counted in the budget and kept, as any upload"
    app.upload("broken.png", mine[:99], "second_file")
    assert given(app)["second"] == "Your second photo" and app.sentences("error")[0].startswith("broken.png is")
    app.upload("first.png", saved(flat(), "PNG")).set(photo="cat").fine()
    assert given(app.set(second_photo="your-photo"))["second"] == "Your photo"
    assert "your-photo" != app.set(photo="your-photo").values()["second_photo"], "never the first"


def test_photos_nearest_to_the_photo_and_to_its_patch_of_the_gallery_and_of_a_folder(kinds, offer, tmp_path, monkeypatch):
    monkeypatch.setenv("VITCORE_INDEX", str(tmp_path / "index"))
    offer(registers=kinds["registers"])
    wall = lambda app: [image.proto.imgs[0].caption for image in app.fine().at.get("image")]  # noqa: E731
    app = App("tokens", model="registers", photo="cat").fine()
    assert wall(app) == [], "no photo is run before it is asked for"
    app.press("search")
    found = wall(app)
    assert len(found) == photo_search_job.SHOWN and found == sorted(found, key=lambda one: -float(one.split(" · ")[-1]))
    assert "Chelsea" not in "".join(found), "the photo itself is no find"
    with monkeypatch.context() as patch:
        patch.setattr(PhotoIndex, "nearest", lambda *_: [])
        assert len(wall(app.run())) == photo_search_job.SHOWN, "what was found is not looked for again"
    assert "Chelsea" not in "".join(wall(app.set(search_by="patch", patch=3)))
    assert "The other photos with the patch most like patch 3" in app.text("caption")

    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "torn.png").write_bytes(saved(corners(), "PNG")[:70])
    for name in ("crab", "cat"):
        (tmp_path / "photos" / f"{name}.jpg").write_bytes(asset_path(f"samples/{name}.jpg").read_bytes())
    app.set(search_in="own").set(search_folder=str(tmp_path / "nowhere")).press("search")
    assert app.sentences("error") == [f"{tmp_path / 'nowhere'} is not a folder."] and wall(app) == []
    app.set(search_folder=str(tmp_path / "photos"), search_by="photo").press("search")
    assert [one.partition(" ")[0] for one in wall(app)] == ["crab.jpg"] and "torn.png is damaged" in app.text("caption")
    assert len(list((tmp_path / "index").rglob("*.npy"))) == 2, "kept by what the photos hold"

    monkeypatch.setenv("INSIDE_VIT_PUBLIC", "1")
    app = App("tokens", model="registers", search_in="own", search_folder=str(tmp_path / "photos")).fine()
    assert "search_folder" not in app.controls and app.at.button(key="search").disabled, "a public server opens no folder"
    app.upload("mine.jpg", asset_path("samples/crab.jpg").read_bytes(), "search_files").press("search")
    assert [one.partition(" ")[0] for one in wall(app)] == ["mine.jpg"]
    assert len(list((tmp_path / "index").rglob("*.npy"))) == 2, "and keeps nothing of visitors on disk"
    refused = photo_search_job.make_own_index(kinds["registers"], (str(tmp_path), ()), lambda done, count: None)
    assert refused == "This server is open to everybody, so it opens no folders of its own."


@pytest.mark.filterwarnings("ignore")
def test_words_of_a_clip_model_are_the_librarys_and_offline_one_sentence(offer, monkeypatch):
    import torch
    from transformers import CLIPConfig, CLIPModel

    from vitcore.tokens import words_and_photos

    small = {"hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 96}
    text = small | {"vocab_size": 60, "max_position_embeddings": 8, "eos_token_id": 59, "bos_token_id": 58, "pad_token_id": 1}
    torch.manual_seed(0)
    clip = CLIPModel(CLIPConfig(vision_config=small | {"image_size": 32, "patch_size": 8}, text_config=text)).eval()
    vit = vitcore.wrap(clip, name="tiny_clip_32")
    offer({"tiny_clip_32": vit})
    monkeypatch.setattr("open_clip.create_model_from_pretrained", lambda where: next(iter(())))
    app = App("tokens", model="tiny_clip_32", words="cat, bee").fine()
    assert app.sentences("info") == ["The text tower of tiny_clip_32 can't be downloaded now."] and not app.charts()

    ids = lambda texts: torch.tensor([[58, *(ord(letter) % 50 + 2 for letter in one[-4:-1]), 59] for one in texts])  # noqa: E731
    tower = words_and_photos.text_tower(clip, lambda texts: {"input_ids": ids(texts)})
    monkeypatch.setattr(words_and_photos, "load_text_tower", lambda vit: tower)
    app = App("tokens", model="tiny_clip_32", words="cat, bee", word="1").fine()
    found = words_and_photos.match_words(vit, tower, PHOTOS[0], ["cat", "bee"])
    answers, drawn = app.chart("Answers among these words"), app.chart("Patches like “bee”")
    np.testing.assert_allclose(sorted(answers["data"][0]["x"]), sorted(100 * found.probabilities), atol=1e-2)
    assert drawn and not app.at.info
    assert "words" not in App("tokens").fine().controls, "a model that learned no texts isn't asked"
