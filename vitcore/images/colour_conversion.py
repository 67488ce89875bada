"""What few photos need before they are 8-bit sRGB: 16 bits, CMYK inks, transparency, colour profiles."""

import io

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageCms

from vitcore.images.photo_formats_and_limits import PhotoError
from vitcore.translation import say


def to_srgb(image: Image.Image, name: str, notes: list[str]) -> Image.Image:
    """A picture of any mode and profile as 8-bit sRGB; what was changed is added to `notes`.

    Raises: PhotoError, for pixels that are not numbers.
    """
    profile = image.info.get("icc_profile")
    if image.mode in ("F", "I") or image.mode.startswith("I;"):
        image = Image.fromarray(to_8_bits(np.asarray(image), name, notes))
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
    return image if image.mode == "RGB" else image.convert("RGB")


def to_8_bits(values: NDArray, name: str, notes: list[str]) -> NDArray[np.uint8]:
    """Numbers of any kind as bytes; what was changed is added to `notes`.

    Integers that are not negative are scaled by the bits that the largest needs (8, 10, 12, 14 or 16: cameras and scanners put 10
    or 12 bits into 16), floats from 0 to 1 by 255, all others by their own range.
    Raises: PhotoError, for pixels that are not numbers.
    """
    if values.dtype == np.uint8:
        return values
    is_float, values = values.dtype.kind == "f", values.astype(np.float64)
    if not np.isfinite(values).all():
        raise PhotoError("{name} has pixels that are not numbers (NaN or infinite).", name=name)
    low, high = float(values.min()), float(values.max())
    if not is_float and low >= 0 and high <= 65535:
        bits = max(8, -(-int(high).bit_length() // 2) * 2)
        low, high = 0.0, 2.0**bits - 1
        notes.append(say("16-bit values are shown with 8 bits.") if bits in (8, 16) else
                     say("Its 16-bit values use {bits} bits: {most} is shown as white.", bits=bits, most=int(high)))  # fmt: skip
    elif is_float and low >= 0 and high <= 1:
        low, high = 0.0, 1.0
    else:
        notes.append(say("Values were scaled from their own range to 8 bits."))
    return np.round(255 * (values - low) / max(high - low, 1e-12)).astype(np.uint8)


def _from_profile(image: Image.Image, profile: bytes) -> Image.Image:
    try:
        source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        return ImageCms.profileToProfile(image, source, ImageCms.createProfile("sRGB"), outputMode="RGB") or image
    except (ImageCms.PyCMSError, OSError, ValueError):
        return image
