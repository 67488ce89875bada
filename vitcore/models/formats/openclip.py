"""OpenCLIP's visual tower (and OpenAI CLIP's, whose weights have the same names), alone or in the whole model.

timm converts it; what is added are layer scale, and towers that are timm models themselves.
"""

from vitcore.models.formats.rename_and_join_tensors import (
    NO_MODULE,
    CheckpointFormat,
    StateDict,
    add_zero_bias,
    drop_tensors,
    rename_tensors,
)


def convert(state: StateDict) -> StateDict:
    """OpenCLIP's tensors under timm's names; the projection to the text's space becomes the head."""
    import timm  # noqa: F401
    from timm.models.eva import _convert_pe
    from timm.models.vision_transformer import _convert_openai_clip

    if is_perception_encoder(state):
        return dict(_convert_pe(state, NO_MODULE, prefix=""))
    scales = rename_tensors({name: state.pop(name) for name in list(state) if ".ls_" in name},
                    ((r"transformer\.resblocks\.", "blocks."), (r"\.ls_(\d)\.", r".ls\1.")))  # fmt: skip
    converted: StateDict = _convert_openai_clip(state, NO_MODULE, prefix="")
    state.clear()
    if "norm_pre.weight" not in converted:  # timm's patch embedding has no bias only before a norm
        add_zero_bias(converted, "patch_embed.proj")
    add_zero_bias(converted)
    return converted | scales


def is_perception_encoder(state: StateDict) -> bool:
    """Whether a tower of these names has no last norm, or a pool of its own, as Meta's (arXiv 2504.13181): its positions rotate."""
    return "ln_post.weight" not in state or "attn_pool.probe" in state


def _convert_trunk(state: StateDict) -> StateDict:
    """A timm model inside OpenCLIP: `visual.trunk.` before its names, and a head of OpenCLIP's beside it."""
    drop_tensors(state, r"(?!visual\.(trunk|head)\.)")
    head = tuple(
        (rf"^visual\.head\.{name}\.", new) for name, new in (("proj", "head."), (r"mlp\.fc1", "head.0."), (r"mlp\.fc2", "head.2."))
    )
    state = rename_tensors(state, ((r"^visual\.trunk\.", ""), *head))
    add_zero_bias(state)
    return state


TOWER = CheckpointFormat(
    "OpenCLIP",
    ("conv1.weight", "class_embedding", "positional_embedding"),
    convert,
    likely={"eps": 1e-5, "normalise": "clip"},
    projection=r"(^|\.)proj$",
)
TRUNK = CheckpointFormat(
    "OpenCLIP (timm)",
    ("visual.trunk.patch_embed.proj.weight",),
    _convert_trunk,
    likely={"normalise": "half"},
    projection=r"head\.(proj|mlp\.fc2)\.weight$",
)
