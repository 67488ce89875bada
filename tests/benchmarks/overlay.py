"""How well heat on a photo can be read: the rank correlation of each patch's value with its brightness, before and after.

    python tests/benchmarks/overlay.py [PHOTO …]

Before: 60 % of the heat over the colour photo, as it was drawn until daad2a2. After: `vitcore.figures.heat_overlay`. Without a
photo six of the gallery are measured. Values are the rollout of the model that ships.
"""

import sys

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy.stats import spearmanr

import vitcore
from vitcore.assets import asset
from vitcore.figures.attention import resize_for_figure
from vitcore.figures.heat_overlay import LUMA, fine_detail, heat_on_photo, scale_top
from vitcore.figures.theme import SEQUENTIAL, apply_colour_scale
from vitcore.images import sharp_crop

SIX = ("red-panda", "macaw", "cat", "crab", "rocket", "castle")


def before(mask: NDArray, photo: Image.Image) -> NDArray:
    """The heat, smooth, at 60 % over the photo."""
    smooth = Image.fromarray(np.float32(mask / mask.max())).resize(photo.size, Image.Resampling.BILINEAR)
    return 0.4 * np.asarray(photo, float) + 0.6 * apply_colour_scale(np.asarray(smooth), SEQUENTIAL, 0, 1)


def read(mask: NDArray, picture: NDArray) -> float:
    """Spearman's rank correlation of the patches' values with the mean luma (Rec. 709) of their pixels."""
    rows, cols = (np.arange(count) * size // count for count, size in zip(mask.shape, picture.shape, strict=False))
    sums = np.add.reduceat(np.add.reduceat(picture @ LUMA, rows, 0), cols, 1)
    sizes = np.outer(np.diff([*rows, picture.shape[0]]), np.diff([*cols, picture.shape[1]]))
    return float(spearmanr(mask.ravel(), (sums / sizes).ravel()).statistic)


def main(photos: list[str]) -> None:
    """Print the table."""
    vit = vitcore.load()
    print("| photo | before | after |\n|---|---|---|")
    for file in photos or [str(asset(f"samples/{name}.jpg")) for name in SIX]:
        rec = vitcore.record(vit, file)
        mask, photo = rec.rollout(), resize_for_figure(sharp_crop(rec.photo, rec.model_input)).convert("RGB")
        after = heat_on_photo(mask, fine_detail(photo, rec.grid), scale_top(mask))
        print(f"| {rec.photo.name} | {read(mask, before(mask, photo)):.2f} | {read(mask, after):.3f} |")


if __name__ == "__main__":
    main(sys.argv[1:])
