"""Photos as cameras, satellites and scanners make them: bands, planes, few bits in many, colours of another kind, raw files."""

import io
import struct
import zlib

import numpy as np
import pytest
from picture_files import saved, swapped_primaries_profile
from PIL import Image, ImageCms

from vitcore.images import PhotoError, open_photo
from vitcore.images.file_formats import UNREAD_PICTURES

DOWN, ACROSS = np.mgrid[0:48, 0:40]
RGB = np.stack([6 * ACROSS, 5 * DOWN, 255 - 6 * ACROSS], -1).astype(np.uint8)
DEEP = RGB.astype(np.uint16) * 257
FIVE = np.concatenate([DEEP, DEEP[..., :2]], -1)
PALETTE = Image.fromarray(RGB).convert("P")


def tiff(values, end="<", planes=False, tile=0, compression=1, strips=1, cut=0, big=False, **also):
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
    places = np.cumsum([16 if big else 8, *map(len, data)]).tolist()
    sizes = list(map(len, data))
    tags = {256: [wide], 257: [high], 258: [bits] * bands, 259: [compression], 262: [2], 277: [bands], 284: [1 + planes]}
    tags |= {339: [kind] * bands} | {int(tag[4:]): numbers for tag, numbers in also.items()}
    tags |= (
        {322: [tile], 323: [tile], 324: places[:-1], 325: sizes}
        if tile
        else {273: places[:-1], 278: [-(-high // strips)], 279: sizes}
    )
    rows, more, wide, inline = b"", b"", "Q" if big else "I", 8 if big else 4
    for tag, numbers in sorted(tags.items()):
        packed = numbers if isinstance(numbers, bytes) else struct.pack(f"{end}{len(numbers)}I", *numbers)
        at = packed.ljust(inline, b"\0") if len(packed) <= inline else struct.pack(end + wide, places[-1] + len(more))
        more += b"" if len(packed) <= inline else packed
        rows += struct.pack(f"{end}HH{wide}", tag, 7 if isinstance(numbers, bytes) else 4, len(numbers)) + at
    mark = struct.pack(f"{end}HHH", 43, 8, 0) if big else struct.pack(f"{end}H", 42)
    begin = (b"II" if end == "<" else b"MM") + mark + struct.pack(end + wide, places[-1] + len(more))
    whole = begin + b"".join(data) + more + struct.pack(end + ("Q" if big else "H"), len(tags)) + rows + bytes(8)
    return whole[: len(whole) - cut]


@pytest.mark.parametrize(("data", "note"), [
    (tiff(DEEP, planes=True), "16-bit"), (tiff(DEEP, ">", planes=True, strips=4), "16-bit"),
    (tiff(DEEP, planes=True, tile=32), "16-bit"), (tiff((RGB / 255).astype(np.float32)), ""),
    (tiff((RGB / 255).astype(np.float64), ">", planes=True), ""), (tiff(FIVE), "It has 5 bands"),
    (tiff(FIVE, tile=16), "It has 5 bands"),
    (tiff(FIVE.astype(np.uint8), strips=3), "It has 5 bands"), (tiff(DEEP // 16, planes=True), "use 12 bits"),
    (tiff(RGB), ""), (tiff(RGB, planes=True), ""), (tiff(DEEP), "16-bit"), (tiff(DEEP // 16, ">"), "use 12 bits"),
    (tiff(DEEP, planes=True, big=True), "16-bit"), (tiff((RGB / 255).astype(np.float32), big=True), ""),
    (tiff(RGB, tag_262=[1]), ""), (tiff(FIVE[..., :4], tag_262=[1]), "It has 4 bands"),
    (tiff(FIVE[..., :4].astype(np.uint8), planes=True, tag_338=[0]), "It has 4 bands"),
])  # fmt: skip
def test_the_first_three_bands_are_what_is_shown(data, note):
    photo = open_photo(data)
    expected = RGB if "12 bits" not in note else np.round((DEEP // 16) / 4095 * 255)
    assert np.abs(np.asarray(photo.image).astype(int) - expected).max() <= 1
    assert note in " ".join(photo.notes) and bool(note) == bool(photo.notes)


def png16(values, *chunks):
    """A PNG of 16-bit colours, which Pillow can't write, with more chunks."""
    high, wide, _ = values.shape
    rows = zlib.compress(b"".join(b"\0" + row.astype(">u2").tobytes() for row in values))
    chunks = (("IHDR", struct.pack(">IIBBBBB", wide, high, 16, 2, 0, 0, 0)), *chunks, ("IDAT", rows), ("IEND", b""))
    packed = [(kind.encode() + data, len(data)) for kind, data in chunks]
    return b"\x89PNG\r\n\x1a\n" + b"".join(struct.pack(">I", n) + d + struct.pack(">I", zlib.crc32(d)) for d, n in packed)


def test_colours_of_few_bits_in_16_are_not_black():
    photo = open_photo(png16(DEEP // 16))
    assert np.abs(np.asarray(photo.image) - (DEEP // 16) / 4095 * 255).max() <= 1 and "use 12 bits" in photo.notes[0]
    whole = open_photo(png16(DEEP))
    assert (np.asarray(whole.image) == RGB).all() and "16-bit" in whole.notes[0]


@pytest.mark.parametrize("bits", [8, 12, 16])
def test_where_white_is_zero_the_picture_is_no_negative(bits):
    values = (2**bits - 1 - (RGB[..., :1].astype(int) << (bits - 8))).astype(np.uint16 if bits > 8 else np.uint8)
    photo = open_photo(tiff(values, tag_262=[0]))
    assert np.abs(np.asarray(photo.image)[..., 0].astype(int) - RGB[..., 0]).max() <= 1


@pytest.mark.parametrize("data", [tiff(RGB, tag_254=[1]), tiff(DEEP, planes=True, tag_254=[1])])
def test_a_raw_file_is_not_shown_as_its_small_copy(data):
    with pytest.raises(PhotoError, match="small copy of its picture"):
        open_photo(data)


def grey_profile():
    """A profile of grey whose numbers are proportional to light."""
    text = b"desc\0\0\0\0" + struct.pack(">I", 5) + b"grey\0" + bytes(78)
    white = struct.pack(">3i", 63190, 65536, 54061)
    tags = {
        b"desc": text + bytes(-len(text) % 4),
        b"wtpt": b"XYZ \0\0\0\0" + white,
        b"kTRC": b"curv\0\0\0\0" + struct.pack(">IHH", 1, 256, 0),
    }
    rows, body = b"", b""
    for tag, value in tags.items():
        rows += tag + struct.pack(">II", 132 + 12 * len(tags) + len(body), len(value))
        body += value
    head = (
        struct.pack(">I4sI", 132 + len(rows) + len(body), b"lcms", 0x02400000)
        + b"mntrGRAYXYZ "
        + struct.pack(">6H", 2020, 1, 1, 0, 0, 0)
    )
    return (head + b"acsp").ljust(68, b"\0") + white + bytes(48) + struct.pack(">I", len(tags)) + rows + body


GREY = Image.fromarray(RGB[..., 0])
PROFILED = {  # how a picture is saved with a profile, and the picture itself
    "grey": (lambda profile: saved(GREY, "PNG", icc_profile=profile), GREY),
    "grey and alpha": (lambda profile: saved(GREY.convert("LA"), "PNG", icc_profile=profile), GREY),
    "16-bit grey": (lambda profile: saved(Image.fromarray(DEEP[..., 0]), "PNG", icc_profile=profile), GREY),
    "a palette": (lambda profile: saved(PALETTE, "PNG", icc_profile=profile), PALETTE.convert("RGB")),
    "floats": (lambda profile: tiff((RGB / 255).astype(np.float32), tag_34675=profile), Image.fromarray(RGB)),
}


@pytest.mark.parametrize("kind", PROFILED)
def test_a_profile_counts_for_grey_palettes_and_floats_too(kind):
    save, plain = PROFILED[kind]
    profile = grey_profile() if "grey" in kind else swapped_primaries_profile()
    source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
    right = ImageCms.profileToProfile(plain, source, ImageCms.createProfile("sRGB"), outputMode="RGB")
    assert np.abs(np.asarray(open_photo(save(profile)).image).astype(int) - np.asarray(right)).max() <= 1
    assert np.abs(np.asarray(right).astype(int) - np.asarray(plain.convert("RGB"))).max() > 20


P3_PRIMARIES = struct.pack(">8I", 31270, 32900, 68000, 32000, 26500, 69000, 15000, 6000)


def heif_with(primaries, transfer):
    import pillow_heif

    file = io.BytesIO()
    pillow_heif.from_pillow(Image.fromarray(RGB)).save(file, color_primaries=primaries, transfer_characteristics=transfer)
    return file.getvalue()


@pytest.mark.parametrize(("data", "kind"), [
    (png16(DEEP, ("gAMA", struct.pack(">I", 100_000))), "gamma 1.00"), (png16(DEEP, ("cHRM", P3_PRIMARIES)), "cHRM"),
    (png16(DEEP, ("gAMA", struct.pack(">I", 45_455))), ""),
    (png16(DEEP, ("cICP", bytes([9, 16, 0, 1]))), "BT.2020, PQ, HDR"), (png16(DEEP, ("cICP", bytes([1, 13, 0, 1]))), ""),
    (heif_with(12, 13), "Display P3"), (heif_with(9, 18), "BT.2020, HLG, HDR"), (heif_with(1, 13), ""),
])  # fmt: skip
def test_colours_far_from_srgb_are_said(data, kind):
    notes = " ".join(open_photo(data).notes)
    assert (f"of another kind ({kind})" in notes) if kind else ("another kind" not in notes)


@pytest.mark.parametrize(("data", "said"), [
    (b"\xff\x0a" + bytes(99), "is in JPEG XL format"), (bytes(128) + b"DICM" + bytes(99), "is in DICOM format"),
    (b"\0\0\0\x18ftypcrx " + bytes(99), "is in raw (CR3) format"), (tiff(RGB, tag_259=[50002]), "is a TIFF in a form"),
    (b"MM\0+" + bytes(99), "is a TIFF in a form"), (b"my_film.mp4 is not here", "text that begins with 'my_film"),
    (b"\0\0\0\x18ftypisom" + bytes(99), "is in film (MP4) format"), (b"%PDF-1.4\n", "is in PDF format"),
    *((bytes(at) + magic + bytes(99), f"is in {kind} format") for (at, magic), kind in UNREAD_PICTURES.items()),
    (b"version https://git-lfs.github.com/spec/v1", "text that begins with 'version https://git-lfs"),
    (b'<?xml version="1.0"?><Error><Code>AccessDenied', "text that begins with"),
])  # fmt: skip
def test_other_files_are_called_by_their_name(data, said):
    with pytest.raises(PhotoError) as caught:
        open_photo(data)
    assert said in str(caught.value)


NOISE = Image.fromarray(np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8))


def changed_at_its_start(data: bytes) -> bytes:
    return data[:8] + bytes(np.random.default_rng(1).integers(0, 256, 700, np.uint8)) + data[708:]


@pytest.mark.parametrize("damaged", [changed_at_its_start, lambda data: data[: len(data) // 2]])
@pytest.mark.parametrize("compression", ["tiff_lzw", "tiff_adobe_deflate", "lzma", "zstd"])
def test_a_damaged_tiff_is_no_unread_form(compression, damaged):
    (whole := io.BytesIO(), NOISE.save(whole, "TIFF", compression=compression))
    assert open_photo(whole.getvalue()).image.size == (64, 64)
    with pytest.raises(PhotoError, match=r"is damaged and can't be decoded"):
        open_photo(damaged(whole.getvalue()))


@pytest.mark.parametrize(("change", "said"), [
    (lambda data: data[:4], "is damaged"), (lambda data: data[:20], "is damaged"), (lambda data: data[:200], "is damaged"),
    (lambda data: data.replace(b"\xff\xc0\0\x11\x08", b"\xff\xc0\0\x11\x0c", 1), "is a JPEG in a form"),  # 12 bits
    (lambda data: data.replace(b"\xff\xc0\0\x11\x08", b"\xff\xc5\0\x11\x08", 1), "is a JPEG in a form"),  # hierarchical
])  # fmt: skip
def test_a_jpeg_that_was_cut_is_no_unread_form(change, said):
    with pytest.raises(PhotoError, match=said):
        open_photo(change(saved(NOISE, "JPEG")))


@pytest.mark.parametrize("compression", [34676, 50001])
def test_a_tiff_whose_codec_is_not_here_is_an_unread_form(compression):
    with pytest.raises(PhotoError, match="is a TIFF in a form"):
        open_photo(tiff(RGB, tag_259=[compression]))


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
