"""An independent implementation: Hugging Face transformers' eager ViT on the same weights has the same attention."""

import numpy as np
import pytest
import torch

import vitcore
from vitcore.attention_hooks import AttentionHookMode
from vitcore.forward.recording import record, to_model_input

SIZES = [
    {"img_size": 32, "patch_size": 8, "embed_dim": 24, "depth": 3, "num_heads": 3},
    {"img_size": 48, "patch_size": 16, "embed_dim": 64, "depth": 2, "num_heads": 8, "mlp_ratio": 2},
    {"img_size": 56, "patch_size": 4, "embed_dim": 48, "depth": 4, "num_heads": 1},
    {"img_size": (32, 64), "patch_size": 8, "embed_dim": 96, "depth": 6, "num_heads": 6, "mlp_ratio": 3},
    {"img_size": 224, "patch_size": 16, "embed_dim": 192, "depth": 12, "num_heads": 3},
]
BLOCK = {
    "norm1": "layernorm_before", "norm2": "layernorm_after", "attn.proj": "attention.o_proj",
    "mlp.fc1": "mlp.fc1", "mlp.fc2": "mlp.fc2",
}  # fmt: skip


def to_transformers(module):
    """The same model as a transformers ViT with eager attention; every weight is copied, none is left over."""
    from transformers import ViTConfig, ViTModel

    config = ViTConfig(
        hidden_size=module.embed_dim, num_hidden_layers=len(module.blocks), num_attention_heads=module.blocks[0].attn.num_heads,
        intermediate_size=module.blocks[0].mlp.fc1.out_features, image_size=tuple(module.patch_embed.img_size),
        patch_size=tuple(module.patch_embed.patch_size), layer_norm_eps=1e-6, hidden_act="gelu",
        attn_implementation="eager",
    )  # fmt: skip
    twin = ViTModel(config, add_pooling_layer=False).eval()
    twin.load_state_dict(renamed(module), strict=True)
    return twin


def renamed(module):
    given = module.state_dict()
    state = {"embeddings.cls_token": given["cls_token"], "embeddings.position_embeddings": given["pos_embed"]}
    for kind in ("weight", "bias"):
        state[f"embeddings.patch_embeddings.projection.{kind}"] = given[f"patch_embed.proj.{kind}"]
        state[f"layernorm.{kind}"] = given[f"norm.{kind}"]
        for i in range(len(module.blocks)):
            for ours, theirs in BLOCK.items():
                state[f"layers.{i}.{theirs}.{kind}"] = given[f"blocks.{i}.{ours}.{kind}"]
            for name, part in zip("qkv", given[f"blocks.{i}.attn.qkv.{kind}"].chunk(3), strict=True):
                state[f"layers.{i}.attention.{name}_proj.{kind}"] = part
    return state


@pytest.fixture(scope="module", params=SIZES, ids=lambda s: "-".join(map(str, s.values())))
def pair(request, make_module):
    module = make_module(**request.param)
    return module, to_transformers(module)


@torch.inference_mode()
def test_attention_equals_theirs(pair):
    module, twin = pair
    x = torch.randn(2, 3, *module.patch_embed.img_size, generator=torch.Generator().manual_seed(3))
    seen = []
    with AttentionHookMode(lambda call: seen.append(call.weights())):
        features = module.forward_features(x)
    answer = twin(x, output_attentions=True)
    assert len(answer.attentions) == len(seen) == len(module.blocks)
    for ours, theirs in zip(seen, answer.attentions, strict=True):
        assert theirs.std() > 1e-4, "attention is uniform: nothing is compared"
        assert torch.allclose(ours, theirs, rtol=0, atol=1e-5)
    assert torch.allclose(features, answer.last_hidden_state, rtol=0, atol=1e-4)


@torch.inference_mode()
def test_recordings_equal_theirs(pair, noise):
    module, twin = pair
    vit = vitcore.wrap(module)
    rec = record(vit, noise(), maps=range(vit.blocks), fusions=("mean", "max", "min"))
    theirs = torch.cat(twin(to_model_input(vit, rec.model_input.pixels), output_attentions=True).attentions).numpy()
    assert np.allclose(rec.fused["mean"], theirs.mean(1), rtol=0, atol=1e-5)
    assert np.allclose(rec.fused["max"], theirs.max(1), rtol=0, atol=1e-5)
    assert np.allclose(rec.fused["min"], theirs.min(1), rtol=0, atol=1e-5)
    kept = np.stack([rec.maps[i] for i in range(vit.blocks)])
    assert np.allclose(kept, theirs, rtol=1e-3, atol=1e-5)  # kept with 16 bits
