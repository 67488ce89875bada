"""What few photos need before they are 8-bit sRGB: 16 bits, CMYK inks, transparency, colour profiles."""

import io
import re
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageCms

from vitcore.images.photo_formats_and_limits import PhotoError
from vitcore.translation import say

PRIMARIES = {9: "BT.2020", 11: "DCI-P3", 12: "Display P3"}  # ITU-T H.273 table 2; others are near those of sRGB
TRANSFERS = {8: "linear", 16: "PQ, HDR", 18: "HLG, HDR"}  # table 3
USUAL_GAMMA, SRGB_CHROMATICITY, NEAR = 1 / 2.2, (0.3127, 0.329, 0.64, 0.33, 0.3, 0.6, 0.15, 0.06), 0.03
WHITE_IS_ZERO = "white is zero"  # under which `info` keeps what a TIFF says


def unread_colours(data: bytes, info: Mapping[Any, Any]) -> str:
    """What a file without a profile says of its colours, where that is far from sRGB; else "".

    HEIF and AVIF have a box `colr`, PNG a chunk `cICP` with the same numbers, or `gAMA` and `cHRM`.
    """
    at = data.find(b"colrnclx", 0, 2**16) if data[4:8] == b"ftyp" else -1
    chunk = data.find(b"cICP", 0, 2**12) if data[:4] == b"\x89PNG" else -1
    primaries, transfer = (
        struct.unpack_from(">HH", data, at + 8) if at > 0 else tuple(data[chunk + 4 : chunk + 6]) if chunk > 0 else (1, 1)
    )
    told = [names[said] for names, said in ((PRIMARIES, primaries), (TRANSFERS, transfer)) if said in names]
    if chunk < 0 and "srgb" not in info:
        gamma, (_, _, red_x, _, green_x, *_) = info.get("gamma", USUAL_GAMMA), info.get("chromaticity", SRGB_CHROMATICITY)
        told += [f"gamma {gamma:.2f}"] if abs(gamma - USUAL_GAMMA) > NEAR else []
        told += ["cHRM"] if max(abs(red_x - SRGB_CHROMATICITY[2]), abs(green_x - SRGB_CHROMATICITY[4])) > NEAR else []
    return ", ".join(told)


def read_lower_bytes(image: Image.Image, tiles: list[Any], data: bytes, name: str, notes: list[str]) -> None:
    """Scale colours of 16 bits by those that are used, where the upper eight, which Pillow keeps, are nearly black.

    tiles: those of Pillow's file before it was loaded, which say how its numbers are stored.
    """
    if getattr(image, "tag_v2", {}).get(262) == 0:
        image.info[WHITE_IS_ZERO] = True
    args = [one.args if isinstance(one.args, tuple) else (one.args,) for one in tiles]
    kind = re.fullmatch(r"(RGB[AX]?;16)([BLN])", str(args[0][0])) if args and args[0] else None
    if not kind:
        return
    upper = np.asarray(image.convert("RGB"))
    if upper.max() >= 64:  # a 16th bit, or a 15th
        notes.append(say("16-bit values are shown with 8 bits."))
        return
    with Image.open(io.BytesIO(data)) as again:  # the same with the other order of bytes
        other = kind[1] + {"B": "L", "L": "B", "N": "B"}[kind[2]]
        again.tile = [
            one._replace(args=(other, *said[1:]) if isinstance(one.args, tuple) else other)
            for one, said in zip(tiles, args, strict=True)
        ]
        values = upper.astype(np.uint16) << 8 | np.asarray(again.convert("RGB"))
    scaled = Image.fromarray(to_8_bits(values, name, notes))
    if image.mode == "RGBA":
        scaled.putalpha(image.getchannel("A"))
    image.paste(scaled)


def to_srgb(image: Image.Image, name: str, notes: list[str]) -> Image.Image:
    """A picture of any mode and profile as 8-bit sRGB; what was changed is added to `notes`.

    Raises: PhotoError, for pixels that are not numbers.
    """
    profile, of_grey = image.info.get("icc_profile"), image.mode in ("L", "LA", "La", "F") or image.mode[0] == "I"
    if image.mode in ("F", "I") or image.mode.startswith("I;"):
        grey = to_8_bits(np.asarray(image), name, notes)
        image = Image.fromarray(255 - grey if WHITE_IS_ZERO in image.info else grey)
    if image.mode in ("LA", "PA", "La") or "transparency" in image.info:
        image = image.convert("RGBA")
    if image.mode in ("RGBA", "RGBa"):
        image = image.convert("RGBA")
        notes.append(say("Transparent parts are shown on white."))
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    if image.mode == "CMYK":
        notes.append(say("CMYK inks were converted to RGB."))
    if profile:
        image = image.convert("L" if of_grey else "RGB") if image.mode not in ("CMYK", "LAB") else image
        image = _from_profile(image, profile)
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
        if {"GRAY": "L", "RGB": "RGB", "CMYK": "CMYK"}.get(source.profile.xcolor_space.strip()) != image.mode:
            return image  # such as grey with the profile of a screen, which changes little
        return ImageCms.profileToProfile(image, source, ImageCms.createProfile("sRGB"), outputMode="RGB") or image
    except (ImageCms.PyCMSError, OSError, ValueError):
        return image
