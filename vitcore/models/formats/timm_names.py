"""timm's own names, which DeiT, DINO, MAE, DINOv2 and OpenCLIP's timm towers share but for a few.

DINOv2's differ (arXiv 2304.07193, github.com/facebookresearch/dinov2): timm converts them.
"""

import re
from collections.abc import Mapping

from vitcore.models.formats.containers.lazy_tensor import LazyTensor
from vitcore.models.formats.rename_and_join_tensors import (
    NO_MODULE,
    CheckpointFormat,
    StateDict,
    drop_tensors,
    join_query_key_value,
    join_tensors,
    rename_tensor,
    rename_tensors,
)

CHUNKED = re.compile(r"blocks\.\d+\.(\d+)\.")  # DINOv2's training keeps its blocks in chunks
EVA = (
    (r"\.mlp\.w1\.", ".mlp.fc1_g."), (r"\.mlp\.w2\.", ".mlp.fc1_x."), (r"\.mlp\.w3\.", ".mlp.fc2."),
    (r"\.mlp\.ffn_ln\.", ".mlp.norm."), (r"\.attn\.inner_attn_ln\.", ".attn.norm."),
)  # fmt: skip
EVA_APART = (r"\.attn\.([qv])_bias$", r".attn.\1_proj.bias")  # where queries, keys and values are made by layers of their own
APART = (  # of those who make queries, keys and values apart, or by torch's own layer
    (r"\.attn\.([qkv])_proj\.", r".attn.\1."), (r"\.attn\.out_proj\.", ".attn.proj."),
    (r"\.attn\.in_proj_(weight|bias)$", r".attn.qkv.\1"),
)  # fmt: skip
EVA_ROTATION = re.compile(r"(.*\.)?rope\.freqs_(cos|sin)")  # computed from the size of the input


def convert(state: StateDict) -> StateDict:
    """DINOv2's registers and SwiGLU, DeiT-III's layer scale, queries, keys and values apart, hidden layers of older timm heads."""
    import timm  # noqa: F401
    from timm.models.vision_transformer import _convert_dinov2

    drop_tensors(state, r"decoder_", r"predictor\b", r"masked_embed$")  # the last is iBOT's mask token
    rules = ((CHUNKED.pattern, r"blocks.\1."), (r"\.gamma_(\d)$", r".ls\1.gamma"))
    state = rename_tensors(state, (*rules, *APART) if any(".attn.out_proj." in name for name in state) else rules)
    for kind in ("weight", "bias"):
        join_tensors(state, (f".attn.q.{kind}", f".attn.kv.{kind}"), f".attn.qkv.{kind}")
    join_query_key_value(state)
    if {"mask_token", "register_tokens"} & set(state) or any(".mlp.w12." in name for name in state):
        state = _convert_dinov2(state, NO_MODULE)
    if "pre_logits.fc.weight" in state and "head.weight" in state:
        state = rename_tensors(state, ((r"^pre_logits\.fc\.", "head.0."), (r"^head\.(weight|bias)$", r"head.2.\1")))
    if "head.weight" not in state:  # DINO's and DINOv2's heads compare views of a photo, and name no classes
        drop_tensors(state, r"head\.(mlp|last_layer)\b")
    return state


def with_timm_eva_names(weights: Mapping[str, LazyTensor]) -> dict[str, LazyTensor]:
    """Weights of EVA-02's own repository under timm's names; others as they are. timm computes the rotations, which it keeps."""
    own = {name: weight for name, weight in weights.items() if not EVA_ROTATION.fullmatch(name)}
    if len(own) == len(weights):
        return own
    rules = (*EVA, EVA_APART) if any(".attn.q_proj." in name for name in own) else EVA
    return {rename_tensor(name, rules): weight for name, weight in own.items()}


TIMM = CheckpointFormat("timm", ("patch_embed.proj.weight",), convert, beside=(r"head\.(weight|bias)$",))
HYBRID = CheckpointFormat("timm", ("patch_embed.backbone.stem.conv.weight",), convert, likely={"normalise": "half"})
ROOT_ONLY = CheckpointFormat("timm", ("patch_embed.backbone.conv.weight",), convert, likely={"normalise": "half"})
