"""Many photos in batches: each photo's numbers are `record`'s, memory stays bounded, and what can't be opened is named."""

import gc
import json
import threading
import time
import warnings

import numpy as np
import pytest
import torch
from PIL import Image
from scipy import stats
from torch.utils.data import DataLoader

import vitcore
from tests.picture_files import saved
from vitcore.analysis.attention_distance import mean_interval
from vitcore.architectures.axial_vit import AxialViT
from vitcore.figures import print_figure
from vitcore.forward.recording import Recording, record
from vitcore.forward.recordings.mean_distance import mean_distance
from vitcore.forward.recordings.record_many import KEEPABLE, SkippedPhotosWarning, record_many
from vitcore.images import PhotoError, open_photo, photos_in_folder

NUMBERS = [name for name in KEEPABLE if name not in ("recording", "top_classes")]
KINDS = {
    "class token": {}, "registers": {"reg_tokens": 4}, "rectangle": {"img_size": (32, 48)},
    "attention pool": {"class_token": False, "global_pool": "map", "reg_tokens": 3},
}  # fmt: skip


def quiet(vit, photos, **settings):
    return record_many(vit, photos, progress=False, **settings)


@pytest.fixture
def folder(tmp_path, noise):
    for i in range(5):
        (tmp_path / f"{i}.png").write_bytes(saved(noise(i, (60 + i, 50)), "PNG"))
    return tmp_path


@pytest.mark.parametrize("kind", [*KINDS, "axial"])
@pytest.mark.parametrize("workers", [0, None])
def test_each_photo_s_numbers_are_those_of_record(folder, make_vit, kind, workers):
    torch.manual_seed(0)
    axial = lambda: vitcore.wrap(AxialViT((16, 24), 8, embed_dim=8, depth=2, num_heads=2, num_classes=3).eval())  # noqa: E731
    vit = axial() if kind == "axial" else make_vit(**KINDS[kind])
    found = list(quiet(vit, folder, batch=3, keep=[*NUMBERS, "top_classes"], workers=workers))
    assert [(one.index, one.name) for one in found] == [(i, f"{i}.png") for i in range(5)]
    for one in found:
        rec = record(vit, folder / one.name)
        for name in NUMBERS:
            expected = getattr(rec, name)
            expected = expected() if callable(expected) else expected
            np.testing.assert_allclose(getattr(one, name), expected, rtol=1e-5, atol=1e-5, err_msg=name)
        assert {*NUMBERS, "index", "name"} <= {*dir(one)}, "completion shows what is kept"
        assert [label for label, _ in one.top_classes] == [label for label, _ in rec.top_classes()]


def test_images_that_attend_alike_are_not_taken_for_each_other(make_vit, noise):
    """A batch whose watchers were mixed up would give the second photo the first one's numbers."""
    vit = make_vit()
    one, two = quiet(vit, [noise(1), noise(2)], keep=["rollout", "norms"])
    assert not np.allclose(one.rollout, two.rollout) and not np.allclose(one.norms, two.norms)


def test_a_mask_for_each_image_is_that_image_s(make_vit, noise):
    vit = make_vit()
    masks = torch.ones(2, 1, 17, 17, dtype=torch.bool)
    masks[1] = masks[1].tril()
    forward = vit.module.blocks[1].attn.forward
    vit.module.blocks[1].attn.forward = lambda x, **_: forward(x, attn_mask=masks)
    free, bound = quiet(vit, [noise(1), noise(1)], keep=["attention_per_layer"])
    assert np.triu(bound.attention_per_layer[1], 1).max() == 0 < np.triu(free.attention_per_layer[1], 1).max()


def test_photos_that_can_not_be_opened_are_named(folder, tiny):
    (folder / "broken.jpg").write_bytes(b"")
    stream = quiet(tiny, [*sorted(folder.glob("*.png")), folder / "broken.jpg", folder / "gone.jpg"], batch=2, keep="distance_px")
    with pytest.warns(SkippedPhotosWarning, match=r"2 of 7 photos can't be opened.*broken\.jpg is empty.*gone\.jpg can't be read"):
        found = list(stream)
    assert len(found) == 5 and [(one.index, one.name) for one in stream.skipped] == [(5, "broken.jpg"), (6, "gone.jpg")]
    with pytest.raises(PhotoError, match="None of the 2 photos can be opened: broken"):
        list(quiet(tiny, [folder / "broken.jpg", folder / "gone.jpg"]))
    with pytest.raises(PhotoError, match=r"^broken\.jpg is empty"):
        list(quiet(tiny, folder / "broken.jpg"))


