"""Relevance: what the papers define, computed again by other means, and one contract that every method keeps."""

import copy
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

import vitcore
from vitcore.analysis.relevance import METHODS
from vitcore.forward.recording import to_model_input
from vitcore.forward.relevance import IncompleteAttributionsWarning, relevance
from vitcore.models import load_model

OF_A_CLASS = [name for name, method in METHODS.items() if method.asks_class]
KINDS = {
    "default": {}, "registers": {"reg_tokens": 4}, "attention pool": {"class_token": False, "global_pool": "map"},
    "mean of patches": {"class_token": False, "global_pool": "avg", "fc_norm": False}, "no positions": {"pos_embed": "none"},
    "wide": {"img_size": (24, 48)}, "norms of queries and keys": {"qk_norm": True},
}  # fmt: skip
each_method = pytest.mark.parametrize("method", METHODS)


def pixels_of(vit, seed=0, count=None):
    shape = (*vit.grid.image_px, 3)
    return np.random.default_rng(seed).integers(0, 256, shape if count is None else (count, *shape), np.uint8)


def quick(method):
    """Settings that keep integrated gradients short."""
    return {"steps": 4} if method == "integrated_gradients" else {}


# Once more, by other means


class Kept(torch.nn.Module):
    """In place of a block's dropout of attention: keeps the weights and asks PyTorch for their gradient."""

    def forward(self, weights):
        weights.retain_grad()
        self.weights = weights
        return weights


def plain_attention(module, x, target):
    """(weights, gradients) of every block, (H, T, T) each, from a copy that multiplies its attention out and .backward()."""
    own = copy.deepcopy(module).requires_grad_(True)
    for block in own.blocks:
        block.attn.fused_attn = False
        block.attn.attn_drop = Kept()
    own(x)[0, target].backward()
    return [(b.attn.attn_drop.weights[0].detach().double(), b.attn.attn_drop.weights.grad[0].double()) for b in own.blocks]


def plain_chefer(module, x, target):
    """The notebook of the paper (hila-chefer/Transformer-MM-Explainability, ViT), line by line; the class token's row."""
    tokens = 17
    r = torch.eye(tokens, dtype=torch.float64)
    for cam, grad in plain_attention(module, x, target):
        cam = (grad * cam).clamp(min=0).mean(dim=0)
        r += torch.matmul(cam, r)
    return r[0, 1:]


def plain_gradient_rollout(module, x, target):
    """Rollout of (A ⊙ ∂y/∂A)⁺: rows that sum to 1, half identity, later blocks on the left; the class token's row."""
    tokens = 17
    result = torch.eye(tokens, dtype=torch.float64)
    for cam, grad in plain_attention(module, x, target):
        cam = torch.relu(cam * grad).mean(dim=0)
        for row in range(tokens):
            total = cam[row].sum()
            cam[row] = cam[row] / total if total > 0 else torch.eye(tokens, dtype=torch.float64)[row]
        result = (0.5 * cam + 0.5 * torch.eye(tokens, dtype=torch.float64)) @ result
    return result[0, 1:]


@pytest.mark.parametrize(("seed", "target"), [(0, 3), (1, 9), (2, 0)])
@pytest.mark.parametrize(
    "method, plain", [("chefer", plain_chefer), ("gradient_rollout", plain_gradient_rollout)], ids=["chefer", "gradient"]
)
def test_gradient_methods_equal_plain_pytorch(make_vit, method, plain, seed, target):
    vit = make_vit(seed)
    pixels = pixels_of(vit, seed)
    expected = plain(vit.module, to_model_input(vit, pixels), target).numpy().reshape(4, 4)
    found = relevance(vit, pixels, method, target, inputs="pixels").maps
    assert expected.max() > 1e-4, "there is nothing to compare"
    assert np.abs(found - expected).max() <= 1e-5
    assert np.abs(found - expected).max() <= 1e-4 * expected.max()


def test_rollout_is_the_recordings(shipped, rec):
    settings = {"fusion": "max", "discard_ratio": 0.4, "residual": 0.3, "first_block": 2}
    for chosen in ({}, settings, settings | {"start": 9}):
        found = relevance(shipped, rec.model_input, "rollout", **chosen).maps
        assert np.abs(found - rec.rollout(**chosen)).max() < 1e-6


def test_integrated_gradients_add_up_to_what_the_logit_rose(make_vit):
    vit = make_vit()
    pixels = pixels_of(vit)
    gaps = {}
    for steps in (2, 64):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            found = relevance(vit, pixels, "integrated_gradients", 4, steps=steps, baseline="black", inputs="pixels")
        assert [one.category for one in told] == ([IncompleteAttributionsWarning] if steps == 2 else [])
        assert bool(found.incomplete) == (steps == 2)
        with torch.no_grad():
            photo, black = (vit.module(to_model_input(vit, p))[0, 4].item() for p in (pixels, np.zeros_like(pixels)))
        assert found.rises == pytest.approx([photo - black], abs=1e-4)
        assert found.gaps == pytest.approx([found.maps.sum() - (photo - black)], abs=1e-4)
        gaps[steps] = abs(found.gaps[0])
    assert gaps[64] < 0.02 * abs(photo - black) and gaps[64] < gaps[2]


