"""HTML of reports: Jinja2 fills the templates beside this file and escapes every word; pictures as data addresses."""

import io
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from PIL import Image

from vitcore.figures.png_and_svg import in_dark, print_figure
from vitcore.figures.theme import data_address
from vitcore.translation import percent, say

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Embedded:
    """A picture of pixels in a page."""

    address: str
    width: int
    height: int
    alt: str
    kind: str  # CSS classes


@dataclass(frozen=True)
class Drawing:
    """An SVG for light pages and paper, and one for dark pages."""

    light: str
    dark: str
    alt: str


def page(template: str, **facts: Any) -> bytes:
    """A whole HTML file: a template filled with facts; words are escaped there, `say` is known there."""
    return (templates().get_template(template).render(facts) + "\n").encode()


@cache
def templates() -> Any:
    """The templates, as Jinja2 keeps them."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    made.policies["json.dumps_kwargs"] = {"ensure_ascii": False}
    made.globals |= {"say": say, "percent": percent, "style": (HERE / "handout.css").read_text(encoding="utf-8")}
    return made


def image(
    pixels: NDArray[np.uint8] | Image.Image, alt: str, photo: bool, most_px: int = 1000, kind: str = ""
) -> Embedded:
    """Pixels as WebP, lossy for photographs and exact for what is made of cells."""
    drawn = pixels if isinstance(pixels, Image.Image) else Image.fromarray(pixels)
    if max(drawn.size) > most_px:
        drawn = drawn.resize(
            _shrunk(drawn.size, most_px), Image.Resampling.BOX if not photo else Image.Resampling.LANCZOS
        )
    file = io.BytesIO()
    if photo:  # method 4 saves 4 % of the bytes and takes twice as long
        drawn.save(file, "WEBP", quality=86, method=2)
    else:
        drawn.save(file, "WEBP", lossless=True, quality=80)
    kinds = " ".join(one for one in (kind, "" if photo else "sharp") if one)
    return Embedded(data_address(file.getvalue(), "image/webp"), *drawn.size, alt, kinds)


def _shrunk(size: tuple[int, int], most_px: int) -> tuple[int, int]:
    return max(1, size[0] * most_px // max(size)), max(1, size[1] * most_px // max(size))


def drawing(light: go.Figure, alt: str) -> Drawing:
    """A light figure as a drawing, without its title: the page says that as text."""
    light.layout.title = None
    printed = print_figure(light, "svg")
    on_paper, in_the_dark = (data_address(svg, "image/svg+xml") for svg in (printed, in_dark(printed)))
    return Drawing(on_paper, in_the_dark, alt)
