"""Photos with outlines that people drew: read from a folder, and cut as the model cuts the photo."""

import csv
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import timm  # noqa: F401
from numpy.typing import NDArray
from PIL import Image
from timm.data import create_transform

from vitcore.forward.recording import Recording, record
from vitcore.images import PhotoError, open_photo, photos_in_folder
from vitcore.models.vit import Vit

MASK_PX = 224
FOLDERS = (("images", "masks"), ("img", "mask"))


class PhotoWithMask(NamedTuple):
    """A photo and its mask, whose values are 0 beside the object, or of a `trimap` 1 object, 2 background, 3 neither."""

    photo: Path
    mask: Path
    trimap: bool = False


def photos_in_manifest(folder: Path) -> list[PhotoWithMask]:
    """The photos of a manifest.csv with the columns image and mask."""
    with (folder / "manifest.csv").open(encoding="utf-8", newline="") as file:
        return [PhotoWithMask(folder / row["image"], folder / row["mask"]) for row in csv.DictReader(file)]


def photos_with_masks(folder: Path) -> list[PhotoWithMask]:
    """The photos of a folder with manifest.csv, or with the folders images and masks (img and mask) of files named alike.

    Raises: PhotoError, where it has neither, and for photos without a mask.
    """
    if (folder / "manifest.csv").is_file():
        return photos_in_manifest(folder)
    for images, masks in FOLDERS:
        if (folder / images).is_dir() and (folder / masks).is_dir():
            by_stem = {file.stem: file for file in (folder / masks).iterdir() if file.is_file()}
            photos = photos_in_folder(folder / images)
            if missing := [photo.name for photo in photos if photo.stem not in by_stem]:
                raise PhotoError("{name} has no mask in {folder}.", name=missing[0], folder=masks)
            return [PhotoWithMask(photo, by_stem[photo.stem]) for photo in photos]
    raise PhotoError(
        "{folder} has neither manifest.csv (columns image and mask) nor the folders images and masks.", folder=folder.name
    )


def with_whole_photo_transform(vit: Vit) -> Vit:
    """The model with a transform that resizes the whole photo to its square, bicubic, and crops nothing."""
    size = (3, *vit.grid.image_px)
    whole = create_transform(size, is_training=False, interpolation="bicubic", crop_mode="squash", crop_pct=1.0)
    return replace(vit, transform=whole)


def record_with_masks(
    vit: Vit, masked_photos: Iterable[PhotoWithMask]
) -> Iterator[tuple[Recording, NDArray[np.bool_], NDArray[np.bool_]]]:
    """Recordings, with the mask cut as the transform cuts the photo, and which of its pixels count; others are left out.

    Raises: ValueError, after the last, where no photo has a mask that covers a part of it.
    """
    is_any_covered = False
    for one in masked_photos:
        photo = open_photo(one.photo)
        rec = record(vit, photo)
        with Image.open(one.mask) as drawn:
            whole = drawn.convert("L").resize(photo.image.size, Image.Resampling.NEAREST)
        cut = np.asarray(whole.resize((MASK_PX, MASK_PX), Image.Resampling.NEAREST, box=rec.model_input.box))
        mask, counted = (cut == 1, cut != 3) if one.trimap else (cut > 0, cut >= 0)
        if 0 < mask[counted].mean() < 1:
            is_any_covered = True
            yield rec, mask, counted
    if not is_any_covered:
        raise ValueError("no mask covers a part of its photo")
