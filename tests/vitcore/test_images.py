"""Photographs: whatever file comes in, the right upright sRGB picture comes out, or one sentence that says why not."""

import io
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageCms
from torchvision import transforms

from tests import picture_files
from vitcore import images
from vitcore.images import (
    Photo,
    PhotoError,
    crop_box,
    crop_for_model,
    crop_sentence,
    open_photo,
    photo_formats_and_limits,
    photo_from_image,
    photo_with_crop_outlined,
    printable_name,
    resize_and_crop,
    sharp_crop,
)


def refusal(*given) -> str:
    with pytest.raises(PhotoError) as caught:
        open_photo(*given)
    return str(caught.value)


def is_one_sentence(said: str) -> bool:
    return bool(said) and said.isprintable() and len(said) < 200 and said.endswith(".")


def colour_at(image, x, y):
    return np.array(image.convert("RGB").getpixel((x, y)), int)


def close(colour, expected, within=12):
    return np.abs(np.array(colour, int) - expected).max() <= within


# Bad input


SAYS = {
    "empty.jpg": "is empty", "text.jpg": "not a picture", "random.png": "not a picture", "drawing.svg": "SVG",
    "dot.png": "1×1 px", "line.png": "10000×1 px", "strip.png": "50 times", "bomb-60-megapixels.png": "60 megapixels",
    "bomb-900-megapixels.png": "megapixels", "large.bmp": "larger than 25 MB", "nan.tif": "not numbers",
    "infinite.tif": "not numbers", "truncated.jpg": "damaged", "truncated.png": "damaged",
}  # fmt: skip


@pytest.mark.parametrize("name", picture_files.bad())
def test_what_cannot_be_shown_is_one_sentence_that_says_what_is_wrong(name, tmp_path):
    data, file = picture_files.bad()[name], tmp_path / name
    said = refusal(data, name)
    assert (
        is_one_sentence(said) and said.startswith(name) and SAYS.get(name, "") in said and SAYS.keys() <= picture_files.bad().keys()
    )
    file.write_bytes(data)
    assert refusal(file) == refusal(str(file)) == said
    with file.open("rb") as opened:
        assert refusal(opened) == said, "the file's name, not the way to it"


def test_a_large_jpeg_is_read_smaller_unless_all_of_it_would_be_kept(monkeypatch):
    for module in (photo_formats_and_limits, sys.modules[open_photo.__module__]):
        monkeypatch.setattr(module, "MAX_PIXELS", 2000)
    baseline = picture_files.saved(picture_files.corners((64, 48)), "JPEG", quality=95)
    photo = open_photo(baseline, "large.jpg")
    assert photo.image.size == (32, 24) and "read at 32×24 px" in photo.notes[0]
    assert close(colour_at(photo.image, 2, 2), colour_at(Image.open(io.BytesIO(baseline)), 4, 4), 40)
    assert "megapixels" in refusal(picture_files.saved(picture_files.corners((64, 48)), "JPEG", progressive=True), "large.jpg")
    assert "megapixels" in refusal(picture_files.saved(picture_files.corners((64, 48)), "PNG"), "large.png")
    monkeypatch.setattr(sys.modules[open_photo.__module__], "MAX_JPEG_PIXELS", 3000)
    assert "megapixels" in refusal(baseline, "large.jpg")


def test_a_bomb_is_not_decoded_and_pillows_own_limit_is_left_as_it_was(monkeypatch):
    before = Image.MAX_IMAGE_PIXELS
    open_photo(picture_files.saved(picture_files.flat(), "PNG"))
    monkeypatch.setattr(Image.Image, "load", lambda self: pytest.fail("the bomb went off"))
    for size in ((10_000, 6_000), (30_000, 30_000)):
        assert "megapixels" in refusal(picture_files.png_of_size(*size))
    assert before == Image.MAX_IMAGE_PIXELS is not None


@pytest.mark.parametrize("name", [*picture_files.HOSTILE_NAMES, "", "a\nb", "x" * 300, "\x00", "é", "‮"], ids=ascii)
def test_hostile_names_do_no_harm(name):
    assert is_one_sentence(refusal(b"not a picture at all", name))
    photo = open_photo(picture_files.saved(picture_files.flat(), "PNG"), name)
    assert close(colour_at(photo.image, 5, 5), picture_files.RED, 0)
    for shown in (photo.name, printable_name(name)):
        assert shown.isprintable() and 0 < len(shown) <= 80


