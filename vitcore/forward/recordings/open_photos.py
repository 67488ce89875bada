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

from PIL import Image

from vitcore.forward.recordings.model_inputs import open_for_model, split_batches
from vitcore.images import Crop, InputKind, Photo, PhotoError, printable_name
from vitcore.models.vit import Vit
from vitcore.translation import say

MOST_WORKERS = 8


@dataclass(frozen=True)
class SkippedPhoto:
    """A photo that could not be opened: its place among the photos, its name, and why, in one sentence."""

    index: int
    name: str
    reason: str


@dataclass(frozen=True, eq=False)
class OpenedPhoto:
    """A photo, its crop and its label. A photo that is not kept whole has the model input as its picture."""

    index: int
    photo: Photo
    crop: Crop
    label: Any


Opened = OpenedPhoto | SkippedPhoto


def count_photos(photos: Any) -> int | None:
    """How many photos there are; None for an iterator, which tells nobody."""
    one_by_one = getattr(photos, "dataset", photos)  # of a DataLoader, whose own length is in batches
    return len(one_by_one) if hasattr(one_by_one, "__len__") else None


def open_in_batches(
    vit: Vit, photos: Iterable[Any], batch: int, workers: int | None, whole: bool, inputs: InputKind | None = None
) -> Iterator[list[Opened]]:
    """Batches of photos, as they follow in `photos`; the next are opened meanwhile, by `workers` threads (0: by none)."""
    threads = min(MOST_WORKERS, batch, os.cpu_count() or 1) if workers is None else workers
    tasks = ((vit, index, *one, whole) for index, one in enumerate(split_batches(vit, photos, inputs)))
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


def _submit(pool: ThreadPoolExecutor, task: tuple[Vit, int, Any, InputKind | None, Any, bool]) -> "Future[Opened]":
    context = copy_context()  # the reader's language, which a thread's own lacks
    return pool.submit(lambda: context.run(_open, *task))


def _chunks(opened: Iterator[Opened], batch: int) -> Iterator[list[Opened]]:
    while some := list(islice(opened, batch)):
        yield some


def _open(vit: Vit, index: int, source: Any, kind: InputKind | None, label: Any, whole: bool) -> Opened:
    is_file = isinstance(source, str | Path)
    name = printable_name(Path(source).name) if is_file else say("photo {number}", number=index)
    try:
        photo, crop = open_for_model(vit, source, kind, None if is_file or hasattr(source, "read") else name)
    except PhotoError as error:
        return SkippedPhoto(index, name, str(error))
    kept = photo if whole else replace(photo, image=Image.fromarray(crop.pixels), bands=None)
    return OpenedPhoto(index, kept, crop, label)
