"""Google's `.npz`, as JAX saved it (gs://vit_models, and big_vision's): the names by which timm's own loader reads the values.

Kernels are (in, out), attention's (D, H, d) and (H, d, D), so the number of heads is in the file. big_vision may keep all
blocks of a layer in one array ("scan"), with the block as its first dimension.
"""

import re

import torch
from torch import Tensor

from vitcore.models.formats.rename_and_join_tensors import CheckpointFormat, StateDict, drop_tensors, join_tensors, rename_tensors

UNIT = r"^block(\d+)/unit(\d+)/"
RULES = (
    (r"^embedding/kernel$", "patch_embed.proj.weight"),
    (r"^embedding/bias$", "patch_embed.proj.bias"),
    (r"^cls$", "cls_token"),
    (r"^(?:Transformer/posembed_input/)?pos_embedding$", "pos_embed"),
    (r"^Transformer/encoder_norm/scale$", "norm.weight"),
    (r"^Transformer/encoder_norm/bias$", "norm.bias"),
    (r"^Transformer/encoderblock_(\d+)/", r"blocks.\1."),
    (r"(blocks\.\d+\.)LayerNorm_0/", r"\1norm1."),
    (r"(blocks\.\d+\.)LayerNorm_[12]/", r"\1norm2."),
    (r"(blocks\.\d+\.|attn_pool\.)MlpBlock_\d/Dense_0/", r"\1mlp.fc1."),
    (r"(blocks\.\d+\.|attn_pool\.)MlpBlock_\d/Dense_1/", r"\1mlp.fc2."),
    (r"(blocks\.\d+\.)MultiHeadDotProductAttention_\d/out/", r"\1attn.proj."),
    (r"(blocks\.\d+\.)MultiHeadDotProductAttention_\d/(query|key|value)/", r"\1attn.\2."),
    (r"^MAPHead_0/probe$", "attn_pool.latent"),
    (r"^MAPHead_0/MlpBlock_\d/Dense_0/", "attn_pool.mlp.fc1."),
    (r"^MAPHead_0/MlpBlock_\d/Dense_1/", "attn_pool.mlp.fc2."),
    (r"^MAPHead_0/LayerNorm_0/", "attn_pool.norm."),
    (r"^MAPHead_0/MultiHeadDotProductAttention_0/out/", "attn_pool.proj."),
    (r"^MAPHead_0/MultiHeadDotProductAttention_0/query/", "attn_pool.q."),
    (r"^MAPHead_0/MultiHeadDotProductAttention_0/(key|value)/", r"attn_pool.\1."),
    (r"^conv_root/", "patch_embed.backbone.stem.conv."),
    (r"^gn_root/", "patch_embed.backbone.stem.norm."),
    (UNIT + r"(conv|norm)_proj/", lambda m: _unit(m, "downsample." + m[3])),
    (UNIT + r"gn_proj/", lambda m: _unit(m, "downsample.norm")),
    (UNIT + r"conv(\d)/", lambda m: _unit(m, "conv" + m[3])),
    (UNIT + r"gn(\d)/", lambda m: _unit(m, "norm" + m[3])),
    (r"^pre_logits/", "pre_logits."),
    (r"^head/", "head."),
    (r"\.(kernel|scale)$", ".weight"),
)


def _unit(m: re.Match[str], part: str) -> str:
    return f"patch_embed.backbone.stages.{int(m[1]) - 1}.blocks.{int(m[2]) - 1}.{part}."


def convert(state: StateDict) -> StateDict:
    """timm's names and shapes."""
    drop_tensors(state, r"opt/state/")
    state = rename_tensors(_unstack_blocks(state), RULES)
    for name in list(state):
        state[name] = _transposed(name, state[name])
    for kind in ("weight", "bias"):
        join_tensors(state, tuple(f".attn.{part}.{kind}" for part in ("query", "key", "value")), f".attn.qkv.{kind}")
        join_tensors(state, tuple(f"attn_pool.{part}.{kind}" for part in ("key", "value")), f"attn_pool.kv.{kind}")
    if not any(name.startswith("patch_embed.backbone.stages") for name in state):  # the root convolution alone
        state = rename_tensors(state, ((r"backbone\.stem\.", "backbone."),))
    if "pre_logits.weight" in state and "head.weight" in state:
        state = rename_tensors(state, ((r"^pre_logits\.", "head.0."), (r"^head\.(weight|bias)$", r"head.2.\1")))
    return state


def _transposed(name: str, w: Tensor) -> Tensor:
    """Kernels of convolutions (h, w, in, out) and layers (in, out) as torch has them; attention's heads side by side."""
    if name.endswith(".attn.proj.weight") or name == "attn_pool.proj.weight":  # (H, d, D)
        return w.flatten(0, 1).T if w.ndim == 3 else w
    if re.search(r"\.(query|key|value|q)\.", name):  # (D, H, d), biases (H, d)
        return w.flatten(1).T if w.ndim == 3 else w.flatten()
    if name.endswith(".weight") and w.ndim == 4:
        return w.flatten() if w.shape[:3] == (1, 1, 1) and "norm" in name else w.permute(3, 2, 0, 1)
    if name.endswith((".bias", ".weight")) and w.ndim == 4:
        return w.flatten()
    return w.T if name.endswith(".weight") and w.ndim == 2 else w


def _unstack_blocks(state: StateDict) -> StateDict:
    """Blocks of their own where one array holds all of them."""
    for name in [name for name in state if name.startswith("Transformer/encoderblock/")]:
        for i, part in enumerate(state.pop(name).unbind(0)):
            state[name.replace("encoderblock/", f"encoderblock_{i}/")] = part
    return state


def head_count_from_query(state: StateDict) -> int | None:
    """H, from the shape of a query (D, H, d)."""
    query = next((w for name, w in state.items() if re.search(r"encoderblock.*/query/kernel$", name)), torch.empty(0))
    return int(query.shape[-2]) if query.ndim >= 3 else None


FORMAT = CheckpointFormat("Google (JAX)", ("embedding/kernel",), convert, likely={"normalise": "half"})
