"""What a photo is called: its title in the gallery wherever it is shown, and the other name that ImageNet may have for it."""

import hashlib
from collections.abc import Collection, Mapping
from functools import lru_cache

from vitcore.assets import SAMPLES, sample_photo_rows
from vitcore.images import Photo
from vitcore.translation import say


def sample_photo_entry(photo: Photo) -> Mapping[str, str]:
    """The gallery's row of a photo; empty for one that is not of the gallery."""
    return next((row for row in sample_photo_rows() if gallery_photo_digest(row["id"]) == photo.digest), {})


def photo_title(photo: Photo) -> str:
    """Its title in the gallery, else its file's name."""
    row = sample_photo_entry(photo)
    return say(row["title"]) if row else photo.name


def imagenet_name_sentence(row: Mapping[str, str], labels: Collection[str]) -> str:
    """A sentence where one of these answers is the gallery's photo under another name; else nothing."""
    label = row.get("imagenet", "")
    if not label or label not in labels:
        return ""
    return say("“{label}” is ImageNet's name for what this photo shows: {title}.", label=label, title=say(row["title"]))


@lru_cache(maxsize=64)
def gallery_photo_digest(name: str) -> str:
    """Of a photo of the gallery, as `open_photo` gives it."""
    return hashlib.sha256((SAMPLES / f"{name}.jpg").read_bytes()).hexdigest()[:16]
