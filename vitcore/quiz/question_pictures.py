"""The pictures of questions: the photo with letters or an outline on it, maps as cells, maps as heat over a photo."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from vitcore.figures.heat_overlay import scale_top
from vitcore.figures.theme_colours import DIVERGING, SEQUENTIAL, apply_colour_scale
from vitcore.grid import Grid
from vitcore.quiz.question import LETTERS
from vitcore.report.report_pictures import heat_over_photo

MAP_PX = 224  # of a map in a question, at least: its cells are whole pixels
OUTLINE_COLOUR, LETTER_BACKGROUND = "#00E5FF", "#101418"  # seen on dark maps and on photos


def letter_patches(photo: NDArray[np.uint8], patches: Sequence[int], grid: Grid) -> NDArray[np.uint8]:
    """A photo with a letter on each of these patches."""
    drawn = Image.fromarray(photo)
    pen, wide, high = ImageDraw.Draw(drawn), drawn.width / grid.cols, drawn.height / grid.rows
    radius = max(11.0, min(wide, high) / 2)
    font = ImageFont.load_default(size=round(1.5 * radius))
    for letter, patch in zip(LETTERS, patches, strict=False):
        row, col = grid.row_col(patch)
        x = min(max((col + 0.5) * wide, radius), drawn.width - 1 - radius)
        y = min(max((row + 0.5) * high, radius), drawn.height - 1 - radius)
        pen.rectangle((x - radius, y - radius, x + radius, y + radius), fill=LETTER_BACKGROUND, outline=OUTLINE_COLOUR, width=2)
        pen.text((x, y), letter, fill="#FFFFFF", font=font, anchor="mm")
    return np.asarray(drawn)


def outline_patch(photo: NDArray[np.uint8], patch: int, grid: Grid) -> NDArray[np.uint8]:
    """A photo with one patch outlined, its inside unchanged."""
    drawn = Image.fromarray(photo)
    wide, high = drawn.width / grid.cols, drawn.height / grid.rows
    row, col = grid.row_col(patch)
    box = (round(col * wide) - 3, round(row * high) - 3, round((col + 1) * wide) + 2, round((row + 1) * high) + 2)
    pen = ImageDraw.Draw(drawn)
    pen.rectangle(box, outline=LETTER_BACKGROUND, width=3)
    pen.rectangle((box[0] + 1, box[1] + 1, box[2] - 1, box[3] - 1), outline=OUTLINE_COLOUR, width=2)
    return np.asarray(drawn)


def map_picture(values: NDArray, patch: int | None = None) -> NDArray[np.uint8]:
    """(rows, cols) amounts as large cells, coloured as over a photo; a patch that was asked is outlined."""
    drawn = enlarge_pixels(apply_colour_scale(np.asarray(values, np.float64), SEQUENTIAL, 0, scale_top(values)))
    return drawn if patch is None else outline_patch(drawn, patch, Grid.from_map(values))


def cosine_map_picture(cosines: NDArray) -> NDArray[np.uint8]:
    """(rows, cols) cosines from −1 to 1 as large cells."""
    return enlarge_pixels(apply_colour_scale(cosines, DIVERGING, -1, 1))


def enlarge_pixels(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """(h, w, 3) pixels, each drawn as a square, so that the longer side has at least MAP_PX."""
    zoom = max(1, -(-MAP_PX // max(pixels.shape[:2])))
    return pixels.repeat(zoom, 0).repeat(zoom, 1)


def photo_with_heat(photo: NDArray[np.uint8], amounts: NDArray) -> NDArray[np.uint8]:
    """(rows, cols) amounts as heat over a photo, as the pages draw a rollout."""
    return heat_over_photo(Image.fromarray(photo), amounts[None], scale_top(amounts), Grid.from_map(amounts))[0]


def are_letters_apart(patches: Sequence[int], grid: Grid, side_px: int) -> bool:
    """Whether letters on these patches of a photo so wide do not cover each other."""
    step = side_px / max(grid.rows, grid.cols)
    places = [grid.row_col(patch) for patch in patches]
    return all(
        max(abs(one[0] - other[0]), abs(one[1] - other[1])) * step >= max(24, step)
        for i, one in enumerate(places) for other in places[i + 1 :]
    )  # fmt: skip
