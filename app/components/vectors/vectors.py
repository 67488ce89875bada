"""Vectors as rows of little bars: the numbers of one token on its way, each with its formula and its length."""

from typing import Any

from app import texts
from app.components.component_files import component_from_folder
from vitcore.translation import decimal

_VECTORS = component_from_folder("vectors")

BAR_COUNT, NUMBER_COUNT = 24, 6  # of a vector: how many are drawn, how many are written out


def vectors(rows: list[dict[str, Any]], *, key: str, label: str, flat: bool = False) -> None:
    """Show rows made by `vector_row` and `attention_row`; `flat`: without the residual stream drawn beside them."""
    _VECTORS(data={"rows": rows, "label": label, "flat": flat}, key=key)


def vector_row(
    name: str, formula: str, values: Any, *, kind: str = "branch", sign: str | None = None, unit: str = ""
) -> dict[str, Any]:
    """A row for a vector: its first numbers as bars and in words, and its Euclidean length.

    `kind`: "stream" (it is the residual stream), "branch" (a part's work), "branch start", or "sum"; `unit` is said under
    the length, e.g. how many numbers there are.
    """
    first = [float(v) for v in values[:BAR_COUNT]]
    written = " \u2003".join(decimal(v, 2, plus=True) for v in first[:NUMBER_COUNT]) + (
        " \u2003…" if len(values) > NUMBER_COUNT else ""
    )
    length = float((values.astype(float) ** 2).sum() ** 0.5)
    row = {
        "kind": kind, "name": name, "formula": formula, "values": [float(f"{v:.4g}") for v in first], "numbers": written,
        "alt": f"{name}: {written}", "size": texts.prose("common")["length"].format(length=f"{length:.3g}"), "unit": unit,
    }  # fmt: skip
    return row if sign is None else row | {"sign": sign}


def attention_row(name: str, formula: str, tokens: list[dict[str, str]], unit: str = "") -> dict[str, Any]:
    """A row for attention: the tokens it looks at most, each {"image" or "sign", "weight", "name"}."""
    return {"kind": "branch", "name": name, "formula": formula, "looks": tokens, "size": "", "unit": unit}
