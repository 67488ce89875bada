"""Arrays and tensors of the model's own input size: every function reads them as photos, or as normalised, by one rule."""

import warnings

import numpy as np
import pytest
import timm
import torch
from PIL import Image
from torch.utils.data import DataLoader

import vitcore
from tests.conftest import NORMALISE, TINY
from vitcore.forward.logit_lens import logit_lens
from vitcore.forward.recordings.model_inputs import UnclearInputsWarning
from vitcore.images import PhotoError

WHITE = Image.new("RGB", (40, 40), (230, 220, 210))
HALF, IMAGENET = NORMALISE, {"mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)}


def wrapped(channels=3, **colours):
    torch.manual_seed(0)
    module = timm.models.VisionTransformer(**{**TINY, "num_classes": 10}, in_chans=channels).eval()
    with warnings.catch_warnings(action="ignore"):
        return vitcore.wrap(module, name="tiny", **colours)


def many(vit, photos, **settings):
    return np.stack([one.logits for one in vitcore.record_many(vit, photos, keep="logits", progress=False, **settings)])


READERS = {  # by the function: logits (B, classes) of a batch
    "record": lambda vit, x, **kind: np.stack([vitcore.record(vit, one, **kind).logits for one in x]),
    "record_many": many,
    "record_many, a loader": lambda vit, x, **kind: many(vit, DataLoader(list(x), batch_size=2), **kind),
    "record_many, one by one": lambda vit, x, **kind: many(vit, iter(x), **kind),
    "cache": lambda vit, x, **kind: vitcore.cache(vit, x, ["resid_post"], **kind).logits.numpy(),
    "cache of a list": lambda vit, x, **kind: vitcore.cache(vit, list(x), ["resid_post"], **kind).logits.numpy(),
    "mean_activations": lambda vit, x, **kind: np.stack(
        [vitcore.mean_activations(vit, one[None], ["z"], **kind).logits[0].numpy() for one in x]
    ),
    "logit_lens": lambda vit, x, **kind: np.stack([logit_lens(vit, one, **kind)[-1] for one in x]),
}


@pytest.fixture(params=READERS)
def reader(request):
    return READERS[request.param]


@pytest.mark.parametrize("colours", [HALF, IMAGENET, {"mean": (0, 0, 0), "std": (1, 1, 1)}], ids=["half", "imagenet", "none"])
@pytest.mark.filterwarnings("ignore::vitcore.forward.recordings.model_inputs.UnclearInputsWarning")
def test_what_the_model_s_own_transform_made_is_taken_as_it_is(reader, colours, noise):
    """Also where all values of an image lie within 0 to 1, as those of a drawing on white; one batch is read in one way."""
    vit = wrapped(**colours)
    x = torch.stack([vit.transform(image) for image in (WHITE, noise(1, (40, 50)), WHITE)])
    np.testing.assert_allclose(reader(vit, x), vit.module(x), atol=1e-5)
    np.testing.assert_allclose(reader(vit, x, inputs="normalised"), vit.module(x), atol=1e-5)
    augmented = x + 0.01 * torch.randn_like(x)  # no bytes
    np.testing.assert_allclose(reader(vit, augmented), vit.module(augmented), atol=1e-5)
    np.testing.assert_allclose(reader(vit, x.half()), vit.module(x.half().float()), atol=1e-5)


def test_bytes_over_255_are_photos_and_a_word_decides(reader, noise):
    vit = wrapped(**IMAGENET)
    pixels = np.stack([np.asarray(noise(i, (32, 32))) for i in range(2)])
    floats = torch.from_numpy(pixels.copy()).permute(0, 3, 1, 2) / 255  # as ToTensor makes them
    expected = np.stack([vitcore.record(vit, Image.fromarray(one)).logits for one in pixels])
    with warnings.catch_warnings(action="error"):
        np.testing.assert_allclose(reader(vit, floats), expected, atol=1e-5)
        np.testing.assert_allclose(reader(vit, floats, inputs="photos"), expected, atol=1e-5)
        np.testing.assert_allclose(reader(vit, floats, inputs="normalised"), vit.module(floats), atol=1e-5)


@pytest.mark.filterwarnings("error::vitcore.forward.recordings.model_inputs.UnclearInputsWarning")
def test_an_array_is_read_as_a_whole(noise):
    """Its first picture alone, all of one grey, would prove nothing; its last may be of numbers that no photo has."""
    vit = wrapped(**HALF)
    grey, noisy = np.full((32, 32, 3), 51, np.uint8), np.asarray(noise(1, (32, 32)))
    x = np.stack([grey, noisy]).transpose(0, 3, 1, 2).astype(np.float32) / 255
    photos = [vitcore.record(vit, one).logits for one in (grey, noisy)]
    np.testing.assert_allclose(many(vit, x), photos, atol=1e-5)
    np.testing.assert_allclose(vitcore.cache(vit, x, ["resid_post"]).logits, photos, atol=1e-5)
    mixed = np.stack([x[1], x[1] - 2])
    np.testing.assert_allclose(many(vit, mixed), vit.module(torch.from_numpy(mixed)), atol=1e-5)


def test_bytes_over_255_are_told_where_the_normalisation_is_assumed(reader, noise):
    vit = wrapped()
    floats = torch.from_numpy(np.asarray(noise(1, (32, 32)))).permute(2, 0, 1)[None] / 255
    assert "normalise" in vit.assumed
    with pytest.warns(
        UnclearInputsWarning, match="tiny was given bytes over 255, which are taken as photos and normalised"
    ) as told:
        found = reader(vit, floats)
    np.testing.assert_allclose(found, reader(vit, floats, inputs="photos"), atol=1e-6)
    assert all(one.filename == __file__ for one in told)


def test_what_proves_nothing_is_told(reader):
    vit = wrapped(**HALF)
    unclear = torch.rand(2, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    with pytest.warns(UnclearInputsWarning, match=r'tiny was given floats from 0 to 1 .*inputs="photos"') as told:
        found = reader(vit, unclear)
    np.testing.assert_allclose(found, vit.module(unclear), atol=1e-5)
    assert all(one.filename == __file__ for one in told)


def test_relevance_and_the_rest_read_alike(noise):
    vit = wrapped(**HALF)
    x = torch.stack([vit.transform(image) for image in (noise(1, (40, 50)), WHITE)])
    photos = [noise(1, (40, 50)), WHITE]
    for method in ("rollout", "chefer", "integrated_gradients"):
        settings = {"steps": 2} if method == "integrated_gradients" else {}
        with warnings.catch_warnings(action="ignore"):
            of_tensors, of_photos = (vitcore.relevance(vit, one, method, **settings).maps for one in (x, photos))
            alone = vitcore.relevance(vit, x[0], method, **settings).maps
        np.testing.assert_allclose(of_tensors, of_photos, atol=1e-6)
        assert of_photos.shape == (2, 4, 4) and np.allclose(alone, of_photos[0], atol=1e-6)
    with warnings.catch_warnings(action="ignore"):
        mean = vitcore.mean_distance(vit, x, progress=False, inputs="normalised").mean_px
        np.testing.assert_allclose(mean, vitcore.mean_distance(vit, photos, progress=False).mean_px, atol=1e-4)
        ablated, of_photos = (vitcore.head_ablation(vit, one) for one in (x, photos))
    np.testing.assert_allclose(ablated, of_photos, atol=1e-5)


@pytest.mark.parametrize("colours", [{"mean": (0.4,) * 5, "std": (0.5,) * 5}, {}], ids=["mean and std", "none"])
def test_inputs_of_five_bands(reader, colours, noise):
    vit = wrapped(5, **colours)
    x = 2 * torch.rand(2, 5, 32, 32, generator=torch.Generator().manual_seed(0)) - 0.5
    np.testing.assert_allclose(reader(vit, x), vit.module(x), atol=1e-5)
    assert vitcore.relevance(vit, x[0], "chefer").maps.shape == (4, 4)
    with pytest.raises(PhotoError, match=r"shape \(2, 5, 32, 32\), a batch: record_many takes batches"):
        vitcore.record(vit, x)


@pytest.mark.filterwarnings("ignore::vitcore.forward.recordings.model_inputs.UnclearInputsWarning")
def test_inputs_of_a_grey_model(reader):
    vit = wrapped(1, mean=(0.4,) * 3, std=(0.3,) * 3)
    x = torch.randn(2, 1, 32, 32, generator=torch.Generator().manual_seed(0))
    np.testing.assert_allclose(reader(vit, x), vit.module(x), atol=1e-5)


@pytest.mark.filterwarnings("ignore::vitcore.forward.recordings.model_inputs.UnclearInputsWarning")
def test_inputs_are_cast_to_the_model(reader):
    vit = wrapped(**HALF).to(dtype="bfloat16")
    x = torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    expected = vit.module(x.bfloat16()).float()
    for given in (x, x.double(), x.double().numpy()):
        np.testing.assert_allclose(reader(vit, given), expected, atol=0.05)
    direction = torch.ones(24)
    assert vitcore.steering_sweep(vit, x[:1], direction, 1, [0.0, 1.0]).shape == (2, 10)
    assert vitcore.head_ablation(vit, x).shape == (3, 3) and vitcore.patch_tokens(vit, x).values.shape[1] == 2


def test_the_logit_lens_takes_photos_and_floats_mean_0_to_1(shipped, photo_file):
    rec = vitcore.record(shipped, photo_file)
    pixels = rec.model_input.pixels
    lens = logit_lens(shipped, pixels)
    for same in (photo_file, Image.open(photo_file), pixels / 255, pixels.astype(np.float32) / 255):
        np.testing.assert_array_equal(logit_lens(shipped, same), lens)
    with pytest.raises(PhotoError, match="floats of a photo are from 0 to 1"):
        logit_lens(shipped, pixels.astype(np.float32))
    with pytest.raises(ValueError, match="of one photo, not of 2"):
        logit_lens(shipped, [photo_file, photo_file])
    with pytest.raises(TypeError, match="vit is what"):
        logit_lens(shipped.module, pixels)
    assert logit_lens(shipped, np.zeros((40, 60, 3), np.uint8)).shape == lens.shape  # another size is a photo


def test_numbers_that_are_none_are_refused(reader):
    x = torch.full((2, 3, 32, 32), 2.0)
    x[:, 0, 0, 0] = torch.nan
    with pytest.raises(PhotoError, match="pixels that are not numbers"), warnings.catch_warnings(action="ignore"):
        reader(wrapped(**HALF), x)


def test_several_photos_for_one_recording(tiny, noise):
    with pytest.raises(TypeError, match="record_many takes several"):
        vitcore.record(tiny, [noise(1), noise(2)])
    with pytest.raises(ValueError, match="inputs is one of photos, normalised"):
        vitcore.record(tiny, noise(1), inputs="tensor")
    with pytest.raises(ValueError, match=r"normalised inputs are floats \(B, 3, 32, 32\), not Image"):
        vitcore.record(tiny, noise(1), inputs="normalised")


def test_a_recording_of_floats_keeps_what_the_model_saw(tmp_path):
    vit, x = wrapped(**HALF), torch.randn(3, 32, 32, generator=torch.Generator().manual_seed(0))
    rec = vitcore.record(vit, x)
    again = vitcore.Recording.load(rec.save(tmp_path / "r.npz"))
    np.testing.assert_array_equal(again.model_input.numbers, rec.model_input.numbers)
    assert rec.photo.digest != vitcore.record(vit, x + 1e-3).photo.digest
