"""Pairs of models that are ready to be chosen at a touch, and a small picture of each, made beforehand.

`python -m tests.shipping.preset_pair_pictures` makes the pictures in `assets/pairs/` anew.
"""

from pathlib import Path
from typing import NamedTuple

from app.state.visit.second_model import ITSELF, OWN_SIZE, RANDOM
from vitcore.assets import asset_path

PICTURES = asset_path("pairs")
UNLISTED_MB = {"vit_base_patch16_224.orig_in21k_ft_in1k": 346}  # what is downloaded for models outside the menu


class PresetPair(NamedTuple):
    """A pair to be chosen at a touch; `first` empty: the model that is chosen already."""

    key: str
    first: str
    second: str
    picture: str
    size: str = OWN_SIZE


PRESET_PAIRS = (
    PresetPair("random", "", RANDOM, "rollout"),
    PresetPair("size", "", ITSELF, "rollout"),
    PresetPair("hybrid", "vit_base_patch16_384.augreg_in21k_ft_in1k", "vit_base_r50_s16_384.orig_in21k_ft_in1k", "distance"),
    PresetPair("positions", "vit_small_patch16_224.augreg_in21k_ft_in1k", "deit_small_patch16_224.fb_in1k", "positions"),
    PresetPair("dino", "vit_small_patch16_224.augreg_in21k_ft_in1k", "vit_small_patch14_dinov2.lvd142m", "rollout"),
    PresetPair("registers", "vit_small_patch14_dinov2.lvd142m", "vit_small_patch14_reg4_dinov2.lvd142m", "attention"),
    PresetPair("tuned", "vit_base_patch16_224.orig_in21k", "vit_base_patch16_224.orig_in21k_ft_in1k", "tokens"),
    PresetPair("clip", "vit_base_patch16_clip_224.openai", "vit_base_patch16_clip_224.openai_ft_in1k", "tokens"),
)


class PairPicture(NamedTuple):
    """A picture's file (WebP), and whether it is an example by the default model, not the pair's own."""

    file: Path
    is_example: bool


def preset_pair_picture(preset: PresetPair) -> PairPicture:
    own = PICTURES / f"{preset.key}.webp"
    return PairPicture(own, False) if own.is_file() else PairPicture(PICTURES / f"example-{preset.picture}.webp", True)
