"""Figures printed once: tests ask for the same pictures of the same photos again, and to print one takes half a second."""

import contextlib
import hashlib
import pickle
from collections.abc import Iterator
from functools import partial

import pytest

from vitcore import figures
from vitcore.figures.drawing import Drawing
from vitcore.figures.painters import png_and_svg
from vitcore.report import bundle, html_page
from vitcore.translation import say

PRINTED: dict[tuple, bytes] = {}


def _once(print_figure, fig: Drawing, kind: str = "png", note: str = "") -> bytes:
    """As `print_figure`; a figure that differs in anything, or is printed in other fonts, is another."""
    asked = (hashlib.sha256(pickle.dumps(fig)).digest(), kind, note, say("Inside ViT SC"))
    if asked not in PRINTED:
        PRINTED[asked] = print_figure(fig, kind, note)
    return PRINTED[asked]


@contextlib.contextmanager
def printed_once() -> Iterator[None]:
    """In reports, by the shell, and where an app asks for a figure as bytes."""
    with pytest.MonkeyPatch.context() as patch:
        once = partial(_once, png_and_svg.print_figure)
        for room in (bundle, figures, html_page, png_and_svg):
            patch.setattr(room, "print_figure", once)
        yield
