"""vit-pytorch's ViT and SimpleViT (github.com/lucidrains/vit-pytorch, since 0.10): `to_patch_embedding`, `transformer.layers.N.0`.

Fixed by its code: GELU, ε 1e-5, heads that may together be wider than the model, a mean that takes the class token in, and
SimpleViT's positions, which are computed and in no file. Norms around the patch embedding came with 1.0, blocks without `fn.`
and a norm after them with 1.3, tensors without the batch's axis in 2025.
"""

import torch
from torch import Tensor

from vitcore.models.formats.libraries.flat_patches import linear_to_convolution
from vitcore.models.formats.rename_and_join_tensors import CheckpointFormat, RenamingRules, StateDict, drop_tensors, rename_tensors

LAYER = r"^transformer\.layers\.(\d+)\."
RULES: RenamingRules = (
    (r"^pos_embedding$", "pos_embed"),
    (r"^transformer\.norm\.", "norm."),
    (LAYER + r"0\.norm\.", r"blocks.\1.norm1."),
    (LAYER + r"0\.(?:fn\.)?to_qkv\.", r"blocks.\1.attn.qkv."),
    (LAYER + r"0\.(?:fn\.)?to_out\.(?:0\.)?", r"blocks.\1.attn.proj."),
    (LAYER + r"1\.fn\.net\.0\.", r"blocks.\1.mlp.fc1."),
    (LAYER + r"1\.fn\.net\.[23]\.", r"blocks.\1.mlp.fc2."),
    (LAYER + r"1\.(?:norm|net\.0)\.", r"blocks.\1.norm2."),
    (LAYER + r"1\.net\.1\.", r"blocks.\1.mlp.fc1."),
    (LAYER + r"1\.net\.[34]\.", r"blocks.\1.mlp.fc2."),
)
PLAIN_PATCHES: RenamingRules = ((r"^to_patch_embedding\.1\.", "patch_embed.proj."),)
NORMED_PATCHES: RenamingRules = (
    (r"^to_patch_embedding\.1\.", "patch_embed.norm_in."),
    (r"^to_patch_embedding\.2\.", "patch_embed.proj."),
    (r"^to_patch_embedding\.3\.", "patch_embed.norm."),
)


def convert(state: StateDict) -> StateDict:
    """Names, the layer over a patch's pixels as a convolution, and an output layer that one head of full width leaves out."""
    state = rename_tensors(state, (*(NORMED_PATCHES if "to_patch_embedding.2.weight" in state else PLAIN_PATCHES), *RULES))
    linear_to_convolution(state)
    for name in ("pos_embed", "cls_token"):
        if name in state and state[name].ndim == 2:
            state[name] = state[name][None]
    if "cls_token" in state and not state["cls_token"].numel():  # of `pool="mean"` since 2025
        drop_tensors(state, "cls_token$")
    for name in [name for name in state if name.endswith(".attn.qkv.weight")]:
        proj, qkv = name.replace("qkv", "proj"), state[name]
        if proj not in state and qkv.shape[0] == 3 * qkv.shape[1]:
            state[proj] = torch.eye(qkv.shape[1], device=qkv.device, dtype=qkv.dtype)
        if proj in state:  # timm's blocks have all biases or none
            state.setdefault(proj.replace("weight", "bias"), torch.zeros(state[proj].shape[0], device=qkv.device, dtype=qkv.dtype))
    return state


def _sine_positions(rows: int, cols: int, width: int) -> Tensor:
    """SimpleViT's positions (rows·cols, width), after arXiv 2205.01580: sines and cosines of columns, then of rows."""
    y, x = torch.meshgrid(torch.arange(rows), torch.arange(cols), indexing="ij")
    waves = 1.0 / 10_000 ** (torch.arange(width // 4) / (width // 4 - 1))
    y, x = (place.flatten()[:, None] * waves for place in (y, x))
    return torch.cat((x.sin(), x.cos(), y.sin(), y.cos()), 1).float()


VIT_PYTORCH_SETTINGS = {"activation": "gelu", "eps": 1e-5, "head_eps": 1e-5}
TITLE = "vit-pytorch"
VIT_PYTORCH = (
    CheckpointFormat(
        TITLE, ("to_patch_embedding.1.weight", "pos_embedding", "cls_token"), convert, fixed=VIT_PYTORCH_SETTINGS,
        architecture={"pool_include_prefix": True},
    ),
    CheckpointFormat(
        f"{TITLE} (SimpleViT)", ("to_patch_embedding.1.weight", "transformer.layers.0.0.to_qkv.weight"), convert,
        fixed=VIT_PYTORCH_SETTINGS | {"pool": "avg"}, positions=_sine_positions,
    ),
)  # fmt: skip
