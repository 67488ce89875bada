"""TIFFs that Pillow reads wrongly or not at all: several bands in planes, of floats, or without colours that they are named for.

Pillow reads their tags; their numbers lie in the file as they are, in strips or tiles (TIFF 6.0, sections 3, 8 and 15).
"""

import io
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from PIL import Image, TiffImagePlugin

from vitcore.images.colour_conversion import to_8_bits
from vitcore.images.photo_formats_and_limits import MAX_PIXELS, PhotoError, without_pillow_warnings
from vitcore.translation import say

TIFF_STARTS = {b"II*\0": "<", b"MM\0*": ">", b"II+\0": "<"}  # and the order of their bytes; with +, BigTIFF
KINDS = {(1, 8): "u1", (1, 16): "u2", (2, 16): "i2", (1, 32): "u4", (2, 32): "i4", (3, 32): "f4", (3, 64): "f8"}
WIDE, HIGH, BITS, COMPRESSION, STRIPS, BANDS, ROWS, PLANES = 256, 257, 258, 259, 273, 277, 278, 284
TILE_WIDE, TILE_HIGH, TILES, KIND = 322, 323, 324, 339
PLACES = {STRIPS, TILES, 513}  # of the pixels; the last of old JPEGs in TIFFs. A header without one is cut off
SUBFILE, PHOTOMETRIC, ORIENTATION, EXTRA_BANDS, PROFILE = 254, 262, 274, 338, 34675


def read_tiff_picture(data: bytes, name: str, notes: list[str]) -> Image.Image | None:
    """A TIFF's first three bands as a picture, and what was changed in `notes`; None of a file that Pillow reads right.

    Raises: PhotoError, for compressed numbers, kinds that are not read here, and raw files; whatever Python raises, for a damaged
    file.
    """
    tags = read_tiff_tags(data)
    if tags is None:
        return None
    if int(tags.get(SUBFILE, 0)) & 1:
        raise PhotoError("{name} begins with a small copy of its picture, as raw files of cameras do (DNG, NEF, ARW): export the "
                         "picture itself as JPEG or PNG.", name=name)  # fmt: skip
    grey, extra = int(tags.get(PHOTOMETRIC, 2)) < 2, tags.get(EXTRA_BANDS, ())
    values = _values(data, tags, name, lambda bands, bits, kind, planes: bands >= 3 and (
        bands > 4 or (planes and (bits > 8 or 0 in extra)) or kind == 3 or grey))  # fmt: skip
    if values is None:
        return None
    if (bands := values.shape[-1]) > 3:
        notes.append(say("It has {bands} bands: the first three are shown as red, green and blue.", bands=bands))
    image, exif = Image.fromarray(to_8_bits(values[..., :3], name, notes)), Image.Exif()
    exif[ORIENTATION] = tags.get(ORIENTATION, 1)
    image.info["exif"] = exif.tobytes()
    if isinstance(tags.get(PROFILE), bytes):
        image.info["icc_profile"] = tags[PROFILE]
    return image


def read_tiff_bands(data: bytes, name: str, count: int) -> NDArray | None:
    """The numbers (H, W, `count`) of a TIFF of so many bands; None of any other file. Raises as `read_tiff_picture`."""
    tags = read_tiff_tags(data)
    return None if tags is None else _values(data, tags, name, lambda bands, *_: bands == count)


def read_tiff_tags(data: bytes) -> "TiffImagePlugin.ImageFileDirectory_v2 | None":
    """What a TIFF says of its first picture; None of any other file, and of a damaged one, which Pillow says in its own way."""
    if data[:4] not in TIFF_STARTS:
        return None
    try:
        tags = TiffImagePlugin.ImageFileDirectory_v2(data[: 16 if b"+" in data[:4] else 8])
        file = io.BytesIO(data)
        file.seek(tags.next)
        with without_pillow_warnings():
            tags.load(file)
        whole = tags.keys() & PLACES and int(tags[WIDE]) and int(tags[HIGH]) and int(tags.get(BITS, (1,))[0])
        return tags if whole else None
    except Exception:
        return None


def _values(
    data: bytes, tags: "TiffImagePlugin.ImageFileDirectory_v2", name: str, wanted: Callable[[int, int, int, bool], bool]
) -> NDArray | None:
    """All numbers (H, W, bands) of a TIFF whose bands, bits, kind of number and planes are `wanted`."""
    wide, high, bands = int(tags[WIDE]), int(tags[HIGH]), int(tags.get(BANDS, 1))
    bits, kind = int(tags.get(BITS, (1,))[0]), int(tags.get(KIND, (1,))[0])
    planes = int(tags.get(PLANES, 1)) == 2
    if not wanted(bands, bits, kind, planes):
        return None
    if int(tags.get(COMPRESSION, 1)) != 1 or (kind, bits) not in KINDS:
        raise PhotoError(
            "{name} is a TIFF of {bands} bands of {bits} bits in a form not read here: save it uncompressed, as 8 or 16 bits.",
            name=name, bands=bands, bits=bits,
        )  # fmt: skip
    dtype = np.dtype(TIFF_STARTS[data[:4]] + KINDS[kind, bits])
    if not 0 < wide * high <= MAX_PIXELS or wide * high * bands * dtype.itemsize > len(data):
        raise ValueError(f"{wide}×{high}×{bands}")
    return _read(data, tags, (high, wide, bands), dtype, planes)


def _read(
    data: bytes, tags: "TiffImagePlugin.ImageFileDirectory_v2", shape: tuple[int, int, int], dtype: np.dtype, planes: bool
) -> NDArray:
    """All numbers, (high, wide, bands): each strip or tile put in its place, of all bands or, in planes, of one."""
    high, wide, bands = shape
    tiled = TILES in tags
    part_high, part_wide = (int(tags[TILE_HIGH]), int(tags[TILE_WIDE])) if tiled else (min(int(tags.get(ROWS, high)), high), wide)
    offsets, values = [int(at) for at in tags[TILES if tiled else STRIPS]], np.zeros(shape, dtype)
    down, across = -(-high // part_high), -(-wide // part_wide)
    depth = 1 if planes else bands
    if len(offsets) != down * across * (bands if planes else 1):
        raise ValueError(f"{len(offsets)} strips")
    for n, at in enumerate(offsets):
        plane, place = divmod(n, down * across)
        top, left = (place // across) * part_high, (place % across) * part_wide
        rows = part_high if tiled else min(part_high, high - top)
        part = np.frombuffer(data, dtype, rows * part_wide * depth, at).reshape(rows, part_wide, depth)
        into = values[top : top + rows, left : left + part_wide, plane : plane + depth]
        into[:] = part[: into.shape[0], : into.shape[1]]
    return values
