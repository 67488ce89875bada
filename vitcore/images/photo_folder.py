"""A folder's photos: every file that has a photo's suffix, at any depth, but for pictures that Inside ViT itself drew."""

from collections.abc import Iterator
from pathlib import Path

from vitcore.images.photo_formats_and_limits import SUFFIXES, PhotoError

OWN_SOFTWARE = b"Inside ViT"  # what figures and animations name as their software, and GIFs as their comment
DRAWN_SUFFIXES = (".png", ".gif", ".webp")  # of pictures that are drawn here
MARK_BYTES = 4096  # of a file's beginning, and of its end, where that is written


def photos_in_folder(folder: str | Path) -> list[Path]:
    """The folder's photos, sorted by path. Pictures drawn by Inside ViT are left out, so a second look finds the same photos.

    Raises: PhotoError, for what is no folder, and for one without photos.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise PhotoError("{name} is not a folder.", name=folder)
    photos = sorted(_photos(folder))
    if not photos:
        raise PhotoError("{name} holds no photos.", name=folder)
    return photos


def _photos(folder: Path) -> Iterator[Path]:
    for file in folder.rglob("*"):
        if file.suffix.lower() in SUFFIXES and not file.is_dir() and not _drawn_here(file):
            yield file


def _drawn_here(file: Path) -> bool:
    """Whether a picture says that this package drew it; of a file that can't be read, whoever opens it says why."""
    if file.suffix.lower() not in DRAWN_SUFFIXES:
        return False
    try:
        with file.open("rb") as data:
            begin = data.read(MARK_BYTES)
            data.seek(max(0, file.stat().st_size - MARK_BYTES))
            return OWN_SOFTWARE in begin or OWN_SOFTWARE in data.read(MARK_BYTES)
    except OSError:
        return False
