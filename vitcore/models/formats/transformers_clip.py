"""Hugging Face transformers' vision towers of SigLIP and CLIP: `embeddings.patch_embedding`, `encoder.layers.N.self_attn`."""

from vitcore.models.formats.rename_and_join_tensors import (
    CheckpointFormat,
    RenamingRules,
    StateDict,
    add_zero_bias,
    drop_tensors,
    join_query_key_value,
    rename_tensors,
)

RULES: RenamingRules = (
    (r"^embeddings\.patch_embedding\.", "patch_embed.proj."),
    (r"^embeddings\.position_embedding\.weight$", "pos_embed"),
    (r"^embeddings\.class_embedding$", "cls_token"),
    (r"^encoder\.layers\.(\d+)\.", r"blocks.\1."),
    (r"\.layer_norm([12])\.", r".norm\1."),
    (r"\.self_attn\.out_proj\.", ".attn.proj."),
    (r"\.self_attn\.([qkv])_proj\.", r".attn.\1."),
    (r"^pre_layrnorm\.", "norm_pre."),  # theirs
    (r"^post_layernorm\.", "norm."),
    (r"^head\.probe$", "attn_pool.latent"),
    (r"^head\.attention\.in_proj_", "attn_pool.qkv."),
    (r"^head\.attention\.out_proj\.", "attn_pool.proj."),
    (r"^head\.layernorm\.", "attn_pool.norm."),
    (r"^head\.", "attn_pool."),
    (r"^(?:visual_projection|classifier)\.", "head."),
)


def convert(state: StateDict) -> StateDict:
    """Query, key and value become one matrix; a classifier reads the mean of the patches, and then no attention pool."""
    pooled = "classifier.weight" not in state
    state = rename_tensors(state, RULES)
    join_query_key_value(state)
    for kind in ("weight", "bias"):
        if f"attn_pool.qkv.{kind}" in state:
            query, rest = state.pop(f"attn_pool.qkv.{kind}").tensor_split([len(state["attn_pool.proj.bias"])])
            state |= {f"attn_pool.q.{kind}": query, f"attn_pool.kv.{kind}": rest}
    if not pooled:
        drop_tensors(state, r"attn_pool\.", *([r"norm\."] if "cls_token" in state else []))  # CLIP's norm is of its own answer
    if "pos_embed" in state:
        state["pos_embed"] = state["pos_embed"].unsqueeze(0)
    if "cls_token" in state:
        state["cls_token"] = state["cls_token"].reshape(1, 1, -1)
    add_zero_bias(state)  # CLIP's projection has none
    return state


SIGLIP = CheckpointFormat(
    "transformers (SigLIP)",
    ("embeddings.patch_embedding.weight", "embeddings.patch_embedding.bias"),
    convert,
    beside=(r"classifier\.(weight|bias)$",),
    likely={"activation": "gelu_tanh", "normalise": "half"},
)
CLIP = CheckpointFormat(
    "transformers (CLIP)",
    ("embeddings.patch_embedding.weight", "embeddings.class_embedding"),
    convert,
    beside=(r"(visual_projection|classifier)\.(weight|bias)$",),
    likely={"activation": "quick_gelu", "eps": 1e-5, "normalise": "clip"},
    projection=r"visual_projection\.weight$",
)
