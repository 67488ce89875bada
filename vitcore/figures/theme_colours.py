"""The one theme of every figure: palettes, inks of light and dark pages, colour scales, and pixels as files and data addresses."""

import base64
import io
import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Mode = Literal["light", "dark"]

SEQUENTIAL = "Inferno"  # amounts: attention, rollout
DIVERGING = "RdBu_r"  # signed: cosine similarity, differences
DIVERGING_DARK = "RdBu_r on dark"  # the same on dark pages: zero is dark, both ends are bright, and red and blue stay so
GREYS = "Greys_r"
PALETTES = {  # evenly spaced colours: matplotlib's Inferno and ColorBrewer's, as Plotly has them, and one of our own
    SEQUENTIAL: ["#000004", "#1B0C41", "#4A0C6B", "#781C6D", "#A52C60", "#CF4446", "#ED6925", "#FB9B06", "#F7D13D", "#FCFFA4"],
    DIVERGING: ["#053061", "#2166AC", "#4393C3", "#92C5DE", "#D1E5F0", "#F7F7F7",
                "#FDDBC7", "#F4A582", "#D6604D", "#B2182B", "#67001F"],
    GREYS: ["#000000", "#252525", "#525252", "#737373", "#969696", "#BDBDBD", "#D9D9D9", "#F0F0F0", "#FFFFFF"],
    DIVERGING_DARK: ["#5CAEF7", "#3F8DD6", "#256BAF", "#13161A", "#B6302F", "#E5594D", "#FF8A78"],
}  # fmt: skip
DETAIL = 36  # of 255: how much brighter or darker the fine detail of a photo makes a colour that lies on it
PHOTO_SHARE = (255 - 2 * DETAIL) / 255  # of a colour's range on a photo, so that no detail is cut off
ON_PHOTO = " on a photo"  # ends the name of a scale as its colours are there
HEAT = f"{SEQUENTIAL}{ON_PHOTO}"
CATEGORICAL = (  # told apart by colour-blind readers, at least 3:1 on light and on dark pages
    "#0B7BC1", "#D55E00", "#0B9A68", "#CC5FA3", "#B98A10", "#7A6BD8", "#8A8A8A", "#A0522D",
)  # fmt: skip
PINNED_PATCH_COLOUR = CATEGORICAL[1]  # what was asked or chosen
INK_COLOURS: dict[Mode, dict[str, str]] = {
    "light": {"text": "#1F2328", "soft": "#57606A", "line": "#D9D5CC", "accent": "#0B6E83"},
    "dark": {"text": "#E8E6E1", "soft": "#A9B1BC", "line": "#2C3440", "accent": "#4FC3D9"},
}
PAPER_COLOUR: dict[Mode, str] = {"light": "#FFFFFF", "dark": "#0F1218"}


def diverging_palette(mode: Mode) -> str:
    """The palette of signed numbers on a light or a dark page."""
    return DIVERGING_DARK if mode == "dark" else DIVERGING


def ink_colour(colour: str, mode: Mode) -> str:
    """A colour as a painter needs it: the name of an ink ("text", "soft", "line", "accent") in this mode, any other as it is."""
    return INK_COLOURS[mode].get(colour, colour)


@dataclass(frozen=True, kw_only=True)
class ColourScale:
    """A colour scale: the name of its palette, the numbers at its ends, and their unit; whoever draws one reads this."""

    colours: str
    low: float
    high: float
    unit: str
    ticks: tuple[float, ...] = ()  # numbers written on its bar, where not those that a painter chooses


def round_tick_values(low: float, high: float) -> list[float]:
    """1, 2, 5, 10, 20 … from low to high, of many decades 1, 10, 100 …: to be written out, as Plotly leaves the tens away."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if math.log10(high / low) < 3.5 else (1,)
    return [step * 10.0**power for power in powers for step in steps if low <= step * 10.0**power <= high]


def apply_colour_scale(
    values: NDArray, scale: str = SEQUENTIAL, low: float | None = None, high: float | None = None
) -> NDArray[np.uint8]:
    """(…) numbers as (…, 3) bytes of a colour scale, from `low` to `high` (default: the values' own range)."""
    low = float(np.min(values)) if low is None else low
    high = float(np.max(values)) if high is None else high
    unit = (np.asarray(values, np.float64) - low) / max(high - low, 1e-12)
    return colour_table(scale)[np.uint8(np.clip(np.round(255 * unit), 0, 255))]


def hex_to_rgb(ink: str) -> tuple[int, int, int]:
    """An ink "#RRGGBB" as three bytes."""
    red, green, blue = bytes.fromhex(ink[1:])
    return red, green, blue


@lru_cache(maxsize=16)
def colour_table(scale: str) -> NDArray[np.uint8]:
    """(256, 3) bytes of a named colour scale; of one "on a photo", as its colours are there in the mean of a patch."""
    name, on_photo, _ = scale.partition(ON_PHOTO)
    stops = np.array([hex_to_rgb(ink) for ink in PALETTES[name]])
    places = np.linspace(0, 1, len(stops))
    colours = np.round(np.stack([np.interp(np.linspace(0, 1, 256), places, channel) for channel in stops.T], -1))
    return (np.round(PHOTO_SHARE * colours) + DETAIL if on_photo else colours).astype(np.uint8)


def gradient_stops(scale: str, every: int = 32) -> list[str]:
    """A colour scale as "#rrggbb" stops for a gradient: each `every`-th of its 256 colours, and the last."""
    return ["#" + bytes(rgb).hex() for rgb in [*colour_table(scale)[::every], colour_table(scale)[255]]]


def pixels_to_data_uri(pixels: NDArray[np.uint8], photo: bool = False) -> str:
    """(H, W, 3 or 4) bytes as an address a browser can show."""
    return file_to_data_uri(*encode_png_or_jpeg(pixels, photo))


def encode_png_or_jpeg(pixels: NDArray[np.uint8], photo: bool = False) -> tuple[bytes, str]:
    """(H, W), (H, W, 3 or 4) bytes as a file, and its kind: PNG, or JPEG for a `photo`, a tenth of the size."""
    file = io.BytesIO()
    opaque = pixels.ndim == 2 or pixels.shape[-1] == 3
    kind, how = ("JPEG", {"quality": 90}) if photo and opaque else ("PNG", {"compress_level": 3})
    Image.fromarray(pixels).save(file, kind, **how)
    return file.getvalue(), f"image/{kind.lower()}"


def file_to_data_uri(file: bytes, mime: str) -> str:
    """A file as an address a browser can show."""
    return f"data:{mime};base64," + base64.b64encode(file).decode()


def tile_mosaic(tiles: NDArray[np.uint8], cols: int, gutter: int = 1, zoom: int = 1) -> NDArray[np.uint8]:
    """(K, h, w, 3) tiles as one RGBA picture in rows of `cols`; gutters and empty places are transparent."""
    count, h, w, _ = tiles.shape
    rows = -(-count // cols)
    h, w = h * zoom, w * zoom
    cells = np.zeros((rows * cols, h + gutter, w + gutter, 4), np.uint8)
    cells[:count, :h, :w, :3] = tiles.repeat(zoom, 1).repeat(zoom, 2)
    cells[:count, :h, :w, 3] = 255
    sheet = cells.reshape(rows, cols, h + gutter, w + gutter, 4).swapaxes(1, 2)
    sheet = sheet.reshape(rows * (h + gutter), cols * (w + gutter), 4)
    return sheet[: rows * (h + gutter) - gutter, : cols * (w + gutter) - gutter]
