"""A link as a QR code that phones read from a projector: black on white in either theme, with the quiet zone that readers need."""

import io
from functools import lru_cache

import streamlit as st

QUIET_MODULES = 4  # ISO/IEC 18004


def show_qr_code(link: str, alt: str) -> None:
    """Draw a link's QR code as wide as the place it is in."""
    st.image(_svg(link), width="stretch", alt=alt)


@lru_cache(maxsize=32)
def _svg(link: str) -> str:
    import segno

    file = io.BytesIO()
    code = segno.make(link, error="m", micro=False)
    code.save(file, kind="svg", xmldecl=False, scale=8, border=QUIET_MODULES, dark="#000", light="#fff")
    return file.getvalue().decode()
