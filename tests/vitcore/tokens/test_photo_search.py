"""Photos nearest to a photo or a patch: vectors are the model's own tokens, and what was run once is read again by its hash."""

import numpy as np
import pytest
from picture_files import corners, flat, saved

import vitcore
from tests.vitcore.interventions.conftest import make_kind
from vitcore.images import PhotoError, open_photo
from vitcore.tokens import photo_search
from vitcore.tokens.photo_search import index_photos, photo_vectors


@pytest.mark.parametrize("kind", ["registers", "mean", "attention pool"])
def test_vectors_are_the_models_own_tokens(kind):
    vit = make_kind(kind)
    photos = [open_photo(np.random.default_rng(seed).integers(0, 255, (70, 90, 3), np.uint8)) for seed in (0, 1)]
    found, prefix = photo_vectors(vit, photos, 1), vit.grid.prefix
    plain = vitcore.cache(vit, photos, ["resid_post"])
    ends = plain["resid_post", -1].numpy()
    for one, expected in ((found[:, 1:], plain["resid_post", 1].numpy()[:, prefix:]),
                          (found[:, 0], ends[:, 0] if "class" in vit.pooling else ends[:, prefix:].mean(1))):  # fmt: skip
        np.testing.assert_allclose(one, expected / np.linalg.norm(expected, axis=-1, keepdims=True), atol=1e-5)


def test_a_folder_is_run_once_and_the_photo_and_its_patch_are_found(shipped, tmp_path, monkeypatch):
    photos, kept = tmp_path / "photos", tmp_path / "index"
    photos.mkdir()
    for name in ("cat", "crab", "macaw"):
        (photos / f"{name}.jpg").write_bytes(vitcore.assets.asset_path(f"samples/{name}.jpg").read_bytes())
    (photos / "torn.png").write_bytes(saved(corners(), "PNG")[:70])
    listed, told = [(file.name, file) for file in sorted(photos.iterdir())], []
    on_disk = index_photos(shipped, listed, folder=kept, on_progress=lambda *done: told.append(done))
    assert on_disk.names == ("cat.jpg", "crab.jpg", "macaw.jpg") and told == [(4, 4)]
    assert len(on_disk.problems) == 1 and on_disk.problems[0].startswith("torn.png is damaged")

    asked = photo_vectors(shipped, [open_photo(photos / "crab.jpg")])[0]
    in_memory = index_photos(shipped, [(name, source.read_bytes()) for name, source in listed[:3]])
    for index in (on_disk, in_memory):
        first, second, third = index.nearest(asked)
        assert index.names[first.photo] == "crab.jpg" and first.cosine == pytest.approx(1, abs=1e-3)
        assert 0.99 > second.cosine > third.cosine
        alike = [index.vectors[one.photo] for one in (second, third)]
        alike = [(np.load(one) if index is on_disk else one)[0].astype(np.float32) @ asked[0] for one in alike]
        assert [second.cosine, third.cosine] == pytest.approx(alike, abs=1e-3)
        assert index.nearest(asked, patch=100, count=1) == [(first.photo, pytest.approx(1, abs=1e-3), 100)]
    with pytest.raises(ValueError, match="a patch is from 0 to 255, not 256"):
        in_memory.nearest(asked, patch=256)

    run, again = photo_vectors, []
    monkeypatch.setattr(photo_search, "photo_vectors", lambda vit, photos, layer: again.extend(photos) or run(vit, photos, layer))
    (photos / "cat.jpg").write_bytes(saved(flat(size=(90, 90)), "JPEG"))
    index_photos(shipped, listed, folder=kept)
    assert [photo.name for photo in again] == ["cat.jpg"], "what changed is run again, and nothing else"
    index_photos(shipped, listed[:1], layer=0, folder=kept)
    assert len(again) == 2 and len(list(kept.iterdir())) == 2, "another layer has vectors of its own"
    with pytest.raises(PhotoError, match="None of the 1 photo can be opened: torn"):
        index_photos(shipped, listed[3:], folder=kept)
    with pytest.raises(ValueError, match="1 to 2000 photos, not 0"):
        index_photos(shipped, [])
