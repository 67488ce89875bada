"""`convention="vit-explain"` is what the code of github.com/jacobgil/vit-explain computes, written again here in its own terms."""

import numpy as np
import pytest
import torch

import vitcore
from vitcore.analysis.rollout import rollout, vit_explain_rollout
from vitcore.attention_hooks import AttentionHookMode


def published(fused: torch.Tensor, discard_ratio: float, keep_class_token: bool, side: int) -> np.ndarray:
    """Blocks' fused attention (L, T, T) to its mask (side, side): a batch of one, whose sums divide columns by broadcasting."""
    whole = torch.eye(fused.shape[-1])[None].double()
    for layer in fused:
        weights = layer[None].clone().double()
        flat = weights.view(1, -1)
        smallest = flat.argsort(-1)[0, : int(flat.shape[-1] * discard_ratio)]
        if keep_class_token:
            smallest = smallest[smallest != 0]
        flat[0, smallest] = 0
        matrix = (weights + torch.eye(weights.shape[-1])) / 2
        whole = (matrix / matrix.sum(-1)) @ whole
    mask = whole[0, 0, 1:].reshape(side, side).numpy()
    return mask / mask.max()


class Seen:
    """Every block's attention, as part of the graph."""

    def __init__(self):
        self.weights = []

    def __call__(self, event):
        self.weights.append(event.weights().requires_grad_())
        return event.output(self.weights[-1])


@pytest.fixture
def seen(make_vit, noise):
    """A model, a photo, and its attention and gradients (L, H, T, T) of class 3."""
    vit, photo = make_vit(seed=4), noise(2)
    x = vitcore.record(vit, photo).model_input.pixels
    pixels = torch.tensor(x.transpose(2, 0, 1)[None] / 255, dtype=torch.float32)
    mean, std = (torch.tensor(one, dtype=torch.float32).view(1, 3, 1, 1) for one in (vit.mean, vit.std))
    watch = Seen()
    with AttentionHookMode(watch):
        answer = vit.module((pixels - mean) / std)[0, 3]
    gradients = torch.autograd.grad(answer, watch.weights)
    return vit, photo, torch.cat(watch.weights).detach(), torch.cat(gradients)


@pytest.mark.parametrize("ratio", [0.0, 0.5, 0.9])
def test_rollouts_are_those_of_vit_explain(seen, ratio):
    vit, photo, attention, gradients = seen
    settings = {"discard_ratio": ratio, "convention": "vit-explain"}
    positive = (attention * gradients).mean(1).clamp(min=0)
    expected = published(positive, ratio, False, vit.grid.rows)
    found = vitcore.relevance(vit, photo, "gradient_rollout", 3, **settings).maps
    assert np.abs(found - expected).max() < 1e-6 and found.max() == 1
    plain = vitcore.relevance(vit, photo, "gradient_rollout", 3, discard_ratio=ratio).maps
    assert np.abs(plain / plain.max() - expected).max() > 0.01, "the default is another convention"
    for fusion, fused in (("mean", attention.mean(1)), ("max", attention.amax(1)), ("min", attention.amin(1))):
        expected = published(fused, ratio, True, vit.grid.rows)
        rec = vitcore.record(vit, photo, fusions=(fusion,))
        assert np.abs(rec.rollout(fusion=fusion, **settings) - expected).max() < 1e-6
        assert np.abs(vitcore.relevance(vit, photo, "rollout", fusion=fusion, **settings).maps - expected).max() < 1e-6


def test_what_is_kept_and_what_is_left_out():
    fused = np.full((2, 4, 4), 0.25)
    fused[:, 0, 0] = 0.01  # the smallest
    kept, dropped = (vit_explain_rollout(fused, discard_ratio=0.07, keep_first=keep) for keep in (True, False))
    assert kept[1:].max() == dropped[1:].max() == 1 and kept[0] > dropped[0]
    assert vit_explain_rollout(np.zeros((1, 3, 3))).tolist() == [1, 0, 0], "nothing came from a patch"
    whole = np.random.default_rng(0).dirichlet(np.ones(5), (3, 5))
    row = rollout(whole, 0)
    assert np.allclose(vit_explain_rollout(whole, 0), row / row[1:].max()), "the same where rows sum to 1 and nothing is discarded"
    with pytest.raises(ValueError, match="convention is one of"):
        rollout(fused, convention="paper")
