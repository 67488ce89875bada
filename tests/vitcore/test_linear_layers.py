"""Linear layers by either library: the same numbers within float32's rounding, and the model is left as it was."""

import numpy as np
import pytest
import torch
from torch import nn

from tests.picture_files import saved
from vitcore.forward import onednn_linear
from vitcore.forward.block_activations import trace_token
from vitcore.forward.compare_models import record_tokens
from vitcore.forward.logit_lens import logit_lens
from vitcore.forward.onednn_linear import OneDnnLinear, with_faster_modules
from vitcore.forward.predict import predict, predict_without_positions
from vitcore.forward.recording import record, to_model_input
from vitcore.train.data.photos import Photos
from vitcore.train.evaluation.accuracy import extract_features

pytestmark = pytest.mark.skipif(
    not (torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")),
    reason="this PyTorch comes without oneDNN",
)


@pytest.fixture
def by(monkeypatch):
    """Say which library is faster."""
    return lambda onednn: monkeypatch.setattr(onednn_linear, "onednn_is_faster", lambda: onednn)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(7,), (5, 7), (2, 3, 5, 7)])
def test_onednn_computes_x_times_weights_and_bias(shape, bias):
    torch.manual_seed(0)
    layer, x = nn.Linear(7, 11, bias), torch.randn(shape)
    with torch.inference_mode():
        made = OneDnnLinear(layer)(x)
    by_hand = x.double() @ layer.weight.double().T + (layer.bias.double() if bias else 0)
    assert made.shape == (*shape[:-1], 11)
    assert torch.allclose(made.double(), by_hand, atol=1e-5)


def test_either_library_makes_the_same_of_a_photo(by, make_vit, noise):
    vit, photo = make_vit(reg_tokens=2), noise(1)
    order = np.random.default_rng(0).permutation(vit.grid.patches)
    photos, made = Photos("noise", [saved(photo, "PNG")], np.array([-1])), []
    for onednn in (False, True):
        by(onednn)
        seen = record_tokens(vit, photo)
        rec, pixels = seen.rec, seen.rec.model_input.pixels
        made.append([
            rec.logits, rec.fused["mean"], rec.norms, rec.distance_px, seen.tokens,
            predict(vit, pixels), predict(vit, pixels, order, True), predict_without_positions(vit, pixels),
            logit_lens(vit, pixels, inputs="pixels"), extract_features(vit, photos), trace_token(vit, pixels, 1, 5).x_out,
        ])  # fmt: skip
    for usual, other in zip(*made, strict=True):
        np.testing.assert_allclose(other, usual, rtol=1e-4, atol=1e-5)
    assert any(not np.array_equal(usual, other) for usual, other in zip(*made, strict=True))  # both libraries were used


def test_with_the_fused_kernel_logits_are_the_model_s_to_the_bit(by, make_vit, noise):
    by(True)
    vit = make_vit()
    rec = record(vit, noise(1), exact=True)
    assert np.array_equal(rec.logits, record(vit, rec.photo, exact=True).logits)
    by(False)
    assert np.array_equal(rec.logits, predict(vit, rec.model_input.pixels))


def test_the_model_keeps_its_layers_and_shares_its_weights(by, make_vit):
    by(True)
    module = make_vit().module
    before = {name: type(part) for name, part in module.named_modules()}
    copied = with_faster_modules(module)
    assert {name: type(part) for name, part in module.named_modules()} == before
    parts = dict(copied.named_modules())
    assert all(isinstance(parts[name], OneDnnLinear) for name, kind in before.items() if kind is nn.Linear)
    assert [id(p) for p in copied.parameters()] == [id(p) for p in module.parameters()]
    by(False)
    assert with_faster_modules(module) is module


def test_layers_of_other_numbers_stay_pytorch_s(by, make_vit):
    by(True)
    module = make_vit().module.to(torch.bfloat16)
    assert with_faster_modules(module) is module


@pytest.mark.parametrize("onednn", [False, True])
def test_who_hooks_a_layer_is_called_and_keeps_what_it_made(by, make_vit, noise, onednn):
    by(onednn)
    vit, seen = make_vit(), []
    hidden, asked = vit.module.blocks[1].mlp.fc1, vit.module.blocks[2].attn.qkv
    hidden.register_forward_hook(lambda layer, taken, made: seen.append(made))
    asked.register_forward_pre_hook(lambda layer, taken: seen.append(taken[0]))
    rec = record(vit, noise(1))
    of_recording, seen[:] = list(seen), []
    with torch.inference_mode():
        vit.module(to_model_input(vit, rec.model_input.pixels))
    assert [part.shape for part in of_recording] == [(1, rec.grid.tokens, 96), (1, rec.grid.tokens, 24)]
    for one, other in zip(of_recording, seen, strict=True):
        assert torch.allclose(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("usual", "other", "chosen"), [(1.0, 0.5, True), (1.0, 0.95, False), (0.5, 1.0, False)])
def test_onednn_is_chosen_where_it_is_clearly_faster(monkeypatch, usual, other, chosen):
    taken = iter([usual + 9, other, usual, other + 9])  # the least time of each counts
    monkeypatch.setattr(onednn_linear, "TIMES", 2)
    monkeypatch.setattr(onednn_linear.timeit, "timeit", lambda way, number: next(taken))
    assert onednn_linear.onednn_is_faster.__wrapped__() is chosen


def test_timing_draws_no_random_numbers():
    before = torch.get_rng_state()
    onednn_linear.onednn_is_faster.__wrapped__()
    assert torch.equal(torch.get_rng_state(), before)
