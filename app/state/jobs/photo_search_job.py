"""Photos nearest to the one that is shown, of the gallery or of a visitor's own: their index is made when it is asked for.

On a local server the vectors of a visitor's photos are kept on disk, so that a folder is run once; a public one keeps them in
memory, for that visitor alone, and opens no folder.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from app import permissions, texts
from app.state.memory import memory_cache, visitor_storage
from app.state.photos import sample_photos
from vitcore.images import PhotoError, crop_for_model, open_photo, photos_in_folder, printable_name, sharp_crop
from vitcore.models.model_cards import ModelError

if TYPE_CHECKING:
    from vitcore.forward.recording import Recording
    from vitcore.models.load_model import Vit
    from vitcore.tokens.photo_search import PhotoIndex

MOST = {"local": 2000, "public": 200}  # photos of a visitor's
SHOWN = 12
PICTURE_PX = 224  # side of a picture that was found
KIND = "photo index"
Progress = Callable[[int, int], object]
Own = tuple[str, Sequence[tuple[str, str, bytes]]]  # a folder's path, or dropped files: id, name, bytes


class FoundPhoto(NamedTuple):
    """A photo that was found: its name, how alike it is, and its crop (WebP), with its nearest patch framed."""

    name: str
    cosine: float
    picture: bytes


def max_searched_photos() -> int:
    return MOST["public" if permissions.is_public() else "local"]


def gallery_index_if_made(vit: Vit) -> PhotoIndex | None:
    return memory_cache.cached_value_or_none(gallery_index, vit.name)


@memory_cache.cached
def gallery_index(model: str, _vit: Vit, _on_progress: Progress) -> PhotoIndex:
    """The gallery's photos. Raises: ModelError."""
    from vitcore.tokens.photo_search import index_photos

    return index_photos(_vit, sample_photos.sample_files(), on_progress=_on_progress)


def own_index_if_made(vit: Vit, own_photos: Own) -> PhotoIndex | None:
    key, index = visitor_storage.kept_for_visitor(KIND) or (None, None)
    return index if key == _own_key(vit, own_photos) else None


def make_own_index(vit: Vit, own_photos: Own, on_progress: Progress) -> str:
    """Make the index of a folder or of dropped files; "", or why there is none, in a sentence."""
    from vitcore.tokens.photo_search import default_index_folder, index_photos

    path, files = own_photos
    try:
        if path:
            permissions.require_allowed("paths")
            photos: list[tuple[str, Path | bytes]] = [
                (file.name, file) for file in photos_in_folder(Path(path.strip()).expanduser())
            ]
        else:
            photos = [(printable_name(name), data) for _, name, data in files]
        if len(photos) > (most := max_searched_photos()):
            return texts.prose("tokens").fill("search most", count=most)
        index = index_photos(
            vit, photos, folder=None if permissions.is_public() else default_index_folder(), on_progress=on_progress
        )
        visitor_storage.keep_for_visitor(KIND, (_own_key(vit, own_photos), index))
    except (PhotoError, ModelError, permissions.NotAllowedError) as error:
        return str(error)
    except memory_cache.MemoryBudgetError:
        return texts.prose("common")["no room photos"]
    return ""


def _own_key(vit: Vit, own: Own) -> tuple[str, str, tuple[str, ...]]:
    return vit.name, own[0], tuple(one for one, _, _ in own[1])


def nearest_photos(rec: Recording, index: PhotoIndex, patch: int | None, is_gallery: bool, vit: Vit) -> list[FoundPhoto]:
    """The other photos most like this one, or with a patch most like its `patch`, the likest first."""
    return _nearest(rec, index, patch, "" if is_gallery else visitor_storage.visitor_id(), vit)


@memory_cache.cached
def _nearest(rec: Recording, index: PhotoIndex, patch: int | None, owner: str, _vit: Vit) -> list[FoundPhoto]:
    """The same; what `owner` has brought is thrown away when they leave."""
    found = []
    for one in index.nearest(_vectors(rec, _vit), patch, SHOWN + 1):  # the photo itself may be among them
        picture = _picture(index.sources[one.photo], index.names[one.photo], one.patch, rec.photo.digest, _vit)
        if picture:
            found.append(FoundPhoto(index.names[one.photo], one.cosine, picture))
    return found[:SHOWN]


@memory_cache.cached
def _vectors(rec: Recording, _vit: Vit) -> NDArray[np.float32]:
    """(1 + N, D): of the photo that is asked about."""
    from vitcore.tokens.photo_search import photo_vectors

    return photo_vectors(_vit, [rec.photo])[0]


def _picture(source: str | Path | bytes, name: str, patch: int | None, asked: str, vit: Vit) -> bytes:
    """What the model sees of a photo, small, with a patch framed; b"" where its file has gone, or it is the photo `asked` about."""
    try:
        photo = open_photo(source, name, bands=vit.bands)
    except PhotoError:
        return b""
    if photo.digest == asked:
        return b""
    picture = Image.fromarray(sharp_crop(photo, crop_for_model(photo.image, vit.transform, photo.bands), PICTURE_PX))
    if patch is not None:
        grid = vit.grid
        row, col = divmod(patch, grid.cols)
        wide, high = picture.width / grid.cols, picture.height / grid.rows
        box = (col * wide, row * high, (col + 1) * wide, (row + 1) * high)
        for colour, width in (("#000000", 5), ("#FFB000", 3)):
            ImageDraw.Draw(picture).rectangle(box, outline=colour, width=width)
    file = io.BytesIO()
    picture.save(file, "WEBP", quality=80)
    return file.getvalue()
