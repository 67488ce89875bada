"""Photographs: opened safely and upright, in sRGB, and cut as the model cuts them.

Nothing here trusts a file: size, pixel count and decoding are bounded, and whatever is wrong is one sentence in a
`PhotoError`. What was changed on the way in (first frame, 16 bits, CMYK, …) is told in `Photo.notes`.
"""

import hashlib
import io
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageCms, ImageOps, UnidentifiedImageError

from vitcore.errors import RefusalError, refusal_reason
from vitcore.grid import Grid
from vitcore.translation import percent, say

MAX_BYTES = 25 * 2**20
MAX_PIXELS = 50_000_000
MAX_JPEG_PIXELS = 170_000_000  # of a JPEG that can be read smaller than it is; Pillow refuses 179 million
MIN_SIDE_PX = 8
MAX_ASPECT = 50
FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "TIFF", "BMP", "HEIF")  # Pillow reads MPO as JPEG
SQUEEZED = 0.02  # proportions that change by less come from whole pixels
SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".gif", ".tif", ".tiff", ".bmp", ".heic", ".heif")  # of their files


class PhotoError(RefusalError):
    """A photo that can't be shown; the message is one sentence for the person who chose it."""


@dataclass(frozen=True, eq=False)
class Photo:
    """An upright sRGB picture, what was changed to get it, and a hash of the file."""

    image: Image.Image
    name: str
    digest: str
    notes: tuple[str, ...] = ()
    whose: str = ""  # whoever brought it, on a server that several people share; empty: it may be shown to anybody

    @property
    def key(self) -> str:
        """What caches know it by: the same file that two people brought, or one under two names, is two photos."""
        return f"{self.digest} {self.name} {self.whose}" if self.whose else self.digest