def test_integrated_gradients_of_the_path_by_hand(make_vit):
    """A Riemann sum in the middle of many steps, every gradient by .backward()."""
    vit = make_vit()
    pixels = pixels_of(vit)
    x = to_model_input(vit, pixels)
    total, steps = torch.zeros_like(x), 200
    for step in range(steps):
        at = (x * (step + 0.5) / steps).requires_grad_()
        vit.module(at)[0, 2].backward()
        total += at.grad / steps
    by_hand = (total * x)[0].sum(0).reshape(4, 8, 4, 8).sum((1, 3)).numpy()
    found = relevance(vit, pixels, "integrated_gradients", 2, steps=100, inputs="pixels").maps
    assert np.abs(found - by_hand).max() < 2e-3 * np.abs(by_hand).max()


def test_grad_cam_by_hand(make_vit):
    """ReLU of the channels of the last LayerNorm before attention, each weighted by its mean gradient over the patches."""
    vit = make_vit(reg_tokens=2)
    pixels = pixels_of(vit)
    own = copy.deepcopy(vit.module)
    seen = []

    def keep(_module, _inputs, output):
        output.requires_grad_()
        output.retain_grad()
        seen.append(output)

    own.blocks[-1].norm1.register_forward_hook(keep)
    own(to_model_input(vit, pixels))[0, 5].backward()
    patches, gradient = seen[0][0, 3:].detach(), seen[0].grad[0, 3:]
    by_hand = torch.relu((patches * gradient.mean(0)).sum(1)).reshape(4, 4).numpy()
    found = relevance(vit, pixels, "grad_cam", 5, inputs="pixels").maps
    assert by_hand.max() > 0 and np.abs(found - by_hand).max() < 1e-6


# The contract


@each_method
def test_shape_is_the_grid_of_a_distilled_model_and_of_a_hybrid(method, big_kinds):
    for vit in big_kinds:
        found = relevance(vit, pixels_of(vit), method, inputs="pixels", **quick(method)).maps
        assert found.shape == (vit.grid.rows, vit.grid.cols) and np.isfinite(found).all() and found.any()


@pytest.fixture(scope="module")
def big_kinds():
    import timm

    names = ("deit_tiny_distilled_patch16_224", "vit_tiny_r_s16_p8_224")
    torch.manual_seed(0)
    models = [timm.create_model(name).eval() for name in names]
    for model in models:  # timm's heads begin as zeros: no class depends on anything
        for name, p in model.named_parameters():
            if "head" in name and p.ndim == 2:
                torch.nn.init.normal_(p, std=0.1)
    return [vitcore.wrap(model, name=name) for model, name in zip(models, names, strict=True)]


@pytest.mark.parametrize("kind", KINDS)
def test_an_image_alone_is_as_in_a_batch_and_a_class_that_depends_on_nothing_has_no_relevance(make_vit, kind):
    """The shape is the grid's, every number is finite."""
    vit = make_vit(**KINDS[kind])
    vit.module.head.weight[6] = 0
    batch, shape = pixels_of(vit, count=2), (vit.grid.rows, vit.grid.cols)
    for method, facts in METHODS.items():
        targets = (1, 7) if facts.asks_class else None
        together = relevance(vit, batch, method, targets, inputs="pixels", **quick(method))
        assert together.maps.shape == (2, *shape)
        for i, image in enumerate(batch):
            found = relevance(vit, image, method, targets and targets[i], inputs="pixels", **quick(method))
            alone = found.maps
            assert np.abs(together.maps[i] - alone).max() <= 1e-6 * max(1, np.abs(alone).max()), method
            assert alone.shape == shape and alone.dtype == np.float64
            assert np.isfinite(alone).all() and alone.any() and (facts.signed or alone.min() >= 0), method
            assert len(found.targets) == facts.asks_class
        assert not np.allclose(together.maps[0], together.maps[1]), method
        assert not facts.asks_class or not relevance(vit, batch[0], method, 6, inputs="pixels", **quick(method)).maps.any(), method


