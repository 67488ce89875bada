"""jeonsworld's ViT-pytorch (github.com/jeonsworld/ViT-pytorch): `embeddings.patch_embeddings`, `encoder.layer.N.attention_norm`.

Fixed by its code: GELU, ε 1e-6, and the class token that the head reads. Repositories that go on from its code with layers of
their own (TransFG's part selection, hybrids' ResNet) have tensors of other names, and are refused by these.
"""

from vitcore.models.formats.rename_and_join_tensors import (
    CheckpointFormat,
    RenamingRules,
    StateDict,
    join_query_key_value,
    rename_tensors,
)

RULES: RenamingRules = (
    (r"^embeddings\.patch_embeddings\.", "patch_embed.proj."),
    (r"^embeddings\.position_embeddings$", "pos_embed"),
    (r"^embeddings\.cls_token$", "cls_token"),
    (r"^encoder\.encoder_norm\.", "norm."),
    (r"^encoder\.layer\.(\d+)\.", r"blocks.\1."),
    (r"\.attn\.(q)uery\.|\.attn\.(k)ey\.|\.attn\.(v)alue\.", lambda m: f".attn.{m[1] or m[2] or m[3]}."),
    (r"\.attn\.out\.", ".attn.proj."),
    (r"\.attention_norm\.", ".norm1."),
    (r"\.ffn_norm\.", ".norm2."),
    (r"\.ffn\.", ".mlp."),
)


def convert(state: StateDict) -> StateDict:
    """Names, and query over key over value in one matrix."""
    state = rename_tensors(state, RULES)
    join_query_key_value(state)
    return state


FORMAT = CheckpointFormat(
    "ViT-pytorch (jeonsworld)",
    ("embeddings.patch_embeddings.weight", "encoder.encoder_norm.weight"),
    convert,
    beside=(r"head\.(weight|bias)",),
    likely={"normalise": "half"},
    fixed={"activation": "gelu", "eps": 1e-6, "pool": "token"},
)