@pytest.mark.parametrize("path", ["nowhere.jpg", "nul\x00l.jpg", "x" * 5000, "."], ids=["absent", "nul", "long", "folder"])
def test_paths_that_cannot_be_read(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert is_one_sentence(refusal(path))


def test_25_mb_and_no_more():
    data = picture_files.saved(picture_files.flat(), "BMP")
    assert open_photo(data + bytes(images.MAX_BYTES - len(data))).image.size == (60, 40)
    assert "25 MB" in refusal(data + bytes(images.MAX_BYTES - len(data) + 1))
    assert "25 MB" in refusal(io.BytesIO(bytes(images.MAX_BYTES + 1)))
    assert not Path("/dev/zero").exists() or "25 MB" in refusal("/dev/zero"), "an endless file is not read to its end"


# Orientation


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF"])
def test_every_orientation_is_upright_of_pictures_that_are_open_already_too(kind):
    for orientation in range(1, 9):
        data = picture_files.oriented(orientation, kind)
        photo = open_photo(data)
        for image in (photo.image, photo_from_image(Image.open(io.BytesIO(data))).image):
            assert image.size == (64, 48) and image.mode == "RGB", orientation
            for x, y, colour in [
                (8, 8, picture_files.RED),
                (56, 8, picture_files.GREEN),
                (8, 40, picture_files.BLUE),
                (56, 40, (255, 255, 255)),
            ]:
                assert close(colour_at(image, x, y), colour, 16), orientation
        assert any("upright" in note for note in photo.notes) == (orientation != 1)


def test_damaged_exif_does_not_spoil_a_good_picture():
    data = picture_files.saved(picture_files.corners(), "JPEG", exif=b"Exif\x00\x00MM\x00*\x00\x00\x00\x08" + bytes(range(200)))
    photo = open_photo(data)
    assert photo.image.size == (64, 48) and close(colour_at(photo.image, 8, 8), picture_files.RED)


# Colour


WHITE, LEFT, RIGHT = (255, 255, 255), (10, 10), (50, 10)


def halves(mode: str, left, right, palette: tuple[int, ...] = ()) -> Image.Image:
    """A picture of two colours, side by side."""
    image = Image.new(mode, (60, 40), right)
    image.paste(left, (0, 0, 30, 40))
    if palette:
        image.putpalette(palette)
    return image


RED_ONE = (200, 10, 20)
MODES = {  # a picture, how it is saved, its colours at the left and at the right, within what, and what is said
    "alpha": (halves("RGBA", (0, 0, 200, 128), (200, 0, 0, 0)), {}, ((127, 127, 227), WHITE), 2, "white"),
    "a transparent palette": (halves("P", 1, 0, (0, 255, 0, *RED_ONE)), {"transparency": 0}, (RED_ONE, WHITE), 1, ""),
    "a transparent colour": (halves("RGB", RED_ONE, (1, 2, 3)), {"transparency": (1, 2, 3)}, (RED_ONE, WHITE), 1, ""),
    "grey and alpha": (halves("LA", (60, 255), (0, 0)), {}, ((60,) * 3, WHITE), 1, ""),
    "grey": (halves("L", 77, 77), {}, ((77,) * 3,) * 2, 0, ""), "bilevel": (halves("1", 1, 1), {}, (WHITE,) * 2, 0, ""),
    "a palette": (halves("P", 5, 5, (*range(15), 9, 99, 199)), {}, ((9, 99, 199),) * 2, 0, ""),
    "CMYK": (halves("CMYK", (0, 255, 255, 0), (0, 255, 255, 0)), {"quality": 95}, ((255, 0, 0),) * 2, 54, "CMYK"),
}  # fmt: skip


@pytest.mark.parametrize("kind", MODES)
def test_every_mode_is_srgb_on_white(kind):
    image, options, colours, within, note = MODES[kind]
    photo = open_photo(picture_files.saved(image, "JPEG" if kind == "CMYK" else "PNG", **options))
    assert photo.image.mode == "RGB" and note in " ".join(photo.notes)
    for (x, y), colour in zip((LEFT, RIGHT), colours, strict=True):
        assert close(colour_at(photo.image, x, y), colour, 0 if colour == WHITE else within)


RAMP = np.linspace(0, 65535, 60, dtype=np.uint16)[None].repeat(40, 0)
UNIT = np.linspace(0, 1, 2400, dtype=np.float32).reshape(40, 60)
DEEP = {
    "16-bit PNG": (Image.fromarray(RAMP), "PNG", RAMP / 257, "16-bit"),
    "little-endian TIFF": (Image.frombytes("I;16", (60, 40), RAMP.astype("<u2").tobytes()), "TIFF", RAMP / 257, ""),
    "big-endian TIFF": (Image.frombytes("I;16B", (60, 40), RAMP.astype(">u2").tobytes()), "TIFF", RAMP / 257, ""),
    "0 to 1": (Image.fromarray(UNIT), "TIFF", 255 * UNIT, ""),
    "a range of its own": (Image.fromarray(1e6 * UNIT - 5e5), "TIFF", 255 * UNIT, "own range"),
}


@pytest.mark.parametrize("kind", DEEP)
def test_more_than_8_bits(kind):
    image, container, expected, note = DEEP[kind]
    photo = open_photo(picture_files.saved(image, container))
    assert np.abs(np.asarray(photo.image)[..., 1] - expected).max() <= 1
    assert note in " ".join(photo.notes)


@pytest.mark.parametrize(
    "picture", [picture_files.flat((250, 5, 5)), picture_files.flat((250, 5, 5, 255), mode="RGBA")], ids=["RGB", "RGBA"]
)
def test_a_profile_with_exchanged_primaries_is_undone_under_transparency_too(picture):
    data = picture_files.saved(picture, "PNG", icc_profile=picture_files.swapped_primaries_profile())
    red, green, _ = colour_at(open_photo(data).image, 30, 20)
    assert green > 200 and red < 80, "the embedded profile was ignored"


def test_an_srgb_profile_changes_nothing_and_a_damaged_one_is_ignored():
    srgb = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    for profile, within in ((srgb, 1), (b"no profile at all" * 9, 0)):
        photo = open_photo(picture_files.saved(picture_files.corners(), "PNG", icc_profile=profile))
        assert np.abs(np.asarray(photo.image).astype(int) - np.asarray(picture_files.corners())).max() <= within


# Formats


LOSSY = {"JPEG": {"quality": 98, "subsampling": 0}, "WEBP": {"quality": 98}, "HEIF": {"quality": 98}}


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "GIF", "TIFF", "BMP", "HEIF"])
def test_every_format_reads_right(kind):
    if kind == "HEIF":
        pytest.importorskip("pillow_heif").register_heif_opener()
    photo = open_photo(picture_files.saved(picture_files.corners((128, 96)), kind, **LOSSY.get(kind, {})))
    assert photo.image.size == (128, 96) and photo.image.mode == "RGB" and photo.notes == ()
    for x, y, colour in [
        (16, 16, picture_files.RED),
        (112, 16, picture_files.GREEN),
        (16, 80, picture_files.BLUE),
        (112, 80, (255,) * 3),
    ]:
        assert close(colour_at(photo.image, x, y), colour, 16)


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "PNG", "TIFF", "two eyes"])
def test_the_first_frame_of_several(kind):
    photo = open_photo(picture_files.stereo() if kind == "two eyes" else picture_files.animated(kind))
    assert close(colour_at(photo.image, 30, 20), picture_files.RED)
    if kind == "two eyes":
        assert photo.image.size == (60, 40)
    else:
        assert "3 frames: the first one is shown." in photo.notes


