"""TIFFs of several bands, planes, floats and few bits in many, AVIF, and what is no file: right pixels, or one sentence."""

import struct

import numpy as np
import pytest
from picture_files import saved
from PIL import Image

from vitcore.images import PhotoError, open_photo

DOWN, ACROSS = np.mgrid[0:48, 0:40]
RGB = np.stack([6 * ACROSS, 5 * DOWN, 255 - 6 * ACROSS], -1).astype(np.uint8)
DEEP = RGB.astype(np.uint16) * 257
FIVE = np.concatenate([DEEP, DEEP[..., :2]], -1)


def tiff(values, end="<", planes=False, tile=0, compression=1, strips=1, cut=0):
    """A TIFF of these numbers, as the specification has it, and as Pillow can't write it."""
    high, wide, bands = values.shape
    kind, bits = {"u": 1, "i": 2, "f": 3}[values.dtype.kind], 8 * values.dtype.itemsize
    values = values.astype(values.dtype.newbyteorder(end))
    parts = []
    for plane in np.split(values, bands, -1) if planes else [values]:
        if tile:
            filled = np.zeros((-(-high // tile) * tile, -(-wide // tile) * tile, plane.shape[-1]), values.dtype)
            filled[:high, :wide] = plane
            parts += [filled[r : r + tile, c : c + tile] for r in range(0, high, tile) for c in range(0, wide, tile)]
        else:
            parts += np.array_split(plane, strips)
    data = [part.tobytes() for part in parts]
    places = np.cumsum([8, *map(len, data)]).tolist()
    sizes = list(map(len, data))
    tags = {256: [wide], 257: [high], 258: [bits] * bands, 259: [compression], 262: [2], 277: [bands], 284: [1 + planes]}
    tags |= {339: [kind] * bands}
    tags |= (
        {322: [tile], 323: [tile], 324: places[:-1], 325: sizes}
        if tile
        else {273: places[:-1], 278: [-(-high // strips)], 279: sizes}
    )
    rows, more = b"", b""
    for tag, numbers in sorted(tags.items()):
        packed = struct.pack(f"{end}{len(numbers)}I", *numbers)
        at = packed if len(packed) <= 4 else struct.pack(f"{end}I", places[-1] + len(more))
        more += b"" if len(packed) <= 4 else packed
        rows += struct.pack(f"{end}HHI", tag, 4, len(numbers)) + at
    begin = (b"II*\0" if end == "<" else b"MM\0*") + struct.pack(f"{end}I", places[-1] + len(more))
    whole = begin + b"".join(data) + more + struct.pack(f"{end}H", len(tags)) + rows + bytes(4)
    return whole[: len(whole) - cut]


@pytest.mark.parametrize(("data", "note"), [
    (tiff(DEEP, planes=True), "16-bit"), (tiff(DEEP, ">", planes=True, strips=4), "16-bit"),
    (tiff(DEEP, planes=True, tile=32), "16-bit"), (tiff((RGB / 255).astype(np.float32)), ""),
    (tiff((RGB / 255).astype(np.float64), ">", planes=True), ""), (tiff(FIVE), "It has 5 bands"),
    (tiff(FIVE, tile=16), "It has 5 bands"),
    (tiff(FIVE.astype(np.uint8), strips=3), "It has 5 bands"), (tiff(DEEP // 16, planes=True), "use 12 bits"),
    (tiff(RGB), ""), (tiff(RGB, planes=True), ""),
])  # fmt: skip
def test_the_first_three_bands_are_what_is_shown(data, note):
    photo = open_photo(data)
    expected = RGB if "12 bits" not in note else np.round((DEEP // 16) / 4095 * 255)
    assert np.abs(np.asarray(photo.image).astype(int) - expected).max() <= 1
    assert note in " ".join(photo.notes) and bool(note) == bool(photo.notes)


@pytest.mark.parametrize("bits", [9, 10, 12, 14, 15])
@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
def test_grey_of_few_bits_in_16_is_not_black(bits, kind):
    ramp = np.linspace(0, 2**bits - 1, 40 * 60).astype(np.uint16).reshape(40, 60)
    photo = open_photo(saved(Image.fromarray(ramp), kind))
    even = bits + bits % 2
    assert np.abs(np.asarray(photo.image)[..., 0] - ramp / (2**even - 1) * 255).max() <= 1
    assert f"use {even} bits: {2**even - 1} is shown as white" in " ".join(photo.notes) or even == 16


@pytest.mark.parametrize(
    "data", [tiff(DEEP, planes=True, compression=5), tiff(FIVE, compression=8), tiff((RGB / 255).astype(np.float32), compression=5)]
)
def test_compressed_bands_are_refused(data):
    with pytest.raises(PhotoError, match=r"is a TIFF of \d bands of (16|32) bits in a form not read here"):
        open_photo(data)


@pytest.mark.parametrize("seed", range(4))
def test_a_damaged_one_is_one_sentence(seed):
    for change in range(60 * seed, 60 * seed + 60):
        _open_damaged(change)


def _open_damaged(change):
    whole = bytearray(tiff(FIVE if change % 2 else DEEP, planes=change % 3 == 0, tile=16 * (change % 5 == 0)))
    rng = np.random.default_rng(change)
    for at in rng.integers(len(whole) - 250, len(whole), 4):  # its tags
        whole[at] = rng.integers(256)
    try:
        open_photo(bytes(whole))
    except PhotoError as error:
        assert str(error).count("\n") == 0


def test_avif_and_its_suffix(tmp_path):
    file = tmp_path / "a.avif"
    file.write_bytes(saved(Image.fromarray(RGB), "AVIF", quality=95))
    assert np.abs(np.asarray(open_photo(file).image).astype(int) - RGB).mean() < 3


@pytest.mark.parametrize("address", ["https://example.org/cat.jpg", "http:/a.org/b.png", "S3://bucket/photo.jpg"])
def test_an_address_is_no_file(address):
    with pytest.raises(PhotoError, match="is an address, and photos are read from files"):
        open_photo(address)
