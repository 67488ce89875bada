"""How people are shown what a model sees of a photo: in a sentence, sharp, and outlined in the whole photo."""

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from vitcore.images.crop import Crop
from vitcore.images.photo import Photo
from vitcore.translation import percent, say

SQUEEZED = 0.02  # proportions that change by less come from whole pixels


def crop_sentence(photo: Image.Image, crop: Crop) -> str:
    """In a sentence or two: how large the photo is, which part of it the model sees, and at what size."""
    (wide, high), (tall, broad) = photo.size, crop.pixels.shape[:2]
    left, top, right, bottom = crop.box
    across, down = round(right - left), round(bottom - top)
    part = "all" if (across, down) == photo.size else "middle"
    facts = {"wide": wide, "high": high, "across": across, "down": down, "broad": broad, "tall": tall,
             "cut": percent(1 - across * down / (wide * high), 0)}  # fmt: skip
    told = {
        ("all", True): say("The photo has {wide} × {high} pixels, and the model sees it at this size.", **facts),
        ("all", False): say("The photo has {wide} × {high} pixels; the model sees all of it, scaled to {broad} × {tall}.", **facts),
        ("middle", True): say("The photo has {wide} × {high} pixels. The model sees the middle {across} × {down}. The rest, "
                              "{cut} of the photo, is cut off.", **facts),
        ("middle", False): say("The photo has {wide} × {high} pixels. The model sees the middle {across} × {down}, scaled to "
                               "{broad} × {tall}. The rest, {cut} of the photo, is cut off.", **facts),
    }[part, (across, down) == (broad, tall)]  # fmt: skip
    squeezed = abs(broad * (bottom - top) / (tall * (right - left)) - 1) > SQUEEZED
    return f"{told} {say('Its proportions are changed.')}" if squeezed else told


def sharp_crop(photo: Photo, crop: Crop, side_px: int = 768) -> NDArray[np.uint8]:
    """The part the model sees at the photo's own sharpness, for showing: longer side at most `side_px`."""
    high, wide = crop.pixels.shape[:2]
    scale = side_px / max(high, wide)
    size = round(wide * scale), round(high * scale)
    return np.asarray(photo.image.resize(size, Image.Resampling.BICUBIC, box=crop.box))


def photo_with_crop_outlined(photo: Photo, crop: Crop, side_px: int = 768) -> Image.Image:
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
