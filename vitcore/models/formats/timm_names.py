"""timm's own names, which DeiT, DINO, MAE, DINOv2 and OpenCLIP's timm towers share but for a few.

DINOv2's differ (arXiv 2304.07193, github.com/facebookresearch/dinov2): timm converts them.
"""

import re

from vitcore.models.formats.state_dict import NO_MODULE, CheckpointFormat, StateDict, drop_tensors, rename_tensors

CHUNKED = re.compile(r"blocks\.\d+\.(\d+)\.")  # DINOv2's training keeps its blocks in chunks


def convert(state: StateDict) -> StateDict:
    """DINOv2's registers and SwiGLU, DeiT-III's layer scale, and the hidden layer of older timm heads."""
    import timm  # noqa: F401
    from timm.models.vision_transformer import _convert_dinov2

    drop_tensors(state, r"decoder_", r"predictor\b")
    rules = ((CHUNKED.pattern, r"blocks.\1."), (r"\.gamma_(\d)$", r".ls\1.gamma"))
    state = rename_tensors(state, rules)
    if {"mask_token", "register_tokens"} & set(state) or any(".mlp.w12." in name for name in state):
        state = _convert_dinov2(state, NO_MODULE)
    if "pre_logits.fc.weight" in state and "head.weight" in state:
        state = rename_tensors(state, ((r"^pre_logits\.fc\.", "head.0."), (r"^head\.(weight|bias)$", r"head.2.\1")))
    if "head.weight" not in state:  # DINO's and DINOv2's heads compare views of a photo, and name no classes
        drop_tensors(state, r"head\.(mlp|last_layer)\b")
    return state


TIMM = CheckpointFormat("timm", ("patch_embed.proj.weight",), convert, beside=(r"head\.(weight|bias)$",))
HYBRID = CheckpointFormat("timm", ("patch_embed.backbone.stem.conv.weight",), convert, likely={"normalise": "half"})
ROOT_ONLY = CheckpointFormat("timm", ("patch_embed.backbone.conv.weight",), convert, likely={"normalise": "half"})
