"""Many photos, opened and cropped a batch ahead of the model by threads; what can't be opened is told with its reason.

Photos come as a folder, files, pictures, arrays, tensors (B, 3, H, W), or a DataLoader of these, and are never all held at once.
"""

import os
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from vitcore.images import Crop, Photo, PhotoError, crop_for_model, open_photo, photo_from_image, photos_in_folder, printable_name
from vitcore.images.photo_arrays import as_numpy, is_array
from vitcore.models.vit import Vit
from vitcore.translation import say

MOST_WORKERS = 8
WHOLE_BYTE = 0.01  # of 255: a normalised tensor that was made of bytes gives them back as nearly as this


@dataclass(frozen=True)
class SkippedPhoto:
    """A photo that could not be opened: its place among the photos, its name, and why, in one sentence."""

    index: int
    name: str
    reason: str


@dataclass(frozen=True, eq=False)
class OpenedPhoto:
    """A photo and its crop. A photo that is not kept whole has the model input as its picture."""

    index: int
    photo: Photo
    crop: Crop


Opened = OpenedPhoto | SkippedPhoto


def count_photos(photos: Any) -> int | None:
    """How many photos there are; None for an iterator, which tells nobody."""
    one_by_one = getattr(photos, "dataset", photos)  # of a DataLoader, whose own length is in batches
    return len(one_by_one) if hasattr(one_by_one, "__len__") else None


def list_photos(photos: Any) -> Any:
    """A folder's photos, a single photo as a list of one, and all else as it is.

    Raises: PhotoError, for a folder without photos.
    """
    if isinstance(photos, str | Path) and Path(photos).is_dir():
        return photos_in_folder(photos)
    alone = isinstance(photos, str | Path | bytes | Photo | Image.Image) or hasattr(photos, "read")
    return [photos] if alone or (is_array(photos) and photos.ndim < 4) else photos


def open_in_batches(vit: Vit, photos: Iterable[Any], batch: int, workers: int | None, whole: bool) -> Iterator[list[Opened]]:
    """Batches of photos, as they follow in `photos`; the next are opened meanwhile, by `workers` threads (0: by none)."""
    threads = min(MOST_WORKERS, batch, os.cpu_count() or 1) if workers is None else workers
    tasks = ((vit, index, source, whole) for index, source in enumerate(_one_by_one(photos)))
    if not threads:
        yield from _chunks((_open(*task) for task in tasks), batch)
        return
    pool = ThreadPoolExecutor(threads, "open photos")
    try:
        ahead = deque(_submit(pool, task) for task in islice(tasks, batch))

        def opened() -> Iterator[Opened]:
            while ahead:
                one = ahead.popleft().result()
                ahead.extend(_submit(pool, task) for task in islice(tasks, 1))
                yield one

        yield from _chunks(opened(), batch)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _submit(pool: ThreadPoolExecutor, task: tuple[Vit, int, Any, bool]) -> "Future[Opened]":
    context = copy_context()  # the reader's language, which a thread's own lacks
    return pool.submit(lambda: context.run(_open, *task))


def _chunks(opened: Iterator[Opened], batch: int) -> Iterator[list[Opened]]:
    while some := list(islice(opened, batch)):
        yield some


def _one_by_one(photos: Iterable[Any]) -> Iterator[Any]:
    """Single photos of what an iterable gives: photos, batches (B, 3, H, W), or either with its labels."""
    for item in photos:
        first = item[0] if isinstance(item, tuple | list) and len(item) else item
        if is_array(first) and first.ndim == 4:
            yield from first
        else:
            yield first


def _open(vit: Vit, index: int, source: Any, whole: bool) -> Opened:
    is_file = isinstance(source, str | Path)
    name = printable_name(Path(source).name) if is_file else say("photo {number}", number=index)
    try:
        pixels = _pixels_of_model_input(vit, source)
        if pixels is not None:
            high, wide = pixels.shape[:2]
            photo = photo_from_image(Image.fromarray(pixels), name)
            return OpenedPhoto(index, photo, Crop(pixels, (0.0, 0.0, float(wide), float(high))))
        photo = open_photo(source, None if is_file or hasattr(source, "read") else name, vit.bands)
    except PhotoError as error:
        return SkippedPhoto(index, name, str(error))
    crop = crop_for_model(photo.image, vit.transform, vit.grid, photo.bands)
    return OpenedPhoto(index, photo if whole else replace(photo, image=Image.fromarray(crop.pixels), bands=None), crop)


def _pixels_of_model_input(vit: Vit, source: Any) -> NDArray[np.uint8] | None:
    """The bytes (H, W, 3) of a tensor that the model's own transform made; None for what it did not make.

    Such a tensor, with the model's mean and deviation taken away, is whole bytes; of a photo in floats the values are.
    """
    if vit.bands != 3 or not is_array(source) or tuple(source.shape) != (3, *vit.grid.image_px):
        return None
    values = as_numpy(source)
    if values.dtype.kind != "f" or _whole_bytes(255 * values) is not None:
        return None
    mean, std = (np.reshape(numbers, (3, 1, 1)) for numbers in (vit.mean, vit.std))
    pixels = _whole_bytes(255 * (values * std + mean))
    return None if pixels is None else np.ascontiguousarray(pixels.transpose(1, 2, 0))


def _whole_bytes(values: NDArray) -> NDArray[np.uint8] | None:
    whole = np.round(values)
    near = bool((np.abs(values - whole) < WHOLE_BYTE).all())  # not where there is NaN
    return whole.astype(np.uint8) if near and whole.min() >= 0 and whole.max() <= 255 else None