def open_photo(source: str | Path | bytes | BinaryIO, name: str | None = None) -> Photo:
    """Read a photo from a path, bytes or a file object.

    Raises: PhotoError, with one sentence that says what is wrong.
    """
    data, name = _read(source, name)
    if not data:
        raise PhotoError("{name} is empty.", name=name)
    if data.lstrip()[:5].lower() in (b"<?xml", b"<svg ", b"<!doc"):
        raise PhotoError("{name} is an SVG or HTML drawing, not a photograph: export it as PNG first.", name=name)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the limits are ours, and damage is told once
            image, notes = _decode(data, name)
    except PhotoError:
        raise
    except UnidentifiedImageError:
        raise PhotoError(
            "{name} is not a picture in a format read here ({formats}).", name=name, formats=", ".join(FORMATS)
        ) from None
    except Image.DecompressionBombError:
        raise PhotoError("{name} has more than {most} megapixels.", name=name, most=MAX_PIXELS // 10**6) from None
    except Exception as error:  # decoders raise whatever they like on damaged files
        reason = refusal_reason(error, 120)
        raise PhotoError("{name} is damaged and can't be decoded ({reason}).", name=name, reason=reason) from None
    return Photo(image, name, hashlib.sha256(data).hexdigest()[:16], tuple(notes))


def photo_from_image(image: Image.Image, name: str = "picture") -> Photo:
    """A picture that is open already, made upright and sRGB as a file would be."""
    notes: list[str] = []
    shown = _to_srgb(ImageOps.exif_transpose(image), name, notes)
    return Photo(shown, name, hashlib.sha256(shown.tobytes()).hexdigest()[:16], tuple(notes))


def _read(source: str | Path | bytes | BinaryIO, name: str | None) -> tuple[bytes, str]:
    if isinstance(source, bytes):
        data, its_name = source, say("The photo")
    elif isinstance(source, str | Path):
        its_name = printable_name(Path(source).name)
        try:
            with Path(source).open("rb") as file:
                data = file.read(MAX_BYTES + 1)
        except (OSError, ValueError) as error:
            raise PhotoError(
                "{name} can't be read: {reason}.", name=its_name, reason=getattr(error, "strerror", None) or error
            ) from None
    else:
        opened = getattr(source, "name", say("The photo"))  # a whole path, where a file on disk was opened
        data, its_name = source.read(MAX_BYTES + 1), printable_name(Path(str.__str__(str(opened))).name)
    name = printable_name(name) if name else its_name
    if len(data) > MAX_BYTES:
        raise PhotoError("{name} is larger than {most} MB.", name=name, most=MAX_BYTES // 2**20)
    return data, name


def printable_name(name: str) -> str:
    """A file name that is safe to show: no control characters, not endless."""
    return "".join(c if c.isprintable() else "?" for c in str(name))[:80] or say("The photo")


def _decode(data: bytes, name: str) -> tuple[Image.Image, list[str]]:
    _register_heif()
    image = Image.open(io.BytesIO(data), formats=FORMATS)
    notes: list[str] = []
    width, height = image.size
    if width * height > MAX_PIXELS and _smaller(image):
        said = say("It has {megapixels:.0f} megapixels and was read at {wide}×{high} px.", megapixels=width * height / 1e6,
                   wide=image.width, high=image.height)  # fmt: skip
        notes.append(said)
        width, height = image.size
    if width * height > MAX_PIXELS:
        raise PhotoError(
            "{name} has {megapixels:.0f} megapixels; the limit is {most}.",
            name=name,
            megapixels=width * height / 1e6,
            most=MAX_PIXELS // 10**6,
        )
    if min(width, height) < MIN_SIDE_PX:
        raise PhotoError(
            "{name} is {width}×{height} px; both sides need at least {least} px.",
            name=name,
            width=width,
            height=height,
            least=MIN_SIDE_PX,
        )
    if max(width, height) > MAX_ASPECT * min(width, height):
        raise PhotoError(
            "{name} is {width}×{height} px, more than {most} times longer than wide.",
            name=name,
            width=width,
            height=height,
            most=MAX_ASPECT,
        )
    frames = getattr(image, "n_frames", 1)
    if frames > 1 and image.format in ("GIF", "WEBP", "PNG", "TIFF"):
        notes.append(say("{frames} frames: the first one is shown.", frames=frames))
    turned = image.getexif().get(0x0112) in range(2, 9)  # asked before loading: Pillow turns TIFFs while it loads them
    image.load()
    upright = ImageOps.exif_transpose(image)
    if turned:
        notes.append(say("Turned upright as its EXIF orientation says."))
    return _to_srgb(upright, name, notes), notes


def _smaller(image: Image.Image) -> bool:
    """Whether a JPEG too large for us is now read at a half, a quarter or an eighth of its sides, and is small enough.

    Its blocks are then decoded at that size, so memory stays within bounds; all of a progressive one would be kept at first.
    """
    wide, high = image.size
    if image.format != "JPEG" or "progressive" in image.info or wide * high > MAX_JPEG_PIXELS:
        return False
    for part in (2, 4, 8):
        if wide * high <= MAX_PIXELS * part**2:
            image.draft(None, (wide // part, high // part))
            return image.width * image.height <= MAX_PIXELS
    return False


def _to_srgb(image: Image.Image, name: str, notes: list[str]) -> Image.Image:
    profile = image.info.get("icc_profile")
    if image.mode in ("F", "I") or image.mode.startswith("I;"):
        image = _to_8_bits(image, name, notes)
    if image.mode in ("LA", "PA", "La") or "transparency" in image.info:
        image = image.convert("RGBA")
    if image.mode in ("RGBA", "RGBa"):
        image = image.convert("RGBA")
        notes.append(say("Transparent parts are shown on white."))
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    if image.mode == "CMYK":
        notes.append(say("CMYK inks were converted to RGB."))
    if profile and image.mode in ("RGB", "RGBA", "CMYK"):
        image = _from_profile(image.convert("RGB") if image.mode == "RGBA" else image, profile)
    return image.convert("RGB")


def _to_8_bits(image: Image.Image, name: str, notes: list[str]) -> Image.Image:
    values = np.asarray(image).astype(np.float64)
    if not np.isfinite(values).all():
        raise PhotoError("{name} has pixels that are not numbers (NaN or infinite).", name=name)
    low, high = float(values.min()), float(values.max())
    if image.mode != "F" and low >= 0 and high <= 65535:
        low, high = 0.0, 65535.0 if high > 255 else 255.0
        notes.append(say("16-bit values are shown with 8 bits."))
    elif image.mode == "F" and low >= 0 and high <= 1:
        low, high = 0.0, 1.0
    else:
        notes.append(say("Values were scaled from their own range to 8 bits."))
    return Image.fromarray(np.uint8(np.round(255 * (values - low) / max(high - low, 1e-12))))


def _from_profile(image: Image.Image, profile: bytes) -> Image.Image:
    try:
        source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        return ImageCms.profileToProfile(image, source, ImageCms.createProfile("sRGB"), outputMode="RGB") or image
    except (ImageCms.PyCMSError, OSError, ValueError):
        return image


def _register_heif() -> None:
    if "HEIF" not in Image.OPEN:
        import pillow_heif

        pillow_heif.register_heif_opener()


@dataclass(frozen=True, eq=False)
class Crop:
    """What the model sees: `pixels` (H, W, 3) bytes, cut from `box` (left, top, right, bottom) of the original."""

    pixels: NDArray[np.uint8]
    box: tuple[float, float, float, float]


def crop_for_model(image: Image.Image, transform: Callable, grid: Grid) -> Crop:
    """Resize and crop with the geometric part of timm's own transform (everything before its tensor step)."""
    pixels = resize_and_crop(image, transform)
    return Crop(np.asarray(pixels), crop_box(image.size, transform, grid))


def resize_and_crop(image: Image.Image, transform: Callable) -> Image.Image:
    """The transform's resize and crop, as a picture."""
    for step in transform.transforms:  # type: ignore[attr-defined]
        image = step(image)
        if not isinstance(image, Image.Image):
            raise TypeError("the transform turned the picture into a tensor before it was cropped")
        if image.size == _output_size(transform):
            break
    return image


def _output_size(transform: Callable) -> tuple[int, int]:
    """Width and height after the last resize or crop of a torchvision transform."""
    sized = [s for s in transform.transforms if getattr(s, "size", None) is not None]  # type: ignore[attr-defined]
    size = sized[-1].size
    high, wide = (size, size) if isinstance(size, int) else (size[0], size[-1])
    return int(wide), int(high)


def crop_box(size: tuple[int, int], transform: Callable, grid: Grid) -> tuple[float, float, float, float]:
    """The part of a (width, height) photo that survives: left, top, right, bottom in its own pixels."""
    wide, high = size
    steps = [s for s in transform.transforms if getattr(s, "size", None) is not None]  # type: ignore[attr-defined]
    cropped = "Crop" in type(steps[-1]).__name__
    if len(steps) == 1 and not cropped:  # squashed
        return 0.0, 0.0, float(wide), float(high)
    scale_h, scale_w = _scales(steps[0], wide, high) if len(steps) > 1 else (1.0, 1.0)
    crop_h, crop_w = grid.image_px
    half_w, half_h = min(crop_w / scale_w, wide) / 2, min(crop_h / scale_h, high) / 2
    return wide / 2 - half_w, high / 2 - half_h, wide / 2 + half_w, high / 2 + half_h


def _scales(resize: Callable, wide: int, high: int) -> tuple[float, float]:
    """What height and width are multiplied by in the first resize of torchvision's or timm's transform."""
    target = resize.size  # type: ignore[attr-defined]
    if isinstance(target, int) or len(target) == 1:
        side = target if isinstance(target, int) else target[0]
        return (side / min(wide, high),) * 2
    each = target[0] / high, target[1] / wide
    if type(resize).__name__ == "ResizeKeepRatio":  # timm's, for targets that are not square
        return (max(each) if not getattr(resize, "longest", 0) else min(each),) * 2
    return each


def crop_sentence(photo: Image.Image, crop: Crop) -> str:
    """In a sentence or two: how large the photo is, which part of it the model sees, and at what size."""
    (wide, high), (tall, broad) = photo.size, crop.pixels.shape[:2]
    left, top, right, bottom = crop.box
    across, down = round(right - left), round(bottom - top)
    part = "all" if (across, down) == photo.size else "middle"
    facts = {"wide": wide, "high": high, "across": across, "down": down, "broad": broad, "tall": tall,
             "cut": percent(1 - across * down / (wide * high), 0)}  # fmt: skip
    told = {
        ("all", True): say("The photo has {wide} × {high} pixels, and the model sees it just so.", **facts),
        ("all", False): say("The photo has {wide} × {high} pixels; the model sees all of it, scaled to {broad} × {tall}.", **facts),
        ("middle", True): say("The photo has {wide} × {high} pixels; the model sees its middle {across} × {down}. "
                              "What lies outside is cut off: {cut} of it.", **facts),
        ("middle", False): say("The photo has {wide} × {high} pixels; the model sees its middle {across} × {down}, scaled to "
                               "{broad} × {tall}. What lies outside is cut off: {cut} of it.", **facts),
    }[part, (across, down) == (broad, tall)]  # fmt: skip
    squeezed = abs(broad * (bottom - top) / (tall * (right - left)) - 1) > SQUEEZED
    return f"{told} {say('Its proportions are changed.')}" if squeezed else told


def sharp_crop(photo: Photo, crop: Crop, side_px: int = 768) -> NDArray[np.uint8]:
    """The part the model sees at the photo's own sharpness, for showing: longer side at most `side_px`."""
    high, wide = crop.pixels.shape[:2]
    scale = side_px / max(high, wide)
    size = round(wide * scale), round(high * scale)
    return np.asarray(photo.image.resize(size, Image.Resampling.BICUBIC, box=crop.box))


def outline_crop(photo: Photo, crop: Crop, side_px: int = 768) -> Image.Image:
    """The whole photo with what the model does not see dimmed and the crop outlined."""
    from PIL import ImageDraw

    scale = side_px / max(photo.image.size)
    size = round(photo.image.width * scale) or 1, round(photo.image.height * scale) or 1
    whole = photo.image.resize(size, Image.Resampling.BICUBIC)
    left, top, right, bottom = (round(edge * scale) for edge in crop.box)
    dim = Image.blend(whole, Image.new("RGB", size, "#808080"), 0.6)
    dim.paste(whole.crop((left, top, right, bottom)), (left, top))
    ImageDraw.Draw(dim).rectangle((left, top, right - 1, bottom - 1), outline="#FFB000", width=3)
    return dim
