"""Figures printed once: tests ask for the same pictures of the same photos again, and to print one takes half a second."""

import contextlib
import hashlib
import pickle
from collections.abc import Callable, Iterator
from functools import partial

import pytest
from PIL.PngImagePlugin import PngInfo

from tests.picture_files import flat, saved
from vitcore import figures
from vitcore.figures.drawing import Drawing
from vitcore.figures.painters import png_and_svg
from vitcore.report import html_page, report_bundle
from vitcore.translation import say

PRINTED: dict[tuple, bytes] = {}
OWN = PngInfo()
OWN.add_text("Software", png_and_svg.SOFTWARE)
BLANK = saved(flat((9, 9, 9)), "PNG", pnginfo=OWN)


def _once(print_figure, fig: Drawing, kind: str = "png", note: str = "") -> bytes:
    """As `print_figure`; a figure that differs in anything, or is printed in other fonts, is another."""
    asked = (hashlib.sha256(pickle.dumps(fig)).digest(), kind, note, say("Inside ViT SC"))
    if asked not in PRINTED:
        PRINTED[asked] = print_figure(fig, kind, note)
    return PRINTED[asked]


def _blank(fig: Drawing, kind: str = "png", note: str = "") -> bytes:
    return BLANK if kind == "png" else b'<svg xmlns="http://www.w3.org/2000/svg"/>'


@contextlib.contextmanager
def _printed_by(way: Callable[..., bytes]) -> Iterator[None]:
    """In reports, by the shell, and where an app asks for a figure as bytes."""
    with pytest.MonkeyPatch.context() as patch:
        for room in (report_bundle, figures, html_page, png_and_svg):
            patch.setattr(room, "print_figure", way)
        yield


def printed_once() -> contextlib.AbstractContextManager[None]:
    return _printed_by(partial(_once, png_and_svg.print_figure))


def printed_blank() -> contextlib.AbstractContextManager[None]:
    """Where a test asks which files are written: that figures are printed right, `tests/vitcore/figures` asks."""
    return _printed_by(_blank)
