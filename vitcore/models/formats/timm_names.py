"""timm's own names, which DeiT, DINO, MAE, DINOv2 and OpenCLIP's timm towers share but for a few.

DINOv2's differ (arXiv 2304.07193, github.com/facebookresearch/dinov2): timm converts them.
"""

import re

from vitcore.models.formats.state_dict import NO_MODEL, Format, State, drop, rename

CHUNKED = re.compile(r"blocks\.\d+\.(\d+)\.")  # DINOv2's training keeps its blocks in chunks


def convert(state: State) -> State:
    """DINOv2's registers and SwiGLU, DeiT-III's layer scale, and the hidden layer of older timm heads."""
    import timm  # noqa: F401
    from timm.models.vision_transformer import _convert_dinov2

    drop(state, r"decoder_", r"predictor\b")
    rules = ((CHUNKED.pattern, r"blocks.\1."), (r"\.gamma_(\d)$", r".ls\1.gamma"))
    state = rename(state, rules)
    if {"mask_token", "register_tokens"} & set(state) or any(".mlp.w12." in name for name in state):
        state = _convert_dinov2(state, NO_MODEL)
    if "pre_logits.fc.weight" in state and "head.weight" in state:
        state = rename(state, ((r"^pre_logits\.fc\.", "head.0."), (r"^head\.(weight|bias)$", r"head.2.\1")))
    if "head.weight" not in state:  # DINO's and DINOv2's heads compare views of a photo, and name no classes
        drop(state, r"head\.(mlp|last_layer)\b")
    return state


TIMM = Format("timm", ("patch_embed.proj.weight",), convert, beside=(r"(head|fc)\.(weight|bias)$",))
HYBRID = Format("timm", ("patch_embed.backbone.stem.conv.weight",), convert, likely={"normalise": "half"})
ROOT_ONLY = Format("timm", ("patch_embed.backbone.conv.weight",), convert, likely={"normalise": "half"})
