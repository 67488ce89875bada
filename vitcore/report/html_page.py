"""HTML of reports: Jinja2 fills the templates beside this file and escapes every word; pictures as data addresses."""

import io
import re
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from vitcore.figures.drawing import Drawing
from vitcore.figures.painters.png_and_svg import print_figure, svg_in_dark_mode
from vitcore.figures.theme_colours import file_to_data_uri
from vitcore.translation import percent, say

COPIED = re.compile(r"(<script.*?</script>|<style.*?</style>|<code.*?</code>)", re.DOTALL)  # numbers and commands
SPACE_BEFORE_PERCENT = re.compile(r" %(?<=\d %)")  # where no line may break; it begins with fixed characters, which are found fast
REPORT_FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class EmbeddedImage:
    """A picture of pixels in a page."""

    address: str
    width: int
    height: int
    alt: str
    kind: str  # CSS classes


@dataclass(frozen=True)
class ThemedSvg:
    """An SVG for light pages and paper, and one for dark pages."""

    light: str
    dark: str
    alt: str


def render_html(template: str, **facts: Any) -> bytes:
    """A whole HTML file: a template filled with facts; words are escaped there, `say` is known there."""
    page = jinja_environment().get_template(template).render(facts)
    parts = COPIED.split(page)
    parts[::2] = [SPACE_BEFORE_PERCENT.sub("\N{NO-BREAK SPACE}%", part) for part in parts[::2]]
    return ("".join(parts) + "\n").encode()


@cache
def jinja_environment() -> Any:
    """The templates, as Jinja2 keeps them."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(REPORT_FOLDER / "templates"),
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    made.policies["json.dumps_kwargs"] = {"ensure_ascii": False}
    made.globals |= {"say": say, "percent": percent, "style": (REPORT_FOLDER / "handout.css").read_text(encoding="utf-8")}
    return made


def embed_image(
    pixels: NDArray[np.uint8] | Image.Image, alt: str, photo: bool, max_px: int = 1000, kind: str = ""
) -> EmbeddedImage:
    """Pixels as WebP, lossy for photographs and exact for what is made of cells."""
    drawn = pixels if isinstance(pixels, Image.Image) else Image.fromarray(pixels)
    if max(drawn.size) > max_px:
        size = max(1, drawn.width * max_px // max(drawn.size)), max(1, drawn.height * max_px // max(drawn.size))
        drawn = drawn.resize(size, Image.Resampling.LANCZOS if photo else Image.Resampling.BOX)
    file = io.BytesIO()
    if photo:  # method 4 saves 4 % of the bytes and takes twice as long
        drawn.save(file, "WEBP", quality=86, method=2)
    else:
        drawn.save(file, "WEBP", lossless=True, quality=80)
    kinds = " ".join(one for one in (kind, "" if photo else "sharp") if one)
    return EmbeddedImage(file_to_data_uri(file.getvalue(), "image/webp"), *drawn.size, alt, kinds)


def embed_figure(light: Drawing, alt: str = "") -> ThemedSvg:
    """A light figure as SVG, without its title: the page says that as text; `alt` where it is not the title."""
    printed = print_figure(replace(light, title="", subtitle=""), "svg")
    on_paper, in_the_dark = (file_to_data_uri(svg, "image/svg+xml") for svg in (printed, svg_in_dark_mode(printed)))
    return ThemedSvg(on_paper, in_the_dark, alt or light.text_alternative)
