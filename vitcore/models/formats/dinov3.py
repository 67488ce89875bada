"""DINOv3 (arXiv 2508.10104) as Meta's files and Hugging Face transformers' folders have it, to the names of timm's `Eva`.

Positions are rotations and leave no table; the bias of the keys is masked or left out, and timm's has none.
Meta's: `storage_tokens`, `rope_embed.periods`, `attn.qkv.bias_mask`, `mlp.w1`. transformers': `layer.N.attention.q_proj`.
"""

import re
from collections.abc import Mapping
from typing import Any

import torch

from vitcore.models.formats.rename_and_join_tensors import CheckpointFormat, StateDict, drop_tensors, join_tensors, rename_tensors
from vitcore.models.model_cards import ModelError

RULES = (
    (r"^(?:module\.)?storage_tokens$", "reg_token"),
    (r"^embeddings\.register_tokens$", "reg_token"),
    (r"^embeddings\.cls_token$", "cls_token"),
    (r"^embeddings\.patch_embeddings\.", "patch_embed.proj."),
    (r"^(?:model\.)?layer\.(\d+)\.", r"blocks.\1."),
    (r"\.attention\.([qkv])_proj\.weight$", r".attn.\1.weight"),
    (r"\.attention\.([qv])_proj\.bias$", r".attn.\1_bias"),
    (r"\.attention\.o_proj\.", ".attn.proj."),
    (r"\.(?:ls(\d)\.gamma|layer_scale(\d)\.lambda1)$", lambda m: f".gamma_{m[1] or m[2]}"),
    (r"\.mlp\.(?:w1|gate_proj)\.", ".mlp.fc1_g."),
    (r"\.mlp\.w2\.", ".mlp.fc1_x."),
    (r"\.mlp\.(?:w3|down_proj)\.", ".mlp.fc2."),
)
HEADS_BY_WIDTH = {4096: 32}  # else a head is 64 wide
BASE_PERIOD = 100.0


def convert(state: StateDict) -> StateDict:
    """Names of timm's Eva; biases that are left out become zeros. Raises: ModelError, for what timm's can't do."""
    masked = {n.removesuffix("_mask"): state.pop(n) for n in list(state) if n.endswith("attn.qkv.bias_mask")}
    _check_periods(state)
    for name in [name for name in state if name.endswith(("register_tokens", "storage_tokens")) and not state[name].numel()]:
        del state[name]
    drop_tensors(state, r"(embeddings\.)?mask_token$", r"rope_embed", r"local_cls_norm\.", r"(dino|ibot)_head\.", r"projectors\.")
    gated = any(".gate_proj." in name for name in state)
    state = rename_tensors(state, (*RULES, (r"\.mlp\.up_proj\.", ".mlp.fc1_x." if gated else ".mlp.fc1.")))
    join_tensors(state, tuple(f".attn.{part}.weight" for part in "qkv"), ".attn.qkv.weight")
    for name in [name for name in state if name.endswith("attn.qkv.bias")]:
        query, key, value = (state.pop(name) * masked[name] if name in masked else state.pop(name)).chunk(3)
        if not key.is_meta and bool(key.nan_to_num().any()):
            raise ModelError("Its keys have a bias ({tensor}), which timm's DINOv3 does not have.", tensor=name)
        stem = name.removesuffix("qkv.bias")
        state |= {f"{stem}q_bias": query, f"{stem}v_bias": value}
    return state | _missing_biases(state)


