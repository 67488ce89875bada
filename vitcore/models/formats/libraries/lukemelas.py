"""lukemelas' PyTorch-Pretrained-ViT (pytorch-pretrained-vit on PyPI): `positional_embedding.pos_embedding`, `attn.proj_q`, `pwff`.

Fixed by its code: GELU, ε 1e-6, and the class token that the head reads. Its hidden tanh layer, where it has one, comes before
the last norm and not after it as timm's: both are then layers of the head.
"""

import re

from vitcore.architectures.classifier_head import FOREIGN_HEAD
from vitcore.models.formats.rename_and_join_tensors import (
    CheckpointFormat,
    RenamingRules,
    StateDict,
    join_query_key_value,
    rename_tensors,
)

RULES: RenamingRules = (
    (r"^patch_embedding\.", "patch_embed.proj."),
    (r"^class_token$", "cls_token"),
    (r"^positional_embedding\.pos_embedding$", "pos_embed"),
    (r"^transformer\.blocks\.(\d+)\.", r"blocks.\1."),
    (r"^(blocks\.\d+)\.proj\.", r"\1.attn.proj."),
    (r"\.attn\.proj_([qkv])\.", r".attn.\1."),
    (r"\.pwff\.", ".mlp."),
)


def convert(state: StateDict) -> StateDict:
    """Names, query over key over value in one matrix, and the layers of its head."""
    state = rename_tensors(state, RULES)
    join_query_key_value(state)
    if any(name.startswith("pre_logits.") for name in state):
        last = rf"^(fc|{re.escape(FOREIGN_HEAD[:-1])})\."
        return rename_tensors(state, ((r"^pre_logits\.", "head.0."), (r"^norm\.", "head.2."), (last, "head.3.")))
    return state


FORMAT = CheckpointFormat(
    "PyTorch-Pretrained-ViT (lukemelas)",
    ("patch_embedding.weight", "class_token", "positional_embedding.pos_embedding"),
    convert,
    likely={"normalise": "half"},
    fixed={"activation": "gelu", "eps": 1e-6, "pool": "token", "head_activation": "tanh", "head_eps": 1e-6},
)
