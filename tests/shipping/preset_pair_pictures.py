"""`python -m tests.shipping.preset_pair_pictures`: the pictures in `assets/pairs/`, on the first sample photo.

They are of each pair that can be had where it runs, and of each kind of picture an example by the default model, which stands
for the others. After the default model, the first sample photo or a drawing changed, run it: a test compares with what is
computed now.
"""

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from app.state.photos import sample_photos
from app.state.preset_pairs import PICTURES, PRESET_PAIRS
from app.state.visit.second_model import ITSELF, RANDOM
from vitcore.analysis.position_embeddings import position_similarity
from vitcore.analysis.relevance import absolute_shares
from vitcore.figures.heat_overlay import fine_detail, heat_on_photo, scale_top
from vitcore.figures.theme_colours import CATEGORICAL, SEQUENTIAL, apply_colour_scale, diverging_palette
from vitcore.forward.compare_models import Comparison, attention_map, common_photo, compare, record_tokens
from vitcore.images import open_photo
from vitcore.models import load_model
from vitcore.models.load_model import Vit, position_embeddings
from vitcore.models.model_cards import DEFAULT_MODEL, ModelError
from vitcore.models.random_weights import with_random_weights

TILE_PX, GAP_PX = 200, 12  # of each model's half of a picture, and between both
DOT_PX = 7  # a head's, in attention distances


def draw_pair(first: Vit, second: Vit, picture: str) -> NDArray[np.uint8]:
    """What the page's `picture` shows of both on the first sample photo, (TILE_PX, 2 · TILE_PX + GAP_PX, 4), without words."""
    photo = open_photo(sample_photos.SAMPLES / f"{sample_photos.sample_photo_rows()[0]['id']}.jpg")
    vits = first, second
    tiles = _tiles(compare(record_tokens(first, photo), record_tokens(second, photo)), vits, picture)
    if len(tiles) == 1:
        return _resized(tiles[0], 2 * TILE_PX + GAP_PX)
    return np.hstack([_resized(tiles[0]), np.zeros((TILE_PX, GAP_PX, 4), np.uint8), _resized(tiles[1])])


def _tiles(comparison: Comparison, vits: tuple[Vit, Vit], picture: str) -> list[NDArray[np.uint8]]:
    """A picture of each model, or one of both: (H, W, 3 or 4)."""
    recs = [side.rec for side in comparison.recordings]
    if picture == "tokens":
        return [apply_colour_scale(comparison.cka, SEQUENTIAL, 0, 1)]
    if picture == "positions":  # the middle's tile: so small, all of them could not be told apart
        tables = [table for vit in vits if (table := position_embeddings(vit)) is not None]  # all of `PRESET_PAIRS` have one
        cosines = [vit.grid.to_map(position_similarity(one)[vit.grid.middle]) for vit, one in zip(vits, tables, strict=True)]
        return [apply_colour_scale(one, diverging_palette("light"), -1, 1) for one in cosines]
    if picture == "distance":
        shares = [rec.distance_px / vit.grid.image_px[1] for rec, vit in zip(recs, vits, strict=True)]
        return [_dots(one, max(float(each.max()) for each in shares)) for one in shares]
    if picture == "attention":
        one, two = (attention_map(rec, vit.blocks - 1) for rec, vit in zip(recs, vits, strict=True))
        return _on_photo(comparison, comparison.map_pair(one, two).both)
    return _on_photo(comparison, comparison.rollouts)


def _on_photo(comparison: Comparison, maps: tuple[NDArray, NDArray]) -> list[NDArray[np.uint8]]:
    """Two maps (rows, cols) on the photo, each as shares of its own total, on one scale."""
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
    first = load_model.load(DEFAULT_MODEL)
    high, wide = first.grid.image_px
    return first, load_model.load(DEFAULT_MODEL, image_px=(round(share * high), round(share * wide)))


def make_pictures() -> None:
    """Write all that can be made here."""

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
