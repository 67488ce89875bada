"""Photos: a named sequence of files, encoded bytes or arrays with their labels, opened one at a time."""

import hashlib
import io
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from vitcore.errors import RefusalError
from vitcore.images import MAX_PIXELS, PhotoError, open_photo, photo_from_image, printable_name
from vitcore.translation import say

Size = tuple[int, int]  # width, height
QUICK_FORMATS = ("JPEG", "PNG")  # decoded here; whatever else, and whatever is wrong, is left to vitcore.images


class DataError(RefusalError):
    """Photographs that can't be had or can't be trained on, with a sentence that says why."""


@dataclass(frozen=True, eq=False)
class Photos:
    """N photographs. `items` are files, encoded bytes (held or mapped) or uint8 arrays (H, W[, 3]); label -1: unlabelled."""

    name: str
    items: Sequence[Any] | NDArray[np.uint8]
    labels: NDArray[np.int64]  # (N,)
    classes: tuple[str, ...] = ()  # empty: unlabelled
    root: Path | None = None  # the folder the files lie in

    def __len__(self) -> int:
        return len(self.items)

    def open(self, i: int) -> Image.Image:
        """Photo i, upright and RGB.

        Raises: PhotoError, naming it, if it is broken; DataError, if the folder it lies in is gone.
        """
        return self.open_reduced(i, 0)[0]

    def open_reduced(self, i: int, min_px: int) -> tuple[Image.Image, Size]:
        """As `open`, but a JPEG may be decoded at 1/2, 1/4 or 1/8 if both sides keep `min_px`; and the full size."""
        item = self.items[i]
        if isinstance(item, np.ndarray):
            image = Image.fromarray(item).convert("RGB")
            return image, image.size
        return _decode(item if isinstance(item, bytes) else self._read(item), self.title(i), min_px)

    def title(self, i: int) -> str:
        """What photo i is called in a list of problems."""
        item = self.items[i]
        if not isinstance(item, Path):
            return say("photo {number} of {name}", number=i, name=self.name)
        return printable_name(str(item.relative_to(self.root) if self.root else item))

    def subset(self, indices: Sequence[int] | NDArray[np.integer], name: str | None = None) -> "Photos":
        """The photos at `indices`, in that order, with the same classes."""
        which = np.asarray(indices, np.int64)
        if hasattr(self.items, "select"):  # `encoded_photos.EncodedPhotos`, `synthetic_dataset.SyntheticPictures`
            items = self.items.select(which)
        else:
            items = self.items[which] if isinstance(self.items, np.ndarray) else [self.items[i] for i in which]
        return replace(self, name=name or self.name, items=items, labels=self.labels[which])

    def _read(self, file: Path) -> bytes:
        try:
            return file.read_bytes()
        except OSError as error:
            if self.root and _gone(self.root):
                raise DataError("The photos of {name} are gone: {root} no longer exists.", name=self.name, root=self.root) from None
            raise PhotoError(
                "{name} can't be read: {reason}.", name=printable_name(file.name), reason=error.strerror or error
            ) from None


def _gone(folder: Path) -> bool:
    """A folder that is not there any more, or holds nothing, as a mount point does without its disk."""
    with suppress(OSError):
        return next(folder.iterdir(), None) is None
    return True


def _decode(data: bytes, name: str, least_px: int) -> tuple[Image.Image, Size]:
    """An upright RGB picture of at least `least_px`, and its full size. Raises: PhotoError."""
    with suppress(Exception):  # decoders raise whatever they like; the careful way below finds the words for it
        image: Image.Image = Image.open(io.BytesIO(data), formats=QUICK_FORMATS)
        if image.width * image.height <= MAX_PIXELS:
            wide, high = image.size
            turned = image.getexif().get(0x0112, 1) >= 5  # a quarter turn
            if least_px:
                image.draft("RGB", (least_px, least_px))
            image.load()
            plain = image.mode in ("RGB", "L") and not {"icc_profile", "transparency"} & set(image.info)
            upright = ImageOps.exif_transpose(image).convert("RGB") if plain else photo_from_image(image, name).image
            return upright, (high, wide) if turned else (wide, high)
    careful = open_photo(data, name).image
    return careful, careful.size


def data_folder() -> Path:
    """Where downloaded data sets are kept."""
    return Path(os.environ.get("VITCORE_DATA") or Path.home() / ".cache" / "vitcore" / "data")


def check_has_classes(photos: Photos) -> None:
    """Raises: DataError, unless every photo has a label and there are two classes or more."""
    labelled = photos.labels >= 0
    if len(photos) and not labelled.all():
        few = say("no labels")
        if labelled.any():
            few = say("{few} of {count} {count:photo|photos} without a label", few=np.sum(~labelled), count=len(photos))
        raise DataError("{name} has {few}; masked patch prediction needs none.", name=photos.name, few=few)
    present = np.unique(photos.labels)
    if len(present) < 2:
        only = photos.classes[present[0]] if len(present) else say("none")
        raise DataError("{name} holds only one class ({only}), so there is nothing to tell apart.", name=photos.name, only=only)


def choose_validation(keys: Iterable[bytes], labels: NDArray[np.int64], share: float, seed: int) -> NDArray[np.bool_]:
    """Which photos are for validation, (N,): the share of each class whose keys have the smallest hashes.

    The choice hangs on keys (paths or contents), not on their order. A class of two or more gives at least one and
    keeps at least one.
    """
    salt = str(seed).encode()
    marks = [hashlib.blake2b(key, digest_size=8, key=salt).digest() for key in keys]
    chosen = np.zeros(len(marks), bool)
    for label in np.unique(labels):
        members = sorted(np.flatnonzero(labels == label), key=lambda i: (marks[i], i))
        most = len(members) - 1
        chosen[members[: min(max(round(share * len(members)), 1), most) if share else 0]] = True
    return chosen


def limit_photos(photos: Photos, max_photos: int, seed: int) -> Photos:
    """At most `max_photos` of the photos, as many of each class as there are; 0: all. Fewer of the same seed are a part of more."""
    if not 0 < max_photos < len(photos):
        return photos
    order = np.random.default_rng(seed).permutation(len(photos))
    turn = np.zeros(len(photos), np.int64)  # the first of each class, then the second, …
    for label in np.unique(photos.labels):
        members = order[photos.labels[order] == label]
        turn[members] = np.arange(len(members))
    return photos.subset(np.sort(order[np.argsort(turn[order], kind="stable")][:max_photos]))


def split_photos(photos: Photos, keys: Iterable[bytes], share: float, seed: int) -> tuple[Photos, Photos]:
    """The photos as (train, validation) by `choose_validation`."""
    out = choose_validation(keys, photos.labels, share, seed)
    return photos.subset(np.flatnonzero(~out)), photos.subset(np.flatnonzero(out))


def join_photos(first: Photos, second: Photos) -> Photos:
    """The photos of two sets with the same classes as one set, the first's before the second's; none is read."""
    import torch

    root = Path(os.path.commonpath([first.root, second.root])) if first.root and second.root else None
    parts: list[Any] = [first.items, second.items]
    items: Any = torch.utils.data.ConcatDataset(parts)
    labels = np.concatenate([first.labels, second.labels])
    return replace(first, items=items, labels=labels, root=root)


def unreadable_photos_sentence(photos: Photos, problems: Sequence[str]) -> str:
    """The sentence for a set whose every photo is broken."""
    first = problems[0] if problems else "–"
    return say(
        "None of the {count} {count:photo|photos} of {name} can be read: {first}", count=len(photos), name=photos.name, first=first
    )
