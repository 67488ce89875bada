"""Photographs: opened safely and upright, in sRGB, and cut as the model cuts them."""

from vitcore.images.crop import Crop, crop_box, crop_for_model, resize_and_crop
from vitcore.images.crop_sentence_and_outline import crop_sentence, photo_with_crop_outlined, sharp_crop
from vitcore.images.photo import Photo, PhotoSource, open_photo, printable_name
from vitcore.images.photo_arrays import InputKind, photo_from_image
from vitcore.images.photo_folder import photos_in_folder
from vitcore.images.photo_formats_and_limits import MAX_BYTES, MAX_JPEG_PIXELS, MAX_PIXELS, SUFFIXES, PhotoError
from vitcore.lazy_names import show_names

__all__ = [
    "MAX_BYTES",
    "MAX_JPEG_PIXELS",
    "MAX_PIXELS",
    "SUFFIXES",
    "Crop",
    "InputKind",
    "Photo",
    "PhotoError",
    "PhotoSource",
    "crop_box",
    "crop_for_model",
    "crop_sentence",
    "open_photo",
    "photo_from_image",
    "photo_with_crop_outlined",
    "photos_in_folder",
    "printable_name",
    "resize_and_crop",
    "sharp_crop",
]

__dir__ = show_names(__name__)
