"""What the scripts of before | after are sent: a class with both probabilities, and the values of a map."""

import base64
from typing import Any

from numpy.typing import NDArray

from vitcore.translation import percents


def class_probability_row(label: str, before: float, after: float) -> dict[str, Any]:
    """A class, and its probability before and after, as words and as shares."""
    (was, now), shares = percents(before, after), [round(before, 4), round(after, 4)]
    return {"label": label, "before": was, "after": now, "shares": shares}


def encode_map_values(values: NDArray) -> str:
    """Values as 32-bit floats, base64."""
    return base64.b64encode(values.astype("<f4").tobytes()).decode()
