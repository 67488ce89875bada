"""Arrays and tensors of the model's own input size: every function reads them as photos, or as normalised, by one rule."""

import inspect
import warnings
from dataclasses import replace

import numpy as np
import pytest
import timm
import torch
from PIL import Image
from torch.utils.data import DataLoader

import vitcore
from tests.conftest import NORMALISE, TINY
from vitcore.faithfulness.covered_recording import record_covered
from vitcore.faithfulness.stability import stability_test
from vitcore.forward.compare_models import common_photo
from vitcore.forward.logit_lens import logit_lens
from vitcore.forward.recording import AutocastWarning
from vitcore.forward.recordings.model_inputs import UnclearInputsWarning
from vitcore.images import Crop, PhotoError, sharp_crop
from vitcore.models.model_cards import ModelError
from vitcore.tokens.words_and_photos import TextTower

WHITE = Image.new("RGB", (40, 40), (230, 220, 210))
HALF, IMAGENET = NORMALISE, {"mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)}


def wrapped(channels=3, **colours):
    torch.manual_seed(0)
    module = timm.models.VisionTransformer(**{**TINY, "num_classes": 10}, in_chans=channels).eval()
    with warnings.catch_warnings(action="ignore"):
        return vitcore.wrap(module, name="tiny", **colours)


def with_crop(vit, share):
    """The same model, whose transform keeps this share of a photo's sides."""
    return replace(vit, transform=timm.data.create_transform((3, *vit.grid.image_px), crop_pct=share, mean=vit.mean, std=vit.std))


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
        np.testing.assert_allclose(reader(vit, floats, inputs="photos"), expected, atol=1e-5)
    with pytest.warns(UnclearInputsWarning, match=r'pixels of its own input size, .* resized and cropped. inputs="pixels"') as told:
        np.testing.assert_allclose(reader(vit, floats), expected, atol=1e-5)
    assert all(one.filename == __file__ for one in told)
    np.testing.assert_allclose(reader(vit, floats, inputs="normalised"), vit.module(floats), atol=1e-5)


@pytest.mark.filterwarnings("error::vitcore.forward.recordings.model_inputs.UnclearInputsWarning")
def test_an_array_is_read_as_a_whole(noise):
    """Its first picture alone, all of one grey, would prove nothing; its last may be of numbers that no photo has."""
    vit = with_crop(wrapped(**HALF), 1)
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


def test_autocast_is_told(reader):
    vit, x = wrapped(**HALF), torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    with torch.autocast("cpu", torch.bfloat16), pytest.warns(AutocastWarning, match="the precision of torch.bfloat16") as told:
        found = reader(vit, x)
    assert 1e-4 < np.abs(found - vit.module(x).numpy()).max() < 0.1
    assert all(one.filename == __file__ for one in told)
    with warnings.catch_warnings(action="error"):
        np.testing.assert_allclose(reader(vit, x), vit.module(x), atol=1e-5)


def test_what_proves_nothing_is_told(reader):
    vit = wrapped(**HALF)
    unclear = torch.rand(2, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    with pytest.warns(UnclearInputsWarning, match=r'tiny was given floats from 0 to 1 .*inputs="photos"') as told:
        found = reader(vit, unclear)
    np.testing.assert_allclose(found, vit.module(unclear), atol=1e-5)
    assert all(one.filename == __file__ for one in told)


def patched_logits(vit, photo, **kind):
    with vitcore.edit(vit) as edits:
        edits.patch(photo, at=("resid_post", 0), **kind)
    return vitcore.record(edits.vit, torch.zeros(3, 32, 32), inputs="normalised").logits


def patching(vit, x, y, **kind):
    a, b = (vitcore.cache(vit, one, ["embed"], **kind).logits[0] for one in (x, y))
    classes = int((a - b).argmax()), int((a - b).argmin())
    return vitcore.activation_patching(vit, x, y, "class", classes, **kind).logit_difference


def words_found(vit, photo, **kind):
    tower = TextTower(lambda words: np.eye(len(words), 24, dtype=np.float32), 1.0)
    torch.manual_seed(0)
    bare = timm.models.VisionTransformer(**{**TINY, "num_classes": 0}).eval()
    bare = replace(vitcore.wrap(bare, mean=vit.mean, std=vit.std), transform=vit.transform)
    return vitcore.match_words(bare, tower, photo, ["a", "b"], **kind).patches


MAP = {"one": np.arange(16.0).reshape(4, 4)}
OF_ONE_PHOTO = {  # every public function that is given photos, and a twin in its module: numbers of one photo, or of two
    "record": lambda vit, x, y, **kind: vitcore.record(vit, x, **kind).norms,
    "record_many": lambda vit, x, y, **kind: [one.norms for one in vitcore.record_many(vit, [x, y], keep="norms", **kind)],
    "mean_distance": lambda vit, x, y, **kind: vitcore.mean_distance(vit, [x, y], **kind).mean_px,
    "record_tokens": lambda vit, x, y, **kind: vitcore.record_tokens(vit, x, **kind).tokens,
    "cache": lambda vit, x, y, **kind: vitcore.cache(vit, [x, y], ["embed"], **kind)["embed"],
    "mean_activations": lambda vit, x, y, **kind: vitcore.mean_activations(vit, [x, y], ["z"], **kind).logits,
    "logit_lens": lambda vit, x, y, **kind: logit_lens(vit, x, **kind),
    "relevance": lambda vit, x, y, **kind: vitcore.relevance(vit, [x, y], "integrated_gradients", 3, steps=2, **kind).maps,
    "deletion_curves": lambda vit, x, y, **kind: vitcore.deletion_curves(vit, x, MAP, steps=3, **kind)["one"].weakest_first,
    "record_covered": lambda vit, x, y, **kind: record_covered(vit, x, [5], "noise", **kind).logits,
    "patch_tokens": lambda vit, x, y, **kind: vitcore.patch_tokens(vit, [x, y], **kind).values,
    "head_ablation": lambda vit, x, y, **kind: vitcore.head_ablation(vit, [x, y], 3, **kind),
    "activation_patching": lambda vit, *both, **kind: patching(vit, *both, **kind),
    "steering_direction": lambda vit, x, y, **kind: vitcore.steering_direction(vit, x, y, 1, **kind),
    "steering_sweep": lambda vit, x, y, **kind: vitcore.steering_sweep(vit, x, torch.ones(24), 1, [0, 1], **kind),
    "edit": lambda vit, x, y, **kind: patched_logits(vit, x, **kind),
    "match_words": lambda vit, x, y, **kind: words_found(vit, x, **kind),
}  # fmt: skip


def test_all_public_functions_of_photos_are_here():
    functions = {name: one for name in vitcore.__all__ if inspect.isfunction(one := getattr(vitcore, name))}
    given = {name: inspect.signature(one).parameters.keys() for name, one in functions.items()}
    of_photos = {name for name, names in given.items() if "vit" in names and names & {"photo", "photos", "image", "towards"}}
    assert of_photos | {"record_covered", "edit"} == OF_ONE_PHOTO.keys()
    assert all("inputs" in given[name] for name in of_photos - {"record_tokens"})  # whose settings are those of record


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("function", OF_ONE_PHOTO)
def test_every_function_reads_arrays_of_the_model_s_own_size_alike(function):
    """Of its transform, which enlarges and crops them, and of pixels that are normalised alone, plain PyTorch makes the truth."""
    vit, run = with_crop(wrapped(**IMAGENET), 0.8), OF_ONE_PHOTO[function]
    drawn = np.random.default_rng(0)
    pixels = [drawn.integers(0, 256, (32, 32, 3), np.uint8) for _ in range(2)]
    finer = [(drawn.random((32, 32, 3)) * 0.9 + 0.05).astype(np.float32) for _ in range(2)]  # no bytes
    mean, std = (torch.tensor(one).view(3, 1, 1) for one in IMAGENET.values())

    def normalised(arrays):
        shares = [one / np.float32(255 if one.dtype == np.uint8 else 1) for one in arrays]
        return [(torch.from_numpy(one).permute(2, 0, 1) - mean) / std for one in shares]

    def found(given, inputs=None):
        return np.asarray(run(vit, *given, **({"inputs": inputs} if inputs else {})))

    def bands_first(arrays):
        return [torch.from_numpy(one).permute(2, 0, 1) for one in arrays]

    pictures = [Image.fromarray(one) for one in pixels]
    floats = [one / np.float32(255) for one in pixels]
    cropped, whole, exact = (
        found(x, "normalised") for x in ([vit.transform(one) for one in pictures], normalised(pixels), normalised(finer))
    )
    assert np.abs(cropped - whole).max() > 1e-4
    for given in (pixels, bands_first(pixels), floats, bands_first(floats), pictures):
        for inputs in (None, "photos"):
            np.testing.assert_allclose(found(given, inputs), cropped, atol=1e-5)
        np.testing.assert_allclose(found(given, "pixels"), whole, atol=1e-5)
    for given in (finer, bands_first(finer)):
        np.testing.assert_allclose(found(given, "pixels"), exact, atol=1e-5)
    np.testing.assert_allclose(found([vitcore.record(vit, one).model_input for one in pictures]), cropped, atol=1e-5)
    seen = [vitcore.record(vit, one, inputs="pixels").model_input for one in finer]
    np.testing.assert_allclose(found(seen), exact, atol=1e-5)
    np.testing.assert_allclose(found(normalised(finer)), exact, atol=1e-5)


@pytest.mark.parametrize("size", [(90, 60), (20, 24)], ids=["of a larger photo", "of a smaller one"])
def test_the_box_of_a_model_input_is_of_its_own_picture(size, noise):
    vit = with_crop(wrapped(**HALF), 0.8)
    seen = vitcore.record(vit, noise(1, size)).model_input
    again = vitcore.record(vit, seen)
    np.testing.assert_array_equal(sharp_crop(again.photo, again.model_input, 32), seen.pixels)
    both = vitcore.compare(*[vitcore.record_tokens(vit, seen) for _ in range(2)])
    np.testing.assert_array_equal(common_photo(both, 32), seen.pixels)
    assert again.plot("rollout") is not None


def test_floats_that_round_to_the_same_bytes_are_different_photos():
    vit, x = wrapped(**HALF), torch.randn(3, 32, 32, generator=torch.Generator().manual_seed(0))
    near = x.clone()
    near[0, 0, 0] += 1e-4
    first, other = (vitcore.record(vit, one) for one in (x, near))
    np.testing.assert_array_equal(first.model_input.pixels, other.model_input.pixels)
    again = [vitcore.record(vit, one.model_input).photo.digest for one in (first, other)]
    assert again == [first.photo.digest, other.photo.digest] and len(set(again)) == 2


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("function", OF_ONE_PHOTO)
def test_a_model_input_of_another_size_or_that_is_called_otherwise_is_refused(function):
    vit, run = wrapped(**HALF), OF_ONE_PHOTO[function]
    larger, own = (Crop(np.full((side, side, 3), 90, np.uint8), (0, 0, side, side)) for side in (48, 32))
    with pytest.raises(PhotoError, match=r"48×48 px, and the model's input is 32×32 px"):
        run(vit, larger, larger)
    for inputs, said in (("normalised", "not Crop"), ("tensor", "inputs is one of photos")):
        with pytest.raises(ValueError, match=said):
            run(vit, own, own, inputs=inputs)


def test_what_is_changed_of_a_recording_of_floats_is_what_the_model_sees():
    """Covered patches and other light: of floats that are no bytes, too."""
    vit, x = wrapped(**HALF), torch.randn(3, 32, 32, generator=torch.Generator().manual_seed(0))
    rec = vitcore.record(vit, x)
    covered = record_covered(vit, rec, range(16), "noise").logits
    assert np.abs(covered - rec.logits).max() > 1e-3
    answers = stability_test(vit, rec, ["rollout"]).probabilities
    assert len(set(answers.values())) == len(answers)


@pytest.mark.parametrize("colours", [{"mean": (0.4,) * 5, "std": (0.5,) * 5}, {}], ids=["mean and std", "none"])
def test_inputs_of_five_bands(reader, colours, noise):
    vit = wrapped(5, **colours)
    x = 2 * torch.rand(2, 5, 32, 32, generator=torch.Generator().manual_seed(0)) - 0.5
    np.testing.assert_allclose(reader(vit, x), vit.module(x), atol=1e-5)
    assert vitcore.relevance(vit, x[0], "chefer").maps.shape == (4, 4)
    with pytest.raises(PhotoError, match=r"shape \(2, 5, 32, 32\), a batch: record_many takes batches"):
        vitcore.record(vit, x)
    seen = vitcore.record(vit, x[0]).model_input
    np.testing.assert_allclose(vitcore.record(vit, seen).logits, vit.module(x)[0], atol=1e-5)
    with pytest.raises(ModelError, match="takes pictures of 5 bands"):
        vitcore.record(vit, Crop(np.zeros((32, 32, 3), np.uint8), (0, 0, 32, 32)))


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
    lens = logit_lens(shipped, pixels, inputs="pixels")
    for same in (photo_file, Image.open(photo_file), rec.model_input):
        np.testing.assert_array_equal(logit_lens(shipped, same), lens)
    for same in (pixels / 255, pixels.astype(np.float32) / 255):
        np.testing.assert_array_equal(logit_lens(shipped, same, inputs="pixels"), lens)
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
    with pytest.raises(ValueError, match="inputs is one of photos, pixels, normalised"):
        vitcore.record(tiny, noise(1), inputs="tensor")
    with pytest.raises(ValueError, match=r"normalised inputs are floats \(B, 3, 32, 32\), not Image"):
        vitcore.record(tiny, noise(1), inputs="normalised")
    with pytest.raises(PhotoError, match=r"picture is 50×40 px, and the model's input is 32×32 px"):
        vitcore.record(tiny, noise(1, (50, 40)), inputs="pixels")


def test_a_recording_of_floats_keeps_what_the_model_saw(tmp_path):
    vit, x = wrapped(**HALF), torch.randn(3, 32, 32, generator=torch.Generator().manual_seed(0))
    rec = vitcore.record(vit, x)
    again = vitcore.Recording.load(rec.save(tmp_path / "r.npz"))
    np.testing.assert_array_equal(again.model_input.numbers, rec.model_input.numbers)
    assert rec.photo.digest != vitcore.record(vit, x + 1e-3).photo.digest