def _missing_biases(state: StateDict) -> StateDict:
    """Zeros for layers without a bias, where timm's have one."""
    made: StateDict = {}
    biased = any(name.endswith(("attn.q_bias", "attn.v_bias")) for name in state)
    for name, w in state.items():
        if match := re.fullmatch(r"(blocks\.\d+\.(?:attn\.proj|mlp\.fc\w+)\.)weight", name):
            if match[1] + "bias" not in state:
                made[match[1] + "bias"] = torch.zeros(w.shape[0], device=w.device, dtype=w.dtype)
        if biased and name.endswith("attn.qkv.weight"):
            stem = name.removesuffix("qkv.weight")
            for part in ("q_bias", "v_bias"):
                if stem + part not in state:
                    made[stem + part] = torch.zeros(w.shape[0] // 3, device=w.device, dtype=w.dtype)
    return made


def _check_periods(state: StateDict) -> None:
    """Raises: ModelError, where rotations are others than those that timm computes."""
    periods = next((w for name, w in state.items() if name.endswith("rope_embed.periods")), None)
    if periods is None or periods.is_meta:
        return
    made = BASE_PERIOD ** (torch.arange(len(periods), dtype=torch.float64) / len(periods))
    if periods.ndim != 1 or not torch.allclose(periods.double(), made, rtol=0.01):
        raise ModelError("Its rotary positions have other periods than those of DINOv3 ({tensor}).", tensor="rope_embed.periods")


def describe_dinov3(raw: StateDict, state: StateDict, known: Mapping[str, Any]) -> dict[str, Any]:
    """A card's `architecture` from shapes: `raw` by the names in the file, `state` by timm's; known: by `OpenQuestion.key`.

    Raises: ModelError, where a tensor is missing that tells a size, and for an activation function that timm's has not.
    """
    gated = any(".mlp.fc1_g." in name for name in state)
    first = "blocks.0.mlp.fc1_g.weight" if gated else "blocks.0.mlp.fc1.weight"
    lacking = next((name for name in ("cls_token", "patch_embed.proj.weight", first) if name not in state), None)
    if lacking:
        raise ModelError("Its tensors are named as in {format}, but {tensor} is missing.", format=TITLE, tensor=lacking)
    width, size = int(state["cls_token"].shape[-1]), known.get("size") or (224, 224)
    usual = "silu" if gated else "gelu"
    if known.get("activation", usual) != usual:
        raise ModelError("its config.json names an activation function that is not supported: {name}.",
                         name=repr(known["activation"]))  # fmt: skip
    periods = next((w.shape[0] for name, w in raw.items() if name.endswith("rope_embed.periods") and w.ndim == 1), 0)
    heads = known.get("heads") or (width // (4 * periods) if periods else HEADS_BY_WIDTH.get(width, max(1, width // 64)))
    hidden = int(state[first].shape[0])
    head = state.get("head.weight")
    return {
        "timm": "vit_small_patch16_dinov3" + ("_qkvb" if any(n.endswith("attn.q_bias") for n in state) else ""),
        "embed_dim": width, "depth": len({name.split(".")[1] for name in state if name.startswith("blocks.")}),
        "num_heads": heads, "patch_size": int(state["patch_embed.proj.weight"].shape[-1]), "img_size": list(size),
        "mlp_ratio": (hidden + 0.5) / width, "swiglu_mlp": gated, "swiglu_align_to": int(gated),
        "num_reg_tokens": int(state["reg_token"].shape[1]) if "reg_token" in state else 0,
        "rope_temperature": float(known.get("rope_theta", BASE_PERIOD)), "global_pool": "token",
        "init_values": 1e-5 if "blocks.0.gamma_1" in state else None,
        "num_classes": int(head.shape[0]) if head is not None and head.ndim == 2 else 0,
    }  # fmt: skip


TITLE = "DINOv3"
FORMATS = (
    CheckpointFormat(TITLE, ("rope_embed.periods", "patch_embed.proj.weight"), convert, likely={"normalise": "imagenet"}),
    CheckpointFormat(TITLE, ("storage_tokens", "patch_embed.proj.weight"), convert, likely={"normalise": "imagenet"}),
    CheckpointFormat(
        "transformers (DINOv3)",
        ("embeddings.patch_embeddings.weight", "embeddings.cls_token"),
        convert,
        likely={"normalise": "imagenet"},
    ),
)