def test_formats_not_listed_are_refused_and_a_digest_names_the_file():
    """A parser nobody asked for is a door nobody watches."""
    for kind in ("ICO", "PPM", "TGA", "PCX"):
        assert "not a picture" in refusal(picture_files.saved(picture_files.flat(), kind))
    one, two = picture_files.saved(picture_files.flat(), "PNG"), picture_files.saved(picture_files.flat(picture_files.BLUE), "PNG")
    assert open_photo(one).digest == open_photo(io.BytesIO(one)).digest != open_photo(two).digest


# What the model sees


def transform_for(high, wide, crop_pct, crop_mode):
    from timm.data import create_transform

    return create_transform((3, high, wide), crop_pct=crop_pct, crop_mode=crop_mode, interpolation="bilinear")


def coordinates(size):
    """A picture whose red tells x and whose green tells y, each 0–255 over the picture."""
    wide, high = size
    pixels = np.zeros((high, wide, 3), np.uint8)
    pixels[..., 0] = np.round((np.arange(wide) + 0.5) / wide * 255)
    pixels[..., 1] = np.round((np.arange(high) + 0.5) / high * 255)[:, None]
    return Image.fromarray(pixels)


GEOMETRIES = [
    (h, w, pct, mode) for h, w in [(64, 64), (64, 96), (96, 64)] for pct in (1.0, 0.875, 0.5) for mode in ("center", "squash")
]


