"""A map as the paper's Figure 6 draws it: the photo, and beside it the photo as bright as it was attended to."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter

from vitcore.figures.attention import patch_outline
from vitcore.figures.drawing import Drawing, HoverGrid, RasterLayer, picture_axes
from vitcore.figures.heat_overlay import scale_top
from vitcore.figures.theme_colours import Mode
from vitcore.grid import Grid
from vitcore.translation import say


def paper_style_figure(
    rollout_map: NDArray, photo: Image.Image, grid: Grid, title: str, mode: Mode, subtitle: str, query_patch: int | None,
    hover_text: list[list[str]]
) -> Drawing:  # fmt: skip
    """As Figure 6 shows it: the photo, and beside it the photo as bright as it was attended to, which is no scale."""
    one, apart = (float(grid.cols), float(grid.rows)), grid.cols * 1.04
    size = (apart + one[0], one[1])
    silent = [[""] * grid.cols + row for row in hover_text]  # the photo says nothing
    lit = RasterLayer(paper_style_photo(rollout_map, photo, grid), one, (apart, 0), smooth=True)
    return Drawing(
        title=title, subtitle=" · ".join(filter(None, (subtitle, paper_style_note()))), mode=mode, height_px=420,
        rasters=[RasterLayer(np.asarray(photo), one, smooth=True), lit], marks=[HoverGrid(silent, size)],
        shapes=[replace(box, x=box.x + apart) for box in patch_outline(query_patch, grid)], **picture_axes(size),
    )  # fmt: skip


def paper_style_note() -> str:
    """What is said of the paper's way of drawing."""
    return say("as in the paper's Figure 6: the photo's brightness is part of the picture, so brightness is no scale")


def paper_style_photo(rollout_map: NDArray, photo: Image.Image, grid: Grid) -> NDArray[np.uint8]:
    """The photo over black, as visible as it was attended to (Fig. 6)."""
    return (np.asarray(photo) * (paper_style_alpha(rollout_map, photo.size, grid)[..., None] / 255)).astype(np.uint8)


def paper_style_alpha(rollout_map: NDArray, size: tuple[int, int], grid: Grid) -> NDArray[np.uint8]:
    """The authors' drawing (google-research/vision_transformer#27): Lanczos, a blur of one patch, min to max, as alpha.

    Where a few patches tower over all others it begins at `scale_top`, as the heat does, or all else would be black.
    """
    small = Image.fromarray(np.uint8(255 * np.minimum(rollout_map / max(scale_top(rollout_map, 0), 1e-12), 1)))
    radius = grid.step_px[0] * size[1] / grid.image_px[0]
    large = np.asarray(small.resize(size, Image.Resampling.LANCZOS).filter(ImageFilter.GaussianBlur(radius)), np.float64)
    large = large - large.min()
    return np.round(255 * large / max(float(large.max()), 1e-12)).astype(np.uint8)
