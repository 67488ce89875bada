"""Picture files for tests: good ones of every kind, and every kind of bad one, each as bytes."""

import io
import struct
import zlib
from functools import cache

import numpy as np
from PIL import Image, ImageCms

RED, GREEN, BLUE = (220, 30, 20), (20, 200, 40), (30, 40, 210)


def saved(image: Image.Image, kind: str, **options) -> bytes:
    """A picture as the bytes of a file."""
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def flat(colour=RED, size=(60, 40), mode: str = "RGB") -> Image.Image:
    return Image.new(mode, size, colour)


def corners(size=(64, 48)) -> Image.Image:
    """White with a red top left, green top right and blue bottom left quarter: its orientation can be told."""
    image, (wide, high) = Image.new("RGB", size, "white"), size
    image.paste(RED, (0, 0, wide // 2, high // 2))
    image.paste(GREEN, (wide // 2, 0, wide, high // 2))
    image.paste(BLUE, (0, high // 2, wide // 2, high))
    return image


def oriented(orientation: int, kind: str = "JPEG") -> bytes:
    """A file whose EXIF orientation turns what it stores into `corners()`."""
    undo = {
        1: None, 2: Image.Transpose.FLIP_LEFT_RIGHT, 3: Image.Transpose.ROTATE_180, 4: Image.Transpose.FLIP_TOP_BOTTOM,
        5: Image.Transpose.TRANSPOSE, 6: Image.Transpose.ROTATE_90, 7: Image.Transpose.TRANSVERSE,
        8: Image.Transpose.ROTATE_270,
    }[orientation]  # fmt: skip
    image = corners() if undo is None else corners().transpose(undo)
    exif = Image.Exif()
    exif[0x0112] = orientation
    return saved(image, kind, exif=exif.tobytes(), **({"quality": 98, "subsampling": 0} if kind == "JPEG" else {}))


def animated(kind: str = "GIF") -> bytes:
    """Three frames, the first one red."""
    return saved(flat(RED), kind, save_all=True, append_images=[flat(GREEN), flat(BLUE)], duration=50)


def stereo() -> bytes:
    """An MPO: two JPEGs in one file, as some phones and 3-D cameras write."""
    return saved(flat(RED), "MPO", save_all=True, append_images=[flat(GREEN)])


def png_of_size(wide: int, high: int) -> bytes:
    """A PNG that says it is wide × high and holds next to nothing: the start of a decompression bomb."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", wide, high, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


def nan_tiff() -> bytes:
    values = np.linspace(0, 1, 60 * 40, dtype=np.float32).reshape(40, 60)
    values[3, 4] = np.nan
    return saved(Image.fromarray(values), "TIFF")


def swapped_primaries_profile() -> bytes:
    """An ICC profile like sRGB, its red and green primaries exchanged: what it calls red is green."""
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    red, green = profile.index(b"rXYZ"), profile.index(b"gXYZ")
    data = bytearray(profile)
    data[red : red + 4], data[green : green + 4] = b"gXYZ", b"rXYZ"
    return bytes(data)


SVG = b'<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg" width="50" height="50"><rect width="9"/></svg>'


@cache
def bad() -> dict[str, bytes]:
    """File name to bytes: none of them can be shown. Made once: they are many, and one is large."""
    jpeg, png = saved(corners(), "JPEG"), saved(corners((400, 300)), "PNG")
    return {
        "empty.jpg": b"",
        "truncated.jpg": saved(corners((400, 300)), "JPEG")[:-400],
        "head-only.jpg": jpeg[:30],
        "truncated.png": png[: len(png) // 2],
        "one-byte.png": b"\x89",
        "random.png": np.random.default_rng(0).bytes(5000),
        "random-after-magic.png": png[:33] + np.random.default_rng(0).bytes(5000),
        "text.jpg": b"I am not a photograph, whatever my name says.\n" * 20,
        "page.jpg": b"<!doctype html><title>Not found</title>",
        "drawing.svg": SVG,
        "drawing-without-head.svg": b"\n <svg xmlns='http://www.w3.org/2000/svg'><circle r='4'/></svg>",
        "archive.zip": b"PK\x03\x04" + bytes(200),
        "dot.png": saved(flat(size=(1, 1)), "PNG"),
        "line.png": saved(flat(size=(10000, 1)), "PNG"),
        "upright-line.png": saved(flat(size=(1, 10000)), "PNG"),
        "strip.png": saved(flat(size=(1000, 10)), "PNG"),
        "bomb-60-megapixels.png": png_of_size(10_000, 6_000),
        "bomb-900-megapixels.png": png_of_size(30_000, 30_000),
        "bomb-huge.png": png_of_size(2**31 - 1, 2**31 - 1),
        "no-size.png": png_of_size(0, 0),
        "large.bmp": saved(flat(), "BMP") + bytes(25 * 2**20),
        "nan.tif": nan_tiff(),
        "infinite.tif": saved(Image.fromarray(np.full((40, 60), np.inf, np.float32)), "TIFF"),
        "broken.gif": saved(flat(), "GIF")[:20],
        "broken.webp": saved(flat(), "WEBP")[:25],
        "broken.tif": saved(flat(), "TIFF")[:60],
        "broken.heic": b"\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic" + bytes(100),
    }


HOSTILE_NAMES = [
    "../../etc/passwd", "a\nb.jpg", "\x1b[31mred\x1b[0m.jpg", "<script>alert(1)</script>.png", "x" * 5000 + ".jpg",
    "nul\x00l.jpg", "‮gpj.exe", "CON", " ", "", "%s%n{0}.png", "'; DROP TABLE photos;--.jpg", "💥" * 200,
]  # fmt: skip
