"""Activation patching: each number is that of a pass some of whose tokens were put there by hand."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

import vitcore
from tests.vitcore.interventions.conftest import inputs_for, make_kind
from tests.vitcore.interventions.test_edits import answer
from vitcore.architectures.axial_vit import AxialViT
from vitcore.interventions import activation_patching as patching
from vitcore.models.model_cards import ModelError


def two_photos(vit):
    """Two model inputs that the model answers differently, and their logits."""
    for seed in range(50):
        x = inputs_for(vit, 2, seed)
        logits = answer(vit, x)
        if logits[0].argmax() != logits[1].argmax():
            return x[:1], x[1:], logits
    raise AssertionError("all are answered alike")


def test_everything_gives_the_other_answer_and_nothing_its_own(vit, monkeypatch):
    x, other, logits = two_photos(vit)
    top, second = (int(one.argmax()) for one in logits)
    before = {name: value.clone() for name, value in vit.module.state_dict().items()}
    told, grid = [], vit.grid
    groups = [range(grid.tokens), [], [grid.tokens - 1], *([range(grid.prefix)] if grid.prefix else [])]
    found = vitcore.activation_patching(vit, x, other, groups, progress=lambda *done: told.append(done))
    assert (found.answer, found.other_answer) == (top, second) and told[-1] == (vit.blocks * len(groups),) * 2
    assert found.own == pytest.approx(float(logits[0, top] - logits[0, second]), abs=1e-5)
    assert found.other == pytest.approx(float(logits[1, top] - logits[1, second]), abs=1e-5)
    np.testing.assert_allclose(found.logit_difference[:, 0], found.other, atol=1e-5)
    np.testing.assert_allclose(found.logit_difference[:, 1], found.own, atol=1e-5)
    np.testing.assert_allclose(found.share[:, 0], 1, atol=1e-4)
    assert found.turning_layer(0) == 0 and found.turning_layer(1) is None
    for layer in range(vit.blocks):
        with vitcore.edit(vit) as e:
            e.patch(from_=other_activations(vit, other), at=("resid_post", layer, grid.tokens - 1))
        by_edit = answer(e.vit, x)[0]
        assert found.logit_difference[layer, 2] == pytest.approx(float(by_edit[top] - by_edit[second]), abs=1e-5)
    monkeypatch.setattr(patching, "MOST_NUMBERS", 1)  # one at a time
    alone = vitcore.activation_patching(vit, x, other, groups)
    np.testing.assert_allclose(alone.logit_difference, found.logit_difference, atol=1e-5)
    assert all(torch.equal(value, before[name]) for name, value in vit.module.state_dict().items())
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in vit.module.modules())


def other_activations(vit, other):
    return vitcore.cache(vit, other, ["resid_post"])


def test_after_the_last_layer_the_class_token_is_all_that_is_read():
    vit = make_kind("plain")
    x, other, _ = two_photos(vit)
    found = vitcore.activation_patching(vit, x, other)
    assert found.logit_difference.shape == (vit.blocks, vit.grid.tokens)
    np.testing.assert_allclose(found.share[-1], np.eye(vit.grid.tokens)[0], atol=1e-4)
    assert found.turning_layer(0) is not None and found.turning_layer(5) is None
    named = vitcore.activation_patching(vit, x, other, [0], (vit.labels[found.answer], found.other_answer))
    np.testing.assert_allclose(named.logit_difference[:, 0], found.logit_difference[:, 0], atol=1e-5)


def test_the_layer_of_the_turn():
    differences = np.array([[1, -1, 1, -1, 1], [1, -1, -1, -1, -1], [1, -1, -1, 1, 1], [-1, -1, -1, -1, 1]], np.float32)
    made = patching.ActivationPatching(
        model="m", answer=0, other_answer=1, tokens=((0,),) * 5, logit_difference=differences, own=1.0, other=-1.0
    )  # fmt: skip
    assert [made.turning_layer(group) for group in range(5)] == [3, 0, 1, 3, None]


def test_axial_attention_and_threads():
    """Rows and columns stay apart there; all tokens of a layer are the other photo's, in every thread."""
    vit = vitcore.wrap(AxialViT((16, 24), 8, embed_dim=8, depth=2, num_heads=2, num_classes=3).eval(), name="axial")
    x, other = inputs_for(vit, 1, 0), inputs_for(vit, 1, 1)
    far = (answer(vit, x) - answer(vit, other))[0]
    classes, groups = (int(far.argmax()), int(far.argmin())), [range(vit.grid.tokens), [0]]
    wanted = vitcore.activation_patching(vit, x, other, groups, classes)
    np.testing.assert_allclose(wanted.logit_difference[:, 0], wanted.other, atol=1e-5)
    assert np.abs(wanted.logit_difference[:, 1] - wanted.own).max() > 1e-7

    with ThreadPoolExecutor(4) as threads:
        results = [*threads.map(lambda _: vitcore.activation_patching(vit, x, other, groups, classes), range(4))]
    assert all(np.array_equal(one.logit_difference, wanted.logit_difference) for one in results)


def test_what_can_t_be_asked(make_vit):
    vit = make_kind("plain")
    x, other, _ = two_photos(vit)
    with pytest.raises(ModelError, match=r"answers both photos with .*, so no difference"):
        vitcore.activation_patching(vit, x, x)
    with pytest.raises(ModelError, match="does not prefer"):
        vitcore.activation_patching(vit, x, x, classes=(1, 2))
    with pytest.raises(ValueError, match=f"tokens are from 0 to {vit.grid.tokens - 1}, not 999"):
        vitcore.activation_patching(vit, x, other, [[999]])
    with pytest.raises(ValueError, match="no group of tokens"):
        vitcore.activation_patching(vit, x, other, [])
    with pytest.raises(ValueError, match="one photo to one other"):
        vitcore.activation_patching(vit, torch.cat([x, other]), other)
    features = make_vit(num_classes=0)
    with pytest.raises(ModelError, match="gives features, not classes"):
        vitcore.activation_patching(features, inputs_for(features, 1), inputs_for(features, 1, 1))