def test_memory_does_not_grow_with_the_photos(tiny):
    """Recordings are gone once their numbers are taken, and photos are asked for a batch ahead at most."""
    asked = []

    def photos():
        for i in range(64):
            asked.append(i)
            yield np.full((32, 32, 3), i, np.uint8)

    def alive():
        return sum(type(one) is Recording for one in gc.get_objects())

    before, most = alive(), 0
    for one in quiet(tiny, photos(), batch=8, keep="rollout"):
        assert len(asked) <= one.index + 1 + 2 * 8
        most = max(most, alive() - before) if one.index % 8 == 7 else most
    assert one.index == 63 and most <= 1


def test_a_stream_that_is_left_early_ends_its_threads(tiny, noise):
    stream = quiet(tiny, [noise(i) for i in range(20)], batch=2)
    next(stream)
    del stream
    gc.collect()
    for _ in range(50):
        if not any(thread.name.startswith("open photos") for thread in threading.enumerate()):
            break
        time.sleep(0.02)
    assert not any(thread.name.startswith("open photos") for thread in threading.enumerate())


def test_every_way_to_give_many_photos(make_vit):
    """A DataLoader of the model's own transform, arrays, tensors and pictures: the same pixels, the same numbers."""
    vit = make_vit()
    pixels = np.random.default_rng(0).integers(0, 256, (4, 32, 32, 3), np.uint8)
    crop_all = lambda x: (x - torch.tensor(vit.mean).view(3, 1, 1)) / torch.tensor(vit.std).view(3, 1, 1)  # noqa: E731
    inputs = torch.stack([crop_all(torch.from_numpy(one.copy()).permute(2, 0, 1) / 255) for one in pixels])
    labelled = DataLoader([(one, 7) for one in inputs], batch_size=3)
    expected = [np.asarray(vit.module(one[None])[0]) for one in inputs]
    for given in (inputs, labelled, iter(inputs)):
        stream = quiet(vit, given, keep=["logits", "recording"], batch=2)
        found = list(stream)
        np.testing.assert_allclose([one.logits for one in found], expected, atol=1e-5)
        assert all(np.array_equal(one.recording.model_input.pixels, own) for one, own in zip(found, pixels, strict=True))
    assert quiet(vit, labelled).total == 4 and quiet(vit, iter(inputs)).total is None
    photos = [Image.fromarray(one) for one in pixels]
    as_photos = [one.logits for one in quiet(vit, photos, keep="logits")]
    floats = torch.from_numpy(pixels.copy()).permute(0, 3, 1, 2) / 255
    for given in (pixels, floats, floats.double().numpy(), [(one, 0) for one in photos]):
        np.testing.assert_array_equal([one.logits for one in quiet(vit, given, keep="logits")], as_photos)


