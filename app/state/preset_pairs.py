"""Pairs of models that are ready to be chosen at a touch, and a small picture of each, made beforehand.

`python -m app.state.preset_pairs` makes the pictures in `assets/pairs/` anew, on the first sample photo: those of a pair
that can be had where it runs, and of each kind of picture an example by the default model, which stands for the others.
After the default model, the first sample photo or a drawing changed, run it: a test compares with what is computed now.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from app.state.visit.second_model import ITSELF, OWN_SIZE, RANDOM
from vitcore.analysis.position_embeddings import position_similarity
from vitcore.assets import asset
from vitcore.figures.heat_overlay import fine_detail, heat_on_photo, scale_top
from vitcore.figures.theme import CATEGORICAL, SEQUENTIAL, apply_colour_scale, diverging_scale
from vitcore.images import open_photo
from vitcore.models.model_cards import DEFAULT_MODEL, ModelError

if TYPE_CHECKING:
    from vitcore.forward.compare_models import Comparison
    from vitcore.models.load_model import Vit

PICTURES = asset("pairs")
TILE_PX, GAP_PX = 200, 12  # of each model's half of a picture, and between both
DOT_PX = 7  # a head's, in attention distances
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


def pair_picture(preset: PresetPair) -> PairPicture:
    """The picture that was made beforehand."""
    own = PICTURES / f"{preset.key}.webp"
    return PairPicture(own, False) if own.is_file() else PairPicture(PICTURES / f"example-{preset.picture}.webp", True)


def draw_pair(first: Vit, second: Vit, picture: str) -> NDArray[np.uint8]:
    """What the page's `picture` shows of both on the first sample photo, (TILE_PX, 2 · TILE_PX + GAP_PX, 4), without words."""
    from app.state.photos import sample_photos
    from vitcore.forward.compare_models import compare, record_tokens

    photo = open_photo(sample_photos.SAMPLES / f"{sample_photos.samples()[0]['id']}.jpg")
    vits = first, second
    tiles = _tiles(compare(record_tokens(first, photo), record_tokens(second, photo)), vits, picture)
    if len(tiles) == 1:
        return _resized(tiles[0], 2 * TILE_PX + GAP_PX)
    return np.hstack([_resized(tiles[0]), np.zeros((TILE_PX, GAP_PX, 4), np.uint8), _resized(tiles[1])])


def _tiles(comparison: Comparison, vits: tuple[Vit, Vit], picture: str) -> list[NDArray[np.uint8]]:
    """A picture of each model, or one of both: (H, W, 3 or 4)."""
    from vitcore.forward.compare_models import attention_map, maps_on_common_grid
    from vitcore.models.load_model import position_embeddings

    recs = [side.rec for side in comparison.recordings]
    if picture == "tokens":
        return [apply_colour_scale(comparison.cka, SEQUENTIAL, 0, 1)]
    if picture == "positions":  # the middle's tile: so small, all of them could not be told apart
        tables = [table for vit in vits if (table := position_embeddings(vit)) is not None]  # all of `PRESET_PAIRS` have one
        cosines = [vit.grid.to_map(position_similarity(one)[vit.grid.middle]) for vit, one in zip(vits, tables, strict=True)]
        return [apply_colour_scale(one, diverging_scale("light"), -1, 1) for one in cosines]
    if picture == "distance":
        shares = [rec.distance_px / vit.grid.image_px[1] for rec, vit in zip(recs, vits, strict=True)]
        return [_dots(one, max(float(each.max()) for each in shares)) for one in shares]
    if picture == "attention":
        one, two = (attention_map(rec, vit.blocks - 1) for rec, vit in zip(recs, vits, strict=True))
        return _on_photo(comparison, maps_on_common_grid(comparison.grid, one, two, comparison.even_shares).both)
    return _on_photo(comparison, comparison.rollouts)


def _on_photo(comparison: Comparison, maps: tuple[NDArray, NDArray]) -> list[NDArray[np.uint8]]:
    """Two maps (rows, cols) on the photo, each as shares of its own total, on one scale."""
    from vitcore.analysis.relevance import absolute_shares
    from vitcore.forward.compare_models import common_photo

    detail = fine_detail(Image.fromarray(common_photo(comparison, TILE_PX)), maps[0].shape)
    shares = np.stack([absolute_shares(one) for one in maps])
    return [heat_on_photo(one, detail, scale_top(shares)) for one in shares]


def _dots(shares: NDArray, top: float) -> NDArray[np.uint8]:
    """A dot for each head of each layer (L, H), from the left; its height is the share up to `top`."""
    drawn = Image.new("RGBA", (4 * TILE_PX, 4 * TILE_PX))
    pen, radius, room = ImageDraw.Draw(drawn), 4 * DOT_PX, 4 * (TILE_PX - 4 * DOT_PX)
    for layer, heads in enumerate(shares):
        x = 8 * DOT_PX + room * layer / max(len(shares) - 1, 1)
        for share in heads:
            y = 4 * TILE_PX - 8 * DOT_PX - room * share / top
            pen.ellipse((x - radius, y - radius, x + radius, y + radius), CATEGORICAL[0])
    return np.asarray(drawn)


def _resized(tile: NDArray[np.uint8], wide: int = TILE_PX) -> NDArray[np.uint8]:
    """A tile as wide as said, TILE_PX high; what is small is enlarged cell by cell."""
    how = Image.Resampling.NEAREST if tile.shape[0] < TILE_PX else Image.Resampling.LANCZOS
    return np.asarray(Image.fromarray(tile).convert("RGBA").resize((wide, TILE_PX), how))


def example_pair(share: float = 1.5) -> tuple[Vit, Vit]:
    """The default model, and itself with an input `share` as high and wide: the models of every example."""
    from vitcore.models import load_model

    first = load_model.load(DEFAULT_MODEL)
    high, wide = first.grid.image_px
    return first, load_model.load(DEFAULT_MODEL, image_px=(round(share * high), round(share * wide)))


def make_pictures() -> None:
    """Write all that can be made here."""
    from vitcore.models import load_model
    from vitcore.models.random_weights import with_random_weights

    def save(name: str, vits: tuple[Vit, Vit], picture: str) -> None:
        PICTURES.mkdir(exist_ok=True)
        Image.fromarray(draw_pair(*vits, picture)).save(PICTURES / f"{name}.webp", "WEBP", quality=85, method=6)

    for picture in dict.fromkeys(preset.picture for preset in PRESET_PAIRS):
        save(f"example-{picture}", example_pair(), picture)
    for preset in PRESET_PAIRS:
        try:
            first = load_model.load(preset.first or DEFAULT_MODEL)
            if preset.second == RANDOM:
                vits = first, with_random_weights(first)
            else:
                vits = example_pair(0.5) if preset.second == ITSELF else (first, load_model.load(preset.second))
            save(preset.key, vits, preset.picture)
        except ModelError as error:
            print(f"{preset.key}: {error}")


if __name__ == "__main__":
    make_pictures()
