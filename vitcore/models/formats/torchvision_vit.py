"""torchvision's ViT: `conv_proj`, `encoder.layers.encoder_layer_N.self_attention`, `heads`."""

from vitcore.models.formats.rename_and_join_tensors import CheckpointFormat, RenamingRules, StateDict, rename_tensors

BLOCK = r"^encoder\.layers\.encoder_layer_(\d+)\."
RULES: RenamingRules = (
    (r"^conv_proj\.", "patch_embed.proj."),
    (r"^class_token$", "cls_token"),
    (r"^encoder\.pos_embedding$", "pos_embed"),
    (r"^encoder\.ln\.", "norm."),
    (BLOCK + r"ln_([12])\.", r"blocks.\1.norm\2."),
    (BLOCK + r"self_attention\.in_proj_", r"blocks.\1.attn.qkv."),
    (BLOCK + r"self_attention\.out_proj\.", r"blocks.\1.attn.proj."),
    (BLOCK + r"mlp\.(?:linear_1|0)\.", r"blocks.\1.mlp.fc1."),
    (BLOCK + r"mlp\.(?:linear_2|3)\.", r"blocks.\1.mlp.fc2."),
)


def convert(state: StateDict) -> StateDict:
    """Names only: torchvision keeps query, key and value in one matrix, as timm does."""
    state = rename_tensors(state, RULES)
    if "heads.pre_logits.weight" in state:  # the paper's pre-training head
        return rename_tensors(state, ((r"^heads\.pre_logits\.", "head.0."), (r"^heads\.head\.", "head.2.")))
    return rename_tensors(state, ((r"^heads\.head\.", "head."), (r"^heads\.", "head.")))


FORMAT = CheckpointFormat("torchvision", ("conv_proj.weight", "encoder.pos_embedding"), convert)