@pytest.mark.parametrize("size", [(400, 300), (300, 400), (900, 90), (90, 900), (256, 256), (40, 30)], ids=str)
def test_the_crop_box_is_where_the_pixels_come_from(size):
    for geometry in GEOMETRIES:
        high, wide = geometry[:2]
        transform = transform_for(*geometry)
        pixels = np.asarray(resize_and_crop(coordinates(size), transform)).astype(float)
        assert pixels.shape == (high, wide, 3)
        left, top, right, bottom = crop_box(size, transform)
        x = left + (np.arange(wide) + 0.5) / wide * (right - left)
        y = top + (np.arange(high) + 0.5) / high * (bottom - top)
        inner = slice(3, -3)  # resampling has less to look at near an edge
        found_x, found_y = pixels[high // 2, inner, 0] / 255 * size[0], pixels[inner, wide // 2, 1] / 255 * size[1]
        half_a_step = [0.5 * (right - left) / wide + size[0] / 255, 0.5 * (bottom - top) / high + size[1] / 255]
        assert np.abs(found_x - x[inner]).max() <= half_a_step[0] + 1e-6, geometry
        assert np.abs(found_y - y[inner]).max() <= half_a_step[1] + 1e-6, geometry


@pytest.mark.parametrize(("size", "share", "mode", "parts"), [
    ((400, 300), 1.0, "center", ["the middle 300 × 300,", "25 % of the photo, is cut off"]),
    ((400, 300), 0.5, "center", ["the middle 150 × 150,", "81 % of the photo, is cut off"]),
    ((90, 64), 1.0, "center", ["the middle 64 × 64.", "29 % of the photo, is cut off"]),
    ((300, 300), 1.0, "center", ["sees all of it,"]),
    ((64, 64), 1.0, "center", ["at this size."]), ((400, 300), 1.0, "squash", ["sees all of it,", "proportions are changed"]),
])  # fmt: skip
def test_which_part_of_the_photo_is_seen_in_words(size, share, mode, parts):
    photo = Image.new("RGB", size)
    said = crop_sentence(photo, crop_for_model(photo, transform_for(64, 64, share, mode)))
    assert said.startswith(f"The photo has {size[0]} × {size[1]} pixels") and all(part in said for part in parts)
    assert ("scaled to 64 × 64" in said) == (min(size) != 64) and ("cut off" in said) == (len(parts) == 2 and mode == "center")
    assert ("proportions are changed" in said) == (mode == "squash")


def test_a_crop_box_by_hand():
    # 400×300: the short side becomes 64/0.5 = 128 px, of which the middle 64 survive: half of 300 px, both ways
    assert crop_box((400, 300), transform_for(64, 64, 0.5, "center")) == (125, 75, 275, 225)
    assert crop_box((400, 300), transform_for(64, 64, 1.0, "squash")) == (0, 0, 400, 300)


@pytest.mark.parametrize("crop_pct", [1.0, 0.875])
def test_what_is_seen_is_what_timms_transform_gives(crop_pct, photo):
    transform = transform_for(64, 96, crop_pct, "center")
    seen = crop_for_model(photo.image, transform)
    assert seen.pixels.dtype == np.uint8 and seen.pixels.shape == (64, 96, 3)
    mean, std = (np.array(v) for v in ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)))
    normal = (seen.pixels / 255 - mean) / std
    assert np.abs(normal.transpose(2, 0, 1) - transform(photo.image).numpy()).max() < 1e-5
    with pytest.raises(TypeError, match="tensor before"):
        resize_and_crop(photo.image, transforms.Compose([transforms.ToTensor(), transforms.CenterCrop(64)]))


def test_the_sharp_picture_shows_the_same_part():
    photo = Photo(coordinates((512, 400)), "coordinates", "0")
    seen = crop_for_model(photo.image, transform_for(64, 96, 0.875, "center"))
    large = sharp_crop(photo, seen, 480)
    assert large.shape == (320, 480, 3)
    small = large.reshape(64, 5, 96, 5, 3).mean((1, 3))
    assert np.abs(small - seen.pixels).max() <= 3  # of 255: less than a pixel of the model's
    assert np.abs(small[:, ::-1] - seen.pixels).max() > 100


def test_the_outline_is_the_crop():
    photo = Photo(picture_files.flat((200, 200, 200), (300, 150)), "flat", "0")
    seen = crop_for_model(photo.image, transform_for(64, 64, 1.0, "center"))
    assert seen.box == (75, 0, 225, 150)
    drawn = photo_with_crop_outlined(photo, seen, 300)
    assert drawn.size == (300, 150)
    assert tuple(colour_at(drawn, 150, 75)) == (200, 200, 200), "what is seen is shown as it is"
    assert close(colour_at(drawn, 20, 75), 157, 4), "the rest is dimmed"
    assert tuple(colour_at(drawn, 75, 75)) == tuple(colour_at(drawn, 224, 75)) == (255, 176, 0)
