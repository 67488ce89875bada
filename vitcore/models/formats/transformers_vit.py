"""Hugging Face transformers' ViT, DeiT, and DINOv2 with and without registers: `embeddings.…`, `encoder.layer.N.…`.

Its files keep the names of its first versions; `layer_distillation.N.` and `q_proj` are those of its classes since version 5.
"""

from vitcore.architectures.classifier_head import FOREIGN_HEAD
from vitcore.models.formats.rename_and_join_tensors import (
    NO_MODULE,
    CheckpointFormat,
    RenamingRules,
    StateDict,
    drop_tensors,
    join_query_key_value,
    join_tensors,
    rename_tensors,
)

RULES: RenamingRules = (
    (r"^embeddings\.patch_embeddings\.projection\.", "patch_embed.proj."),
    (r"^embeddings\.position_embeddings$", "pos_embed"),
    (r"^embeddings\.distillation_token$", "dist_token"),
    (r"^embeddings\.", ""),
    (r"^(?:encoder\.)?layers?\.(\d+)\.", r"blocks.\1."),
    (r"\.attention\.(?:attention\.(query|key|value)|([qkv])_proj)\.", lambda m: f".attn.{(m[1] or m[2])[0]}."),
    (r"\.attention\.(?:output\.dense|o_proj)\.", ".attn.proj."),
    (r"\.intermediate\.dense\.", ".mlp.fc1."),
    (r"^(blocks\.\d+)\.output\.dense\.", r"\1.mlp.fc2."),
    (r"\.mlp\.weights_in\.", ".mlp.fc1."),
    (r"\.mlp\.weights_out\.", ".mlp.fc2."),
    (r"\.layernorm_before\.", ".norm1."),
    (r"\.layernorm_after\.", ".norm2."),
    (r"\.layer_scale(\d)\.lambda1$", r".ls\1.gamma"),
    (r"^layernorm\.", "norm."),
    (r"^(?:cls_)?classifier\.", "head."),
    (r"^distillation_classifier\.", "head_dist."),
)


def convert(state: StateDict) -> StateDict:
    """Query, key and value become one matrix; DINOv2's class token and registers take their places as in timm."""
    import timm  # noqa: F401
    from timm.models.vision_transformer import _convert_dinov2

    headed = any(name.startswith((FOREIGN_HEAD, "classifier.")) for name in state)
    drop_tensors(state, r"(embeddings\.)?mask_token$", r"decoder\.", *([] if headed else [r"pooler\."]))
    state = rename_tensors(state, RULES)
    join_query_key_value(state)
    for kind in ("weight", "bias"):
        join_tensors(state, (f".mlp.gate_proj.{kind}", f".mlp.up_proj.{kind}"), f".mlp.fc1.{kind}")
    state = rename_tensors(state, ((r"\.mlp\.down_proj\.", ".mlp.fc2."),))
    if "dist_token" in state and "head_dist.weight" not in state:  # its answer is the class token's alone
        state["reg_token"] = state.pop("dist_token")
    if "register_tokens" in state:
        state = _convert_dinov2(state, NO_MODULE)
    return state


FORMAT = CheckpointFormat(
    "transformers",
    ("embeddings.patch_embeddings.projection.weight",),
    convert,
    beside=(r"(cls_|distillation_)?classifier\.(weight|bias)$",),
    likely={"eps": 1e-12, "normalise": "half"},
)
