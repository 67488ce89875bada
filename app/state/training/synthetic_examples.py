"""Some of the pictures that code draws, to look at."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from app.state.memory import memory_cache

MAX_CLASSES, PICTURES_PER_CLASS = 10, 2  # shown at most


def is_synthetic(data: str) -> bool:
    """Whether a source of photos is one that code draws."""
    from vitcore.train.data import synthetic_dataset

    return data.partition(":")[0] == synthetic_dataset.SOURCE_NAME


def default_options() -> str:
    """All options of a drawn set, with what each is where it is not named."""
    from vitcore.train.data import synthetic_dataset

    return synthetic_dataset.OPTIONS


def class_titles(data: str) -> tuple[str, ...]:
    """What the classes of a drawn set that are shown are called, in the visitor's language."""
    from vitcore.train.data import synthetic_dataset

    return synthetic_dataset.class_titles(synthetic_dataset.parse_options(data))[:MAX_CLASSES]


@memory_cache.cached
def draw_examples(data: str) -> tuple[NDArray[np.uint8], tuple[float, ...]]:
    """Pictures (D, R, K, px, px, 3) of a drawn set, as difficult as it is and as usual; the difficulties."""
    from vitcore.train.data import synthetic_dataset

    asked = synthetic_dataset.parse_options(data)
    which = np.arange(PICTURES_PER_CLASS)[:, None] * asked.classes + np.arange(min(asked.classes, MAX_CLASSES))
    levels = tuple(sorted({asked.difficulty, synthetic_dataset.SyntheticDataset().difficulty}))
    sheets = [
        synthetic_dataset.draw_pictures(replace(asked, difficulty=level), 0, synthetic_dataset.TRAIN, which.ravel())
        for level in levels
    ]
    return np.stack([sheet.reshape(*which.shape, *sheet.shape[1:]) for sheet in sheets]), levels
