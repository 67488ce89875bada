"""The paper's pre-training head: one hidden tanh layer, in the place of a timm ViT's own head."""

import torch

from tests.conftest import timm_vit
from vitcore.architectures.build_model import mlp_head


def test_it_is_one_hidden_tanh_layer():
    head, x = mlp_head(24, 10), torch.randn(5, 24)
    assert sorted(head.state_dict()) == ["0.bias", "0.weight", "2.bias", "2.weight"]
    hidden = torch.tanh(x @ head[0].weight.T + head[0].bias)
    assert torch.allclose(head(x), hidden @ head[2].weight.T + head[2].bias, atol=1e-6)
    assert head[0].weight.shape == (24, 24) and head(x).shape == (5, 10)


def test_timm_reads_features_before_it():
    module, x = timm_vit(), torch.randn(2, 3, 32, 32)
    with torch.inference_mode():
        plain = module.forward_head(module.forward_features(x), pre_logits=True)
        module.head = mlp_head(24, 7)
        assert torch.equal(module.forward_head(module.forward_features(x), pre_logits=True), plain)
        assert module(x).shape == (2, 7) and torch.equal(module(x), module.head(plain))
