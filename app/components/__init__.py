"""Components of the app: a typed Python wrapper beside its html, css and js (Streamlit components v2)."""

from pathlib import Path


def source(name: str) -> str:
    """The text of a file of this folder."""
    return (Path(__file__).parent / name).read_text(encoding="utf-8")
