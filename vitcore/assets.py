"""The files that come with the project, found beside a checkout and in an installed package alike.

A checkout holds `assets/` beside `vitcore/`; the wheel carries it in `inside_vit/`, so that no folder of that name lies
among everybody's packages.
"""

import json
from functools import lru_cache
from pathlib import Path


def asset_path(name: str) -> Path:
    """Where a file or folder of `assets/` is: `asset_path("models")`."""
    beside = Path(__file__).resolve().parent.parent
    installed = beside / "inside_vit" / "assets"
    return (installed if installed.is_dir() else beside / "assets") / name


SAMPLES = asset_path("samples")  # photos that come with the project, `credits.json` beside them


@lru_cache(maxsize=1)
def sample_photo_rows() -> list[dict[str, str]]:
    """The gallery's rows, from its credits file: id, title, alt, author, licence, source. Raises: OSError, ValueError."""
    rows: list[dict[str, str]] = json.loads((SAMPLES / "credits.json").read_text(encoding="utf-8"))
    return rows
