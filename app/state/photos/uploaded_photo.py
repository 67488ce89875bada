"""The photos that a visitor uploads, the first and a second: checked, kept for that visitor alone, and gone when they leave."""

import contextlib

from app import texts
from app.state.memory import memory_cache, visitor_storage
from app.state.photos import sample_photos
from vitcore.images import Photo, PhotoError, printable_name

PHOTO_ID, SECOND_ID = "your-photo", "your-second-photo"
SAME_PHOTO = "same"  # in the menu of a second photo: the first one again
FIRST, SECOND = "upload", "second upload"  # what they are kept as
BANDS = "shown bands"
KINDS = {PHOTO_ID: FIRST, SECOND_ID: SECOND}


def receive_photo(data: bytes, name: str, kind: str = FIRST, bands: int = 3) -> str | None:
    """Try a photo someone brought for a model of so many bands; on success it becomes the photo, else the sentence says why not."""
    name, owner = printable_name(name), visitor_storage.visitor_id()
    try:
        _open_data(data, name, owner, texts.language(), bands)
        visitor_storage.keep_for_visitor(kind, (data, name))
    except PhotoError as error:
        return str(error)
    except memory_cache.MemoryBudgetError:
        return texts.prose("common")["no room photo"].format(name=name)
    return None


def current_uploaded_photo(kind: str = FIRST) -> tuple[bytes, str] | None:
    """The photo this visitor brought, if any; it is theirs alone, and gone when they leave."""
    return visitor_storage.kept_for_visitor(kind)


def _open_uploaded_photo(kind: str = FIRST, bands: int = 3) -> Photo | None:
    """The photo this visitor brought, opened for so many bands; None without one. Raises: PhotoError, where it has others."""
    return _open(kind, visitor_storage.visitor_id(), texts.language(), bands)


def open_photo_by_id(chosen: str | None, bands: int = 3) -> Photo:
    """An upload of this visitor's by its id, or a sample by its name; else the first sample. Raises: PhotoError."""
    if chosen in KINDS and (own := _open_uploaded_photo(KINDS[chosen], bands)):
        return own
    known = [row["id"] for row in sample_photos.sample_photo_rows()]
    return sample_photos.open_sample(chosen if chosen in known else known[0], texts.language(), bands)


def has_photo_for_bands(bands: int, kind: str) -> bool:
    """Whether this visitor brought such a photo that a model of so many bands can be given."""
    try:
        return _open_uploaded_photo(kind, bands) is not None
    except PhotoError:
        return False


def set_shown_bands(bands: tuple[int, ...]) -> None:
    """Let these bands be red, green and blue (or one grey) of the visitor's photos that have so many."""
    visitor_storage.keep_for_visitor(BANDS, bands)


def shown_bands(bands: int) -> tuple[int, ...]:
    """Which of `bands` bands are shown as red, green and blue (of two bands, one as grey)."""
    return _shown(visitor_storage.visitor_id(), bands)


def open_upload_by_key(key: str, bands: int) -> Photo | None:
    """The upload that has this key, of whichever visitor: for a download, which no visitor's page waits for."""
    for kind in KINDS.values():
        with contextlib.suppress(PhotoError):  # of other bands: the other one may be meant
            photo = _open(kind, key.rpartition(" ")[2], texts.DEFAULT, bands)
            if photo and photo.key == key:
                return photo
    return None


def _open(kind: str, owner: str, lang: str, bands: int) -> Photo | None:
    data, name = memory_cache.CACHE.peek((kind, owner)) or (None, "")
    if data is None:
        return None
    return _open_data(data, name, owner, lang, bands)


def _open_data(data: bytes, name: str, owner: str, lang: str, bands: int) -> Photo:
    return sample_photos.open_photo_cached(sample_photos.photo_digest(data), name, lang, owner, data, bands, _shown(owner, bands))


def _shown(owner: str, bands: int) -> tuple[int, ...]:
    if bands == 3:
        return ()  # a photo's colours
    usual = (0, 1, 2) if bands > 2 else (0,)
    chosen: tuple[int, ...] = memory_cache.CACHE.peek((BANDS, owner)) or usual
    return chosen if len(chosen) == len(usual) and max(chosen) < bands else usual
