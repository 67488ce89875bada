"""OpenMMLab's ViTs (mmpretrain, mmcls, mmsegmentation): `backbone.layers.N.ffn.layers.0.0`, `ln1` or `norm1`, `head.layers.head`.

Of its classifiers the head's hidden layer is a tanh, and means of patches have a norm of their own (`ln2`), which stands here
among the layers of the head; so does the batch norm between a backbone and a linear probe. ε and the activation differ between
its configurations, and are asked.
"""

from vitcore.models.formats.rename_and_join_tensors import (
    CheckpointFormat,
    RenamingRules,
    StateDict,
    add_zero_bias,
    drop_tensors,
    rename_tensors,
)

RULES: RenamingRules = (
    (r"^patch_embed\.projection\.", "patch_embed.proj."),
    (r"^layers\.(\d+)\.", r"blocks.\1."),
    (r"^(blocks\.\d+)\.(?:ln|norm)([12])\.", r"\1.norm\2."),
    (r"\.attn\.attn\.in_proj_", ".attn.qkv."),
    (r"\.attn\.attn\.out_proj\.", ".attn.proj."),
    (r"\.attn\.gamma1\.weight$", ".ls1.gamma"),
    (r"\.ffn\.gamma2\.weight$", ".ls2.gamma"),
    (r"\.ffn\.layers\.0\.0\.", ".mlp.fc1."),
    (r"\.ffn\.layers\.1\.", ".mlp.fc2."),
    (r"^(?:pre_norm|ln_pre)\.", "norm_pre."),
    (r"^(?:ln|norm)1\.", "norm."),
    (r"^head\.layers\.head_dist\.", "head_dist."),
    (r"^head\.(?:fc|layers\.head)\.", "head."),
    (r"^head\.layers\.pre_logits\.", "pre_logits."),
)


def convert(state: StateDict) -> StateDict:
    """Names; norms that stand between the mean of patches and the last layer become the head's."""
    headed = any(name.startswith("head.") for name in state)
    if not headed:  # necks and heads of a pre-training
        drop_tensors(state, r"neck\.")
    drop_tensors(state, r"mask_token$")
    state = rename_tensors(state, RULES)
    between = [stem for stem in ("ln2.", "neck.bn.", "pre_logits.") if any(n.startswith(stem) for n in state)]
    if not headed and "norm.weight" not in state:
        state = rename_tensors(state, ((r"^ln2\.", "fc_norm."),))
    elif headed and between:
        places = {stem: f"head.{place}." for place, stem in enumerate(between)}
        last = len(between) + ("pre_logits." in between)  # its tanh has no tensor
        rules = ((r"^head\.(weight|bias)$", rf"head.{last}.\1"), *((rf"^{stem}", new) for stem, new in places.items()))
        state = rename_tensors(state, rules)
    if "norm_pre.weight" not in state:
        add_zero_bias(state, "patch_embed.proj")
    return state


BESIDE = (r"head\.(fc|layers\.(head|head_dist|pre_logits))\.(weight|bias)", r"neck\..+")
OPENMMLAB_NAMES = ("patch_embed.projection.weight", "layers.0.ffn.layers.0.0.weight")
OPENMMLAB_SETTINGS = {"head_activation": "tanh", "head_eps": 1e-6}
OPENMMLAB = (
    CheckpointFormat(
        "OpenMMLab",
        (*OPENMMLAB_NAMES, "ln2.weight"),
        convert,
        beside=BESIDE,
        likely={"eps": 1e-6},
        fixed=OPENMMLAB_SETTINGS | {"pool": "avg"},
    ),
    CheckpointFormat("OpenMMLab", OPENMMLAB_NAMES, convert, beside=BESIDE, likely={"eps": 1e-6}, fixed=OPENMMLAB_SETTINGS),
)
