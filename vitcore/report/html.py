"""Small pieces of HTML: escaped text, pictures as data addresses, colour bars, tables; no script, nothing fetched."""

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from vitcore.figures.theme import data_address, stops
from vitcore.report.pictures import Scale


def tag(name: str, *inside: str, **attributes: str) -> str:
    """An element around HTML that is ready; attribute values are escaped here, `class_` is `class`."""
    said = "".join(f' {key.rstrip("_")}="{escape(value, quote=True)}"' for key, value in attributes.items())
    return f"<{name}{said}>{''.join(inside)}</{name}>"


def text(name: str, words: str, **attributes: str) -> str:
    """An element around plain words."""
    return tag(name, escape(words), **attributes)


def image(pixels: NDArray[np.uint8] | Image.Image, alt: str, photo: bool, most_px: int = 1000, class_: str = "") -> str:
    """Pixels as an <img>: WebP, lossy for photographs and exact for what is made of cells."""
    drawn = pixels if isinstance(pixels, Image.Image) else Image.fromarray(pixels)
    if max(drawn.size) > most_px:
        drawn = drawn.resize(
            _shrunk(drawn.size, most_px), Image.Resampling.BOX if not photo else Image.Resampling.LANCZOS
        )
    file = io.BytesIO()
    drawn.save(file, "WEBP", quality=86, method=4) if photo else drawn.save(file, "WEBP", lossless=True, quality=80)
    address = data_address(file.getvalue(), "image/webp")
    named = " ".join(one for one in (class_, "" if photo else "sharp") if one)
    kind = f' class="{named}"' if named else ""
    wide, high = drawn.size
    return f'<img src="{address}" width="{wide}" height="{high}" alt="{escape(alt, quote=True)}"{kind}>'


def _shrunk(size: tuple[int, int], most_px: int) -> tuple[int, int]:
    return max(1, size[0] * most_px // max(size)), max(1, size[1] * most_px // max(size))


def drawing(light: bytes, dark: bytes, alt: str) -> str:
    """An SVG for light pages and paper, and one for dark pages."""
    one, other = (data_address(svg, "image/svg+xml") for svg in (light, dark))
    source = f'<source media="screen and (prefers-color-scheme: dark)" srcset="{other}">'
    return f'<picture>{source}<img src="{one}" alt="{escape(alt, quote=True)}"></picture>'


def scale_bar(scale: Scale) -> str:
    """A colour bar with the numbers at its ends, and its unit."""
    bar = f'<i style="background:linear-gradient(90deg,{",".join(stops(scale.colours, 16))})"></i>'
    ends = [text("span", f"{end:.3g}") for end in (scale.low, scale.high)]
    return tag("div", ends[0], bar, ends[1], text("span", scale.unit), class_="scale")


def bars(top: Iterable[tuple[str, float]]) -> str:
    """Shares as a list of bars."""
    rows = [
        tag(
            "li",
            tag("span", text("span", name), text("b", f"{share:.1%}")),
            f'<i style="width:{100 * share:.2f}%"></i>',
        )
        for name, share in top
    ]
    return tag("ol", *rows, class_="bars")


def facts(rows: Mapping[str, str]) -> str:
    """Names and what they are; `rows` values are HTML already."""
    return tag("dl", *(text("dt", name) + tag("dd", value) for name, value in rows.items() if value))


def table(head: Sequence[str], rows: Iterable[Sequence[str]], name: str) -> str:
    """A table called `name` whose first column names its rows; it scrolls sideways where it is too wide."""
    first = tag("thead", tag("tr", *(text("th", name, scope="col") for name in head)))
    body = [tag("tr", text("th", row[0], scope="row"), *(text("td", value) for value in row[1:])) for row in rows]
    whole = tag("table", first, tag("tbody", *body))
    return tag("div", whole, class_="wide", tabindex="0", role="region", **{"aria-label": name})


def data(name: str, values: Any) -> str:
    """A JSON block that programs read and browsers don't show."""
    said = json.dumps(values, ensure_ascii=False).replace("<", "\\u003c").replace("&", "\\u0026")
    return f'<script type="application/json" id="{name}">{said}</script>'