@pytest.mark.parametrize("workers", [0, 2])
def test_labels_stay_with_their_photos_where_a_loader_shuffles(make_vit, workers):
    vit, x = make_vit(), torch.randn(7, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        expected = vit.module(x).numpy()
    dicts = [{"pixel_values": one, "labels": place} for place, one in enumerate(x)]
    for data, read in (
        ([(one, place) for place, one in enumerate(x)], int),
        ([(one, f"photo {place}") for place, one in enumerate(x)], lambda label: int(label[6:])),
        ([(one, torch.eye(7)[place]) for place, one in enumerate(x)], lambda label: int(label.argmax())), (dicts, int),
    ):  # fmt: skip
        loader = DataLoader(data, batch_size=3, shuffle=True, generator=torch.Generator().manual_seed(1))
        found = list(quiet(vit, loader, keep="logits", batch=2, workers=workers))
        places = [read(one.label) for one in found]
        assert places != sorted(places) == list(range(7))
        np.testing.assert_allclose([one.logits for one in found], expected[places], atol=1e-5)
    alone = quiet(vit, [(Image.new("RGB", (40, 40)), "black"), Image.new("RGB", (40, 40))], keep="logits")
    assert [one.label for one in alone] == ["black", None]
    assert {one.label for one in quiet(vit, [(x, torch.tensor(3))], keep="logits")} == {None}


def test_single_labels_are_python_s_numbers_and_arrays_stay_arrays(tiny, noise):
    outline, masks = np.zeros((40, 40), np.uint8), torch.arange(8).reshape(2, 4)
    given = [(noise(1), np.int64(3)), (noise(1), torch.tensor(4)), (noise(1), outline), (noise(1), masks[1])]
    single, also, array, row = (one.label for one in quiet(tiny, given, keep="logits"))
    assert json.dumps([single, also]) == "[3, 4]"
    assert isinstance(array, np.ndarray) and array.shape == (40, 40)
    assert isinstance(row, torch.Tensor) and row.untyped_storage().size() == 4 * 8, "not the whole batch's"


def test_pixels_of_another_size_are_skipped_and_named(tiny, noise):
    stream = quiet(tiny, [noise(i, size) for i, size in enumerate([(32, 32), (32, 40), (32, 32)])], keep="logits", inputs="pixels")
    with pytest.warns(SkippedPhotosWarning, match="1 of 3 photos can't be opened and is skipped"):
        assert [one.index for one in stream] == [0, 2]
    assert stream.skipped[0].reason == "photo 1 is 32×40 px, and the model's input is 32×32 px."


def test_batches_that_are_dicts(make_vit):
    """Transformers' `pixel_values` are normalised, even where their values could be a photo's; another dict is refused."""
    transformers = pytest.importorskip("transformers")
    vit = make_vit()
    pixels = torch.rand(4, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    labelled = DataLoader([{"labels": 7, "pixel_values": one} for one in pixels], batch_size=3)
    whole = transformers.BatchFeature({"pixel_values": pixels})
    with torch.no_grad():
        expected = vit.module(pixels)
    with warnings.catch_warnings(action="error"):
        for given in (labelled, whole, [{"pixel_values": list(one[None].numpy())} for one in pixels]):
            found = list(quiet(vit, given, keep="logits"))
            np.testing.assert_allclose([one.logits for one in found], expected, atol=1e-5)
            np.testing.assert_allclose(vitcore.cache(vit, given, ["resid_post"]).logits, expected, atol=1e-5)
    assert quiet(vit, labelled).total == 4
    for asked in (lambda given: list(quiet(vit, given)), lambda given: vitcore.cache(vit, given)):
        with pytest.raises(TypeError, match=r"as 'pixel_values', and this one has 'image', 'labels'$"):
            asked([{"image": pixels, "labels": 7}])
        with pytest.raises(ValueError, match=r"\(B, 3, 32, 32\), not torch.float32 \(4, 3, 16, 32\)"):
            asked([{"pixel_values": pixels[:, :, :16]}])


def test_floats_of_another_size_that_are_no_photos_are_refused(tiny):
    normalised = torch.randn(2, 3, 40, 40, generator=torch.Generator().manual_seed(0))
    for one in (normalised[0], normalised[0, :, :32, :32].permute(1, 2, 0).numpy()):
        with pytest.raises(PhotoError, match=rf"of shape \(3, 32, 32\), not \({', '.join(map(str, one.shape))}\)\.$"):
            record(tiny, one)
    with pytest.raises(PhotoError, match=r"None of the 2 .*photo 0 has values from −.*of shape \(3, 32, 32\), not \(3, 40, 40\)"):
        list(quiet(tiny, normalised))


@pytest.mark.parametrize(("given", "said"), [
    (np.zeros((32, 32, 3)) + 2, "values from 2 to 2"), (np.full((32, 32, 3), np.nan, np.float32), "values from nan"),
    (np.zeros((32, 32, 3), np.int64), "array of int64"), (np.zeros((32, 32, 2), np.uint8), r"shape \(32, 32, 2\)"),
    (np.zeros((3, 32, 3), np.uint8), "at least 8 px"), (np.zeros((1, 32, 32, 3), np.uint8), "a batch"),
    (torch.zeros(1, 3, 32, 32), "a batch"), (np.zeros(9, np.uint8), r"shape \(9,\)"),
    (np.zeros((32, 32, 3), bool), "array of bool"),
], ids=str)  # fmt: skip
def test_arrays_that_are_no_photo_are_refused_in_a_sentence(tiny, given, said):
    with pytest.raises(PhotoError, match=said) as refusal:
        record(tiny, given)
    assert str(refusal.value).count("\n") == 0 and str(refusal.value).endswith(".")


def test_arrays_and_tensors_are_photos(noise):
    image = noise(1, (40, 50))
    pixels = np.asarray(image)
    tensor = torch.from_numpy(pixels.copy()).permute(2, 0, 1)
    for given in (pixels, pixels / 255, tensor, tensor / 255, (tensor / 255).double()):
        assert np.array_equal(open_photo(given).image, pixels)
    assert np.array_equal(open_photo(pixels[..., 0]).image, np.repeat(pixels[..., :1], 3, -1))
    see_through = np.concatenate([pixels, np.zeros_like(pixels[..., :1])], -1)
    assert np.asarray(open_photo(see_through).image).min() == 255, "what is transparent is white"


def test_a_folder_s_own_pictures_are_left_out(folder, tiny):
    before = photos_in_folder(folder)
    (folder / "out").mkdir()
    rec = record(tiny, folder / "0.png")
    drawing = vitcore.figures.rollout(rec.rollout(), rec.model_input.pixels, rec.grid)
    (folder / "out" / "rollout.png").write_bytes(print_figure(drawing, "png"))
    assert photos_in_folder(folder) == before
    from vitcore.report.animations.encode_within_size import encode_frames

    frames = [Image.new("RGB", (40, 40), colour) for colour in ("red", "blue")]
    for kind in ("webp", "gif"):
        (folder / "out" / f"moving.{kind}").write_bytes(encode_frames(frames, kind))
    assert photos_in_folder(folder) == before
    with pytest.raises(PhotoError, match="holds no photos"):
        photos_in_folder(folder / "out")
    with pytest.raises(PhotoError, match="is not a folder"):
        photos_in_folder(folder / "0.png")


def test_what_can_not_be_asked_is_said_before_anything_runs(tiny, make_vit, noise):
    for settings, error, said in (
        ({"keep": ["maps"]}, ValueError, "what is kept is one of distance_px"), ({"batch": 0}, ValueError, "batch is 1 or more"),
        ({"fusion": "median"}, ValueError, "mean, max, min"), ({"workers": -1}, ValueError, "workers 0 or more"),
    ):  # fmt: skip
        with pytest.raises(error, match=said):
            quiet(tiny, [noise(1)], **settings)
    with pytest.raises(TypeError, match=r"vitcore\.load"):
        record_many(tiny.module, [noise(1)])
    (one,) = quiet(tiny, [noise(1)], keep="norms")
    with pytest.raises(AttributeError, match=r"keep=\['rollout'\]"):
        one.rollout  # noqa: B018


def test_progress_is_counted(tiny, noise):
    told = []
    list(record_many(tiny, [noise(i) for i in range(5)], batch=2, progress=lambda done, total: told.append((done, total))))
    assert told == [(2, 5), (4, 5), (5, 5)]


def test_the_mean_distance_has_student_s_interval(folder, tiny):
    with warnings.catch_warnings(action="error"):
        found = mean_distance(tiny, folder, progress=False, batch=2)
    each = np.stack([record(tiny, photo).distance_px for photo in photos_in_folder(folder)]).astype(float)
    low, high = stats.t.interval(0.95, 4, each.mean(0), stats.sem(each))
    expected = {"mean_px": each.mean(0), "low_px": low, "high_px": high, "spread_px": each.std(0, ddof=1)}
    for name, theirs in expected.items():
        np.testing.assert_allclose(getattr(found, name), theirs, rtol=1e-4, err_msg=name)
    assert found.photos == 5 and found.skipped == () and "3 blocks" in repr(found)
    table = found.to_pandas()
    assert list(table) == ["mean_px", "low_px", "high_px", "spread_px"] and table.loc[(2, 1), "low_px"] == found.low_px[2, 1]
    other = mean_distance(tiny, folder, cls="renormalise", progress=False)
    assert (other.mean_px > found.mean_px).all()
    alone = mean_distance(tiny, folder / "0.png", progress=False)
    assert np.isnan(alone.low_px).all() and alone.photos == 1
    for given, said in (([], "no photos"), (iter([]), "no samples")):
        with pytest.raises(ValueError, match=said):
            mean_distance(tiny, given, progress=False)


def test_an_interval_is_taken_of_samples_that_are_not_kept():
    samples = np.random.default_rng(0).normal(1e6, 1, (50, 2, 3))
    found = mean_interval(iter(samples))
    np.testing.assert_allclose(found.mean, samples.mean(0), rtol=1e-12)
    np.testing.assert_allclose(found.spread, samples.std(0, ddof=1), rtol=1e-6)


def test_photos_opened_by_threads_leave_the_filters_of_warnings_alone(tiny, noise):
    before = list(warnings.filters)
    for _ in range(3):
        list(quiet(tiny, [saved(noise(i), "PNG") for i in range(12)], batch=4, workers=4))
    assert list(warnings.filters) == before
