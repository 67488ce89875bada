"""The photo that a visitor uploads: checked, kept for that visitor alone, and gone when they leave."""

from __future__ import annotations

from app import texts
from app.state.memory import memory_cache, visitors
from app.state.photos import sample_photos

PHOTO_ID = "your-photo"


def receive_photo(data: bytes, name: str) -> str | None:
    """Try a photo someone brought; on success it becomes the photo, on failure the sentence that says why not."""
    from vitcore.images import PhotoError, printable_name

    name = printable_name(name)
    try:
        sample_photos.open_cached(sample_photos.digest(data), name, texts.language(), visitors.visitor_id(), data)
        visitors.keep_for_visitor("upload", (data, name))
    except PhotoError as error:
        return str(error)
    except memory_cache.MemoryBudgetError:
        return texts.prose("common")["no room photo"].format(name=name)
    return None


def current() -> tuple[bytes, str] | None:
    """The photo this visitor brought, if any; it is theirs alone, and gone when they leave."""
    return visitors.kept_for_visitor("upload")
