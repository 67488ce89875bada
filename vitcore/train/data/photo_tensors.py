"""Photographs as tensors: kept decoded on the device for training, streamed when there are too many, and for validation."""

import math
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from vitcore.images import PhotoError
from vitcore.train.data.batches_and_mixup import Batch, check_even_batch, make_batch, photo_indices_of_step, places_in_batch
from vitcore.train.data.encoded_photos import EncodedPhotos
from vitcore.train.data.photos import DataError, Photos, unreadable_photos_sentence
from vitcore.train.data.random_crops import NUMBERS_PER_BOX, crop_batch, random_crop_boxes
from vitcore.train.data.streaming import StreamedPhotos
from vitcore.train.data.synthetic_dataset import SyntheticPictures
from vitcore.train.recipe import Recipe
from vitcore.train.seeds import CROPS

Progress = Callable[[int, int], None]  # photos so far, photos in all
Device = torch.device | str

SIZE_MARGIN = 1.25  # decoded photos are kept this much larger than the model's, so that crops are not too soft
PROGRESS_CHUNK = 256  # photos decoded between two looks at the progress
MAX_DECODED_BYTES = 2**30  # validation photos up to this size are decoded once


def open_batches(recipe: Recipe, photos: Photos, device: Device, mean: Sequence[float], std: Sequence[float],
              progress: Progress | None = None) -> "PhotosOnDevice | StreamedPhotos":  # fmt: skip
    """Training batches: from decoded photos on the device if they fit and are not to be RandAugmented, else streamed.

    Raises: DataError, if no photo can be read; RecipeError, if photos are mixed in pairs and their number is odd.
    """
    check_even_batch(recipe, recipe.micro_batch or recipe.batch)
    if recipe.rand_augment or len(photos) * 3 * decoded_side_px(recipe, photos) ** 2 > recipe.resident_gb * 1e9:
        return StreamedPhotos(recipe, photos, device, mean, std)
    return PhotosOnDevice(recipe, photos, device, mean, std, progress)


def decoded_side_px(recipe: Recipe, photos: Photos) -> int:
    """Side of the squares photos are kept as; arrays, whose size is known, are not enlarged for it."""
    side = math.ceil(SIZE_MARGIN * recipe.image_px)
    if isinstance(photos.items, EncodedPhotos):  # nothing is read to find that out
        return side
    if isinstance(photos.items, SyntheticPictures):  # nor drawn
        return min(side, photos.items.px)
    sizes = [max(item.shape[:2]) if isinstance(item, np.ndarray) else side for item in photos.items]
    return min(side, max(sizes, default=side))


class PhotosOnDevice:
    """Photos decoded once: squashed to squares, uint8 (N, 3, S, S) on the device, and cut there in their true aspect."""

    def __init__(self, recipe: Recipe, photos: Photos, device: Device, mean: Sequence[float], std: Sequence[float],
                 progress: Progress | None = None) -> None:  # fmt: skip
        self.recipe, self.classes, self.device = recipe, len(photos.classes), torch.device(device)
        squares, sizes, self.problems = _decode_to_squares(photos, decoded_side_px(recipe, photos), progress)
        self._readable = np.flatnonzero(sizes[:, 0])
        if not len(self._readable):
            raise DataError(unreadable_photos_sentence(photos, self.problems))
        self._sizes, self._squares = sizes, squares.to(self.device)
        self._labels = torch.from_numpy(photos.labels).to(self.device)
        self._scale, self._shift = _normalisation_factors(mean, std, self.device)

    def __len__(self) -> int:
        """How many photos can be read."""
        return len(self._readable)

    def batch(self, step: int, micro: int = 0, passes: int = 1, rank: int = 0, world: int = 1) -> Batch:
        """Pass `micro` of `passes` of a step (from 0) in process `rank` of `world`.

        Raises: RecipeError, if the batch can't be shared so.
        """
        places = places_in_batch(self.recipe, micro, passes, rank, world)
        which = self._readable[photo_indices_of_step(self.recipe, len(self), step)[places]]
        shares, flips = self._draw(self._sizes[which], step, places)
        rows = torch.from_numpy(which).to(self.device)
        pixels = crop_batch(self._squares, rows, shares.to(self.device), flips.to(self.device), self.recipe.image_px)
        pixels = pixels.mul_(self._scale).add_(self._shift)
        return make_batch(self.recipe, pixels, self._labels[rows], self.classes, step, micro * world + rank)

    def _draw(self, sizes: NDArray[np.int64], step: int, places: range) -> tuple[Tensor, Tensor]:
        """Boxes as shares of each photo (B, 4), and which are mirrored (B,); each place has numbers of its own."""
        rng = np.random.default_rng((CROPS, self.recipe.seed, step))
        draws = rng.random((self.recipe.batch, NUMBERS_PER_BOX + 1))[places.start : places.stop]
        areas = random_crop_boxes(sizes, draws[:, :NUMBERS_PER_BOX], (self.recipe.crop_area, 1.0)) / np.tile(sizes, 2)
        flips = self.recipe.flip & (draws[:, NUMBERS_PER_BOX] < 0.5)
        return torch.from_numpy(areas.astype(np.float32)), torch.from_numpy(flips)


