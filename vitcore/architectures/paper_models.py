"""The models of the paper by their names (arXiv 2010.11929 Tables 1, 5 and 6): what each is in timm, and trained weights.

"ViT-B/16", "R50+B/16" (also "R50+ViT-B/16"), "BiT R152x4". Table 1 gives Base, Large and Huge; Tiny and Small are those
of arXiv 2106.10270. timm builds them all. No torch in this file.
"""

from dataclasses import dataclass
from typing import Any

SIZES = {  # timm's word, D, L, H; the MLP is 4 · D wide
    "Ti": ("tiny", 192, 12, 3), "S": ("small", 384, 12, 6), "B": ("base", 768, 12, 12), "L": ("large", 1024, 24, 16),
    "H": ("huge", 1280, 32, 16),
}  # fmt: skip
BACKBONES = {  # of hybrids: timm's model with it, and the pixels its patches are apart, which are not always those of the name
    "R": ("vit_tiny_r_s16_p8_224", 32),  # the root alone, 8×8 patches of its output: /32, though it is called /16
    "R14/16": ("", 16),  # stages of 1, 1, 2, by the same rule as R50/16; no model of the paper, for experiments on small pictures
    "R26/32": ("vit_small_r26_s32_224", 32),  # stages of 2, 2, 2, 2 blocks
    "R50/16": ("vit_base_r50_s16_224", 16),  # stages of 3, 4, 9: stage 4's blocks are put into stage 3 (§4.1)
    "R50/32": ("vit_large_r50_s32_224", 32),  # stages of 3, 4, 6, 3
}
STAGES = {"R14/16": (1, 1, 2)}  # of backbones that timm has no model with
RESNETS = {  # R14 and R26 are no sizes of the paper: for experiments on small pictures
    "R14": (1, 1, 1, 1), "R26": (2, 2, 2, 2), "R50": (3, 4, 6, 3), "R101": (3, 4, 23, 3), "R152": (3, 8, 36, 3),
}  # fmt: skip
FT, IN21K = "augreg_in21k_ft_in1k", "orig_in21k_ft_in1k"
TRAINED_WEIGHTS = {  # names on the hub of weights for a name of the paper
    "ViT-Ti/16": f"vit_tiny_patch16_224.{FT}", "ViT-S/8": "vit_small_patch8_224.dino", "ViT-S/16": f"vit_small_patch16_224.{FT}",
    "ViT-S/32": f"vit_small_patch32_224.{FT}", "ViT-B/8": f"vit_base_patch8_224.{FT}", "ViT-B/16": f"vit_base_patch16_224.{FT}",
    "ViT-B/32": f"vit_base_patch32_224.{FT}", "ViT-L/16": f"vit_large_patch16_224.{FT}",
    "ViT-L/32": f"vit_large_patch32_384.{IN21K}", "ViT-H/14": "vit_huge_patch14_224.orig_in21k",
    "R+Ti/16": f"vit_tiny_r_s16_p8_224.{FT}", "R26+S/32": f"vit_small_r26_s32_224.{FT}",
    "R50+B/16": f"vit_base_r50_s16_384.{IN21K}", "R50+L/32": f"vit_large_r50_s32_224.{FT}",
} | {f"BiT {size}": f"resnetv2_{size[1:]}_bit.goog_in21k_ft_in1k"
     for size in ("R50x1", "R50x3", "R101x1", "R101x3", "R152x2", "R152x4")}  # fmt: skip


@dataclass(frozen=True, slots=True)
class PaperModel:
    """A model of the paper: its name, the fields of a training recipe that make it, and trained weights ("": none)."""

    name: str
    fields: dict[str, Any]
    trained_weights: str = ""


def _all() -> dict[str, PaperModel]:
    families: dict[str, dict[str, Any]] = {}
    for size in SIZES:
        for patch in (8, 14, 16, 32):
            families[f"ViT-{size}/{patch}"] = _fields(size, patch)
    hybrids = [("R+Ti/16", "R"), *((f"R26+{size}/32", "R26/32") for size in "SB"),
               *((f"R50+{size}/{px}", f"R50/{px}") for size in "BL" for px in (16, 32))]  # fmt: skip
    for name, resnet in hybrids:
        size = name.partition("+")[2].partition("/")[0]
        families[name] = _fields(size, BACKBONES[resnet][1]) | {"resnet": resnet}
    for depth in ("R50", "R101", "R152"):
        for times in (1, 2, 3, 4):
            families[f"BiT {depth}x{times}"] = {"family": "resnet", "resnet": depth, "width": 64 * times, "patch_px": 32}
    for px in (16, 32):
        families[f"Axial-ViT-B/{px}"] = _fields("B", px) | {"family": "axial", "readout": "mean"}
    families["AxialResNet-50"] = {"family": "axial resnet", "resnet": "R50", "width": 64, "heads": 8, "patch_px": 32}
    return {name: PaperModel(name, fields, TRAINED_WEIGHTS.get(name, "")) for name, fields in families.items()}


def _fields(size: str, patch_px: int) -> dict[str, Any]:
    _, width, blocks, heads = SIZES[size]
    return {"patch_px": patch_px, "width": width, "blocks": blocks, "heads": heads}


PAPER_MODELS = _all()
_BY_SPELLING = {name.casefold().replace(" ", ""): name for name in PAPER_MODELS}


def find_paper_model(name: str) -> PaperModel | None:
    """The model that is called so in the paper; None for any other name.

    Case and spaces do not matter, nor the "ViT-" of a hybrid's transformer ("R50+ViT-B/16"), nor the "BiT" of a ResNet.
    """
    said = name.casefold().replace(" ", "").replace("+vit-", "+").replace("bit-", "bit")
    known = next((_BY_SPELLING[s] for s in (said, f"vit-{said}", f"bit{said}") if s in _BY_SPELLING), None)
    return PAPER_MODELS[known] if known else None
