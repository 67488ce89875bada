"""Pictures to learn from before there is a model: photos in patches, those that code draws, and the empty curve of the loss."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import ImageOps

from app import texts
from app.state.memory import memory_cache
from vitcore.figures import photos_in_patches
from vitcore.figures.charts.training_figures import TrainingCurve, training_curves
from vitcore.figures.drawing import Drawing
from vitcore.grid import Grid
from vitcore.images import PhotoError
from vitcore.train.data import synthetic_dataset
from vitcore.train.recipe import Recipe
from vitcore.translation import say

PHOTOS_SHOWN, COLUMNS = 12, 4
CURVE_PX = 330
SHIPPED = "samples"
MAX_CLASSES, PICTURES_PER_CLASS = 10, 2  # shown at most


def photos_in_patches_figure(source: str, count: int, recipe: Recipe, mode: Any) -> Drawing:
    """Some of the `count` photos of a source, as large as the recipe has them, in its patches."""
    side = recipe.image_px // recipe.patch_px
    pixels, names = _example_photos(source, count, recipe.image_px)
    if source == SHIPPED:  # whose titles the app has in each language
        names = tuple(map(say, names))
    return photos_in_patches(pixels, Grid(side, side, recipe.patch_px), names, COLUMNS, mode)


@memory_cache.cached
def _example_photos(source: str, count: int, side_px: int) -> tuple[NDArray[np.uint8], tuple[str, ...]]:
    """(K, side, side, 3) squares of photos evenly chosen, broken ones left out, and the names of their classes."""
    from vitcore.train.data.photo_sources import open_photo_source

    photos, _ = open_photo_source(source)
    squares, names = [], []
    for i in np.linspace(0, len(photos) - 1, min(PHOTOS_SHOWN, len(photos))).round().astype(int).tolist():
        try:
            image, _ = photos.open_reduced(i, side_px)
        except PhotoError:
            continue
        squares.append(np.asarray(ImageOps.fit(image, (side_px, side_px))))
        names.append(photos.classes[photos.labels[i]] if photos.classes and photos.labels[i] >= 0 else "")
    return np.stack(squares) if squares else np.zeros((0, side_px, side_px, 3), np.uint8), tuple(names)


def empty_loss_chart(recipe: Recipe, classes: int, mode: Any) -> Drawing:
    """The axes of the loss to come; with classes to learn, the loss of guessing among them."""
    text, title, lines = texts.prose("train"), texts.prose("train")["curve title none"], []
    if recipe.task == "classify" and classes > 1:
        guessing = math.log(classes)
        title = text["curve title"].format(value=guessing, classes=classes)
        lines = [TrainingCurve(text["guessing"], np.array([0, recipe.steps]), np.full(2, guessing))]
    drawn = training_curves(lines, title, texts.prose("learn")["loss unit"], mode, last=recipe.steps)
    return replace(drawn, height_px=CURVE_PX)


def is_synthetic_source(data: str) -> bool:
    """Whether a source of photos is one that code draws."""
    return data.partition(":")[0] == synthetic_dataset.SOURCE_NAME


def default_synthetic_options() -> str:
    """All options of a drawn set, with what each is where it is not named."""
    return synthetic_dataset.OPTIONS


def synthetic_class_titles(data: str) -> tuple[str, ...]:
    """What the classes of a drawn set that are shown are called, in the visitor's language."""
    return synthetic_dataset.synthetic_class_titles(synthetic_dataset.parse_synthetic_options(data))[:MAX_CLASSES]


@memory_cache.cached
def draw_synthetic_examples(data: str) -> tuple[NDArray[np.uint8], tuple[float, ...]]:
    """Pictures (D, R, K, px, px, 3) of a drawn set, as difficult as it is and as usual; the difficulties."""
    asked = synthetic_dataset.parse_synthetic_options(data)
    which = np.arange(PICTURES_PER_CLASS)[:, None] * asked.classes + np.arange(min(asked.classes, MAX_CLASSES))
    levels = tuple(sorted({asked.difficulty, synthetic_dataset.SyntheticDataset().difficulty}))
    sheets = [
        synthetic_dataset.draw_synthetic_pictures(replace(asked, difficulty=level), 0, synthetic_dataset.TRAIN, which.ravel())
        for level in levels
    ]
    return np.stack([sheet.reshape(*which.shape, *sheet.shape[1:]) for sheet in sheets]), levels