def _normalisation_factors(mean: Sequence[float], std: Sequence[float], device: Device) -> tuple[Tensor, Tensor]:
    """What bytes are multiplied by, and what is then added, (3, 1, 1) each."""
    means, deviations = (torch.tensor(values, device=device).view(3, 1, 1) for values in (mean, std))
    return 1 / (255 * deviations), -means / deviations


def _decode_to_squares(photos: Photos, side: int, progress: Progress | None = None) -> tuple[Tensor, NDArray[np.int64], list[str]]:
    """Whole photos as squares (N, 3, side, side) uint8, their sizes (N, 2): width, height, and what went wrong.

    Broken photos have the size 0 × 0 and a line of their own. Raises: DataError, if the folder of the photos is gone.
    """
    squares = np.zeros((len(photos), 3, side, side), np.uint8)
    sizes = np.zeros((len(photos), 2), np.int64)

    def one(i: int) -> str | None:
        try:
            image, size = photos.open_reduced(i, side)
        except PhotoError as error:
            return str(error)
        if image.size != (side, side):
            image = image.resize((side, side), Image.Resampling.BICUBIC, reducing_gap=2.0)
        squares[i], sizes[i] = np.asarray(image).transpose(2, 0, 1), size
        return None

    problems: list[str] = []
    with ThreadPoolExecutor(_decoder_threads()) as pool:  # Pillow decodes without the interpreter's lock
        for first in range(0, len(photos), PROGRESS_CHUNK):
            last = min(first + PROGRESS_CHUNK, len(photos))
            problems += [said for said in pool.map(one, range(first, last)) if said]
            if progress:
                progress(last, len(photos))
    return torch.from_numpy(squares), sizes, problems


def _decoder_threads() -> int:
    """Threads that decode."""
    return min(16, os.cpu_count() or 1)


class EvaluationBatches:
    """Batches of normalised centre crops (B, 3, px, px) and labels (B,) in the order of the photos; the broken are listed.

    Iterate over it as often as you like: photos are decoded on the first round and kept as bytes if they fit. Raises, when
    iterated: DataError, if the photos are gone or none can be read.
    """

    def __init__(self, photos: Photos, px: int, mean: Sequence[float], std: Sequence[float], device: Device,
                 batch: int = 256) -> None:  # fmt: skip
        import timm  # noqa: F401
        from timm.data import create_transform

        self.photos, self.px, self.device, self.size = photos, px, torch.device(device), batch
        self.problems: list[str] = []
        self._transform: Any = create_transform(px, crop_pct=1.0, interpolation="bicubic", normalize=False)
        self._scale, self._shift = _normalisation_factors(mean, std, self.device)
        self._keep = len(photos) * 3 * px**2 <= MAX_DECODED_BYTES
        self._kept: list[tuple[Tensor, Tensor]] | None = None

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        for pixels, labels in self._decoded() if self._kept is None else self._kept:
            yield pixels.to(self.device).float().mul_(self._scale).add_(self._shift), labels.to(self.device)

    def _decoded(self) -> Iterator[tuple[Tensor, Tensor]]:
        kept, problems, tried = [], [], 0
        with ThreadPoolExecutor(_decoder_threads()) as pool:
            for first in range(0, len(self.photos), self.size):
                decoded = list(pool.map(self._one, range(first, min(first + self.size, len(self.photos)))))
                problems += [said for said in decoded if isinstance(said, str)]
                good = [pair for pair in decoded if not isinstance(pair, str)]
                tried += len(good)
                if not good:
                    continue
                part = torch.stack([pixels for pixels, _ in good]), torch.tensor([label for _, label in good])
                kept += [part] if self._keep else []
                yield part
        self.problems = problems
        if problems and not tried:
            raise DataError(unreadable_photos_sentence(self.photos, problems))
        self._kept = kept if self._keep else None

    def _one(self, i: int) -> tuple[Tensor, int] | str:
        try:
            return self._transform(self.photos.open(i)), int(self.photos.labels[i])
        except PhotoError as error:
            return str(error)
