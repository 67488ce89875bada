"""MONAI's ViT of pictures (github.com/Project-MONAI/MONAI): `patch_embedding.position_embeddings`, `blocks.N.mlp.linear1`.

Fixed by its code: GELU, ε 1e-5, positions of patches alone, the class token that the head reads, and the tanh over its logits
where the head is `classification_head.0`. Its models of volumes are refused: a photo has no depth.
"""

from vitcore.models.formats.libraries.flat_patches import linear_to_convolution
from vitcore.models.formats.rename_and_join_tensors import CheckpointFormat, RenamingRules, StateDict, drop_tensors, rename_tensors
from vitcore.models.model_cards import ModelError

RULES: RenamingRules = (
    (r"^patch_embedding\.patch_embeddings\.(?:1\.)?", "patch_embed.proj."),
    (r"^patch_embedding\.position_embeddings$", "pos_embed"),
    (r"^(?:patch_embedding\.)?cls_token$", "cls_token"),
    (r"^(blocks\.\d+)\.attn\.out_proj\.", r"\1.attn.proj."),
    (r"^(blocks\.\d+)\.mlp\.linear([12])\.", r"\1.mlp.fc\2."),
)


def convert(state: StateDict) -> StateDict:
    """Names, without the cross-attention that every block holds since 1.4 and none uses. Raises: ModelError, for volumes."""
    drop_tensors(state, r"blocks\.\d+\.(norm_)?cross_attn\.")
    state = rename_tensors(state, RULES)
    if state["patch_embed.proj.weight"].ndim == 5:
        raise ModelError("It is a MONAI model of volumes, which are cut into cubes, and a photo has no depth.")
    linear_to_convolution(state)
    return state


MONAI_SETTINGS = {"activation": "gelu", "eps": 1e-5, "pool": "token"}
MONAI_NAMES = ("patch_embedding.position_embeddings", "blocks.0.mlp.linear1.weight")
MONAI = (
    CheckpointFormat(
        "MONAI", (*MONAI_NAMES, "classification_head.0.weight"), convert, fixed=MONAI_SETTINGS,
        architecture={"head_output": "tanh"},
    ),
    CheckpointFormat("MONAI", MONAI_NAMES, convert, fixed=MONAI_SETTINGS),
)  # fmt: skip
