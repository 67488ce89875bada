"""The photos that a visitor uploads, the first and a second: checked, kept for that visitor alone, and gone when they leave."""

from app import texts
from app.state.memory import memory_cache, visitors
from app.state.photos import sample_photos
from vitcore.images import Photo, PhotoError, printable_name

PHOTO_ID, SECOND_ID = "your-photo", "your-second-photo"
FIRST, SECOND = "upload", "second upload"  # what they are kept as
KINDS = {PHOTO_ID: FIRST, SECOND_ID: SECOND}


def receive_photo(data: bytes, name: str, kind: str = FIRST) -> str | None:
    """Try a photo someone brought; on success it becomes the photo, on failure the sentence that says why not."""
    name = printable_name(name)
    try:
        sample_photos.open_cached(sample_photos.digest(data), name, texts.language(), visitors.visitor_id(), data)
        visitors.keep_for_visitor(kind, (data, name))
    except PhotoError as error:
        return str(error)
    except memory_cache.MemoryBudgetError:
        return texts.prose("common")["no room photo"].format(name=name)
    return None


def current(kind: str = FIRST) -> tuple[bytes, str] | None:
    """The photo this visitor brought, if any; it is theirs alone, and gone when they leave."""
    return visitors.kept_for_visitor(kind)


def open_current(kind: str = FIRST) -> Photo | None:
    """The same, opened."""
    own = current(kind)
    return own and sample_photos.open_cached(sample_photos.digest(own[0]), own[1], texts.language(), visitors.visitor_id(), own[0])


def open_by_key(key: str) -> Photo | None:
    """The upload that has this key, of whichever visitor: for a download, which no visitor's page waits for."""
    owner = key.rpartition(" ")[2]
    for kind in KINDS.values():
        kept = memory_cache.CACHE.peek((kind, owner))
        if kept and f"{(digest := sample_photos.digest(kept[0]))} {kept[1]} {owner}" == key:
            return sample_photos.open_cached(digest, kept[1], texts.DEFAULT, owner, kept[0])
    return None
