"""DINOv3 as Meta's file and as transformers' folder, at any input size; timm's own are in `test_table_of_files.py`."""

import pytest
import torch
import transformers

from tests.conftest import lively
from vitcore.models import load_model

PLAIN = {"hidden_size": 96, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 192, "image_size": 64,
         "num_register_tokens": 4}  # fmt: skip
KINDS = {
    "plain": {}, "gated": {"use_gated_mlp": True, "hidden_act": "silu", "intermediate_size": 200}, "no registers":
    {"num_register_tokens": 0}, "no biases": {"query_bias": False, "value_bias": False, "proj_bias": False, "mlp_bias": False},
    "another base": {"rope_theta": 50.0}, "wide": {"image_size": [48, 96]},
}  # fmt: skip


def their_model(**changes):
    return lively(transformers.DINOv3ViTModel(transformers.DINOv3ViTConfig(**PLAIN | changes)))


def same(vit, theirs, x):
    with torch.inference_mode():
        ours = vit.module(x)
    assert theirs.std() > 1e-2 and torch.allclose(ours, theirs, rtol=0, atol=1e-4), (ours - theirs).abs().max()


@pytest.mark.parametrize("kind", KINDS)
@torch.inference_mode()
def test_transformers_folder(kind, tmp_path):
    module = their_model(**KINDS[kind])
    module.save_pretrained(tmp_path)
    vit = load_model.load(tmp_path)
    x = torch.randn(2, 3, *vit.grid.image_px)
    same(vit, module(x).pooler_output, x)
    assert vit.grid.prefix == 1 + module.config.num_register_tokens and vit.heads == 3
    other = load_model.load(tmp_path, image_px=(80, 48))
    x = torch.randn(1, 3, 80, 48)
    same(other, module(x).pooler_output, x)


def metas_state(module):
    """Meta's names for a model of transformers' (github.com/facebookresearch/dinov3, dinov3/models/vision_transformer.py)."""
    state, config = module.state_dict(), module.config
    made = {}
    for name, w in state.items():
        name = name.replace("model.layer.", "blocks.").replace("embeddings.register_tokens", "storage_tokens")
        name = name.replace("embeddings.patch_embeddings", "patch_embed.proj").replace("embeddings.", "")
        name = name.replace(".layer_scale1.lambda1", ".ls1.gamma").replace(".layer_scale2.lambda1", ".ls2.gamma")
        name = name.replace("attention.o_proj", "attn.proj")
        for theirs, metas in (("gate_proj", "w1"), ("up_proj", "w2"), ("down_proj", "w3")) if config.use_gated_mlp else (
            ("up_proj", "fc1"), ("down_proj", "fc2")):  # fmt: skip
            name = name.replace(theirs, metas)
        made[name] = w
    for i in range(config.num_hidden_layers):
        stem = f"blocks.{i}.att"
        made[f"{stem}n.qkv.weight"] = torch.cat([made.pop(f"{stem}ention.{p}_proj.weight") for p in "qkv"])
        query, value = (made.pop(f"{stem}ention.{p}_proj.bias") for p in "qv")
        garbage, mask = torch.full_like(query, 7.0), torch.ones_like(query)
        made[f"{stem}n.qkv.bias"] = torch.cat([query, garbage, value])
        made[f"{stem}n.qkv.bias_mask"] = torch.cat([mask, 0 * mask, mask])
    width = config.hidden_size // config.num_attention_heads
    made["rope_embed.periods"] = 100.0 ** (2 * torch.arange(width // 4) / (width // 2))
    made["mask_token"] = made["mask_token"].reshape(1, -1)
    return made


@pytest.mark.parametrize("kind", ["plain", "gated", "no registers"])
@torch.inference_mode()
def test_metas_file(kind, tmp_path):
    module = their_model(**KINDS[kind] | {"image_size": 224})
    torch.save({"teacher": metas_state(module)}, tmp_path / "a.pth")
    vit = load_model.load(tmp_path / "a.pth", image_px=64)
    x = torch.randn(2, 3, 64, 64)
    same(vit, module(x).pooler_output, x)
    assert vit.heads == 3 and vit.mean[0] == 0.485


@torch.inference_mode()
def test_a_classifier_beside_it_and_heads_that_no_periods_tell(tmp_path):
    module = their_model(image_size=224)
    state = metas_state(module) | {"x": torch.ones(1)}
    del state["rope_embed.periods"], state["x"]
    head = torch.nn.Linear(96, 5)
    held = {f"backbone.{n}": w for n, w in state.items()} | {f"head.{n}": w for n, w in head.state_dict().items()}
    torch.save(held, tmp_path / "a.pth")
    found = load_model.inspect(tmp_path / "a.pth")
    assert {"heads", "pool"} <= {q.key for q in found.questions}
    x = torch.randn(2, 3, 64, 64)
    out = module(x)
    answers = {"heads": 3, "pool": "token"}
    same(load_model.open_inspected_checkpoint(found, answers, image_px=64), head(out.pooler_output), x)
    mean = load_model.open_inspected_checkpoint(found, answers | {"pool": "avg"}, image_px=64)
    same(mean, head(out.last_hidden_state[:, 5:].mean(1)), x)


def test_what_timms_model_can_not_do_is_refused(tmp_path):
    module = their_model(image_size=224)
    state = metas_state(module)
    plain = {n: w for n, w in state.items() if not n.endswith("bias_mask")}
    other = state | {"rope_embed.periods": 2 * state["rope_embed.periods"]}
    for held, said in ((plain, "keys have a bias"), (other, "other periods")):
        torch.save(held, tmp_path / "a.pth")
        with pytest.raises(load_model.ModelError, match=said):
            load_model.load(tmp_path / "a.pth")
    their_model(key_bias=True).save_pretrained(tmp_path / "keys")
    with pytest.raises(load_model.ModelError, match=r"k_proj\.bias"):
        load_model.load(tmp_path / "keys")