@pytest.mark.parametrize("method", OF_A_CLASS)
def test_no_class_means_the_likeliest_and_classes_differ(tiny, method):
    batch = pixels_of(tiny, count=2)
    with torch.no_grad():
        likeliest = [int(tiny.module(to_model_input(tiny, p)).argmax()) for p in batch]
    found = relevance(tiny, batch, method, inputs="pixels", **quick(method))
    assert list(found.targets) == likeliest
    assert np.array_equal(found.maps, relevance(tiny, batch, method, likeliest, inputs="pixels", **quick(method)).maps)
    other = relevance(tiny, batch, method, (likeliest[0] + 1) % 10, inputs="pixels", **quick(method)).maps
    assert not np.allclose(found.maps[0], other[0])


@each_method
def test_the_model_is_as_it_was(make_vit, method):
    vit = make_vit()
    before = {k: v.clone() for k, v in vit.module.state_dict().items()}
    relevance(vit, pixels_of(vit), method, inputs="pixels", **quick(method))
    after = vit.module.state_dict()
    assert before.keys() == after.keys() and all(torch.equal(before[k], after[k]) for k in before)
    assert all(p.grad is None and not p.requires_grad for p in vit.module.parameters())
    for part in vit.module.modules():
        assert not part.training and not part._forward_hooks and not part._backward_hooks and not part._forward_pre_hooks


@each_method
def test_two_threads_share_one_model(tiny, method):
    """And a third that only looks sees none of their calls."""
    images = pixels_of(tiny, count=4)
    alone = [relevance(tiny, image, method, inputs="pixels", **quick(method)).maps for image in images]
    both = threading.Barrier(2)

    def work(i):
        both.wait(30)
        return [relevance(tiny, images[k], method, inputs="pixels", **quick(method)).maps for k in (i, i + 2)]

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(work, (0, 1)))
    for i, maps in enumerate(found):
        assert np.array_equal(maps[0], alone[i]) and np.array_equal(maps[1], alone[i + 2])


@each_method
def test_it_works_where_gradients_are_off(tiny, method):
    pixels = pixels_of(tiny)
    expected = relevance(tiny, pixels, method, inputs="pixels", **quick(method)).maps
    for off in (torch.no_grad, torch.inference_mode):
        with off():
            assert np.array_equal(relevance(tiny, pixels, method, inputs="pixels", **quick(method)).maps, expected)


def test_models_without_the_fused_kernel_give_the_same(make_vit):
    vit, manual = make_vit(), make_vit()
    for block in manual.module.blocks:
        block.attn.fused_attn = False
    pixels = pixels_of(vit)
    for method in METHODS:
        one, two = (relevance(v, pixels, method, inputs="pixels", **quick(method)).maps for v in (vit, manual))
        assert np.abs(one - two).max() < 1e-5


# Where the answer is read


def test_a_pool_of_tokens_is_where_relevance_begins(make_vit):
    """Chefer's rows, weighted by the pool's attention, less the identity."""
    vit = make_vit(class_token=False, global_pool="avg", fc_norm=False)
    pixels = pixels_of(vit)
    r = torch.eye(16, dtype=torch.float64)
    for cam, grad in plain_attention(vit.module, to_model_input(vit, pixels), 3):
        r += (grad * cam).clamp(min=0).mean(0) @ r
    expected = (r - torch.eye(16)).mean(0).numpy().reshape(4, 4)
    assert np.abs(relevance(vit, pixels, "chefer", 3, inputs="pixels").maps - expected).max() < 1e-5


# Refusals


def test_a_model_without_a_head_has_no_class(make_vit):
    vit = make_vit(num_classes=0)
    for method in OF_A_CLASS:
        with pytest.raises(load_model.ModelError, match="gives features, not classes"):
            relevance(vit, pixels_of(vit), method, inputs="pixels")
    assert relevance(vit, pixels_of(vit), "rollout", inputs="pixels").maps.shape == (4, 4)


@pytest.mark.parametrize("given, said", [
    ({"method": "gradcam"}, "method is one of rollout.*not 'gradcam'; the nearest is 'grad_cam'$"),
    ({"target": 10}, "class from 0 to 9"), ({"target": -1}, "class from 0 to 9"),
    ({"target": (1, 2)}, r"one an image \(1\), not"), ({"method": "chefer", "steps": 3}, "chefer has no setting steps"),
    ({"method": "integrated_gradients", "steps": 0}, "steps are 1 to"),
    ({"method": "integrated_gradients", "baseline": "pink"}, "baseline is one of mean, black, white"),
    ({"pixels": np.full((32, 32, 3), 255.0)}, "values from 255 to 255: floats of a photo are from 0 to 1"),
    ({"pixels": np.zeros((0, 32, 32, 3), np.uint8)}, "there is no photo"),
], ids=str)  # fmt: skip
def test_what_there_is_not_is_refused(tiny, given, said):
    with pytest.raises(ValueError, match=said):
        relevance(tiny, given.pop("pixels", pixels_of(tiny)), given.pop("method", "chefer"), inputs="pixels", **given)
