"""The logit lens: its last row is the model's answer, every row is the model's own norm and head on a depth's tokens."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

import vitcore
from vitcore.forward.logit_lens import logit_lens
from vitcore.forward.predict import predict
from vitcore.forward.recording import to_model_input
from vitcore.models import load_model
from vitcore.probabilities import probabilities

KINDS = {
    "class token": {}, "registers": {"reg_tokens": 4}, "attention pool": {"class_token": False, "global_pool": "map"},
    "mean": {"class_token": False, "global_pool": "avg"}, "mean with its own norm": {"global_pool": "avg", "fc_norm": True},
    "rectangle": {"img_size": (32, 48)}, "one block": {"depth": 1}, "LayerScale": {"init_values": 0.3},
    "a norm before": {"pre_norm": True},
}  # fmt: skip


@pytest.fixture(params=[*KINDS, "hybrid", "distilled"])
def vit(request, make_vit):
    if request.param == "distilled":
        import timm

        return vitcore.wrap(timm.create_model("deit_tiny_distilled_patch16_224", depth=3).eval(), name="distilled")
    return request.getfixturevalue("hybrid") if request.param == "hybrid" else make_vit(**KINDS[request.param])


def pixels_for(vit) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (*vit.grid.image_px, 3), np.uint8)


def test_the_last_row_is_the_answer(vit):
    pixels = pixels_for(vit)
    rows = logit_lens(vit, pixels, inputs="pixels")
    assert rows.shape == (vit.blocks + 1, len(vit.labels))
    assert np.abs(rows[-1] - predict(vit, pixels)).max() <= 1e-5


def test_every_row_is_what_timm_reads_from_that_depth(vit):
    """Independently: timm's own intermediates, through its own norm and `forward_head`."""
    pixels = pixels_for(vit)
    with torch.inference_mode():
        x = to_model_input(vit, pixels)
        states = vit.module.forward_intermediates(x, norm=False, output_fmt="NLC", return_prefix_tokens=True,
                                                  intermediates_only=True)  # fmt: skip
        whole = [torch.cat([s[1], s[0]], 1) if isinstance(s, tuple) else s for s in states]
        expected = [vit.module.forward_head(vit.module.norm(state))[0].numpy() for state in whole]
    assert len(expected) == vit.blocks
    np.testing.assert_allclose(logit_lens(vit, pixels, inputs="pixels")[1:], expected, atol=1e-5)


def test_row_0_knows_the_embeddings_only(make_vit):
    """The class token before any block has seen nothing: its row is the same for every photo; a block's is not."""
    vit = make_vit()
    one, other = (logit_lens(vit, np.full((32, 32, 3), grey, np.uint8)) for grey in (10, 240))
    assert np.array_equal(one[0], other[0])
    assert np.abs(one[1] - other[1]).max() > 1e-3


def test_a_model_without_a_head_predicts_nothing(make_vit):
    with pytest.raises(load_model.ModelError, match="tiny has no classification head"):
        logit_lens(make_vit(num_classes=0), np.zeros((32, 32, 3), np.uint8))


def test_the_shared_model_is_left_alone(tiny):
    """Threads that look and threads that predict on one module all get their own numbers."""
    photos = [np.random.default_rng(i).integers(0, 256, (32, 32, 3), np.uint8) for i in range(4)]
    plain = [predict(tiny, photo) for photo in photos]
    blocks = list(tiny.module.blocks)

    def look(i: int) -> None:
        for _ in range(5):
            np.testing.assert_allclose(logit_lens(tiny, photos[i], inputs="pixels")[-1], plain[i], rtol=0, atol=1e-5)
            np.testing.assert_allclose(predict(tiny, photos[i]), plain[i], rtol=0, atol=1e-5)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(look, range(4)))
    assert list(tiny.module.blocks) == blocks


def test_probabilities():
    p = probabilities(np.array([[1000.0, 1000.0, -1000.0], [0, np.log(3), -np.inf]], np.float32))
    np.testing.assert_allclose(p, [[0.5, 0.5, 0], [0.25, 0.75, 0]], atol=1e-6)
    assert probabilities(np.array([-1e4, 0, 1e4]), "sigmoid").tolist() == [0, 0.5, 1], "nothing overflows"
