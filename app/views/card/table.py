"""The row of Table 1 that the model would have, between the paper's own, and which of those it is nearest to."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import streamlit as st

from app.texts import Prose, verbatim

if TYPE_CHECKING:
    from vitcore.architectures.model_summary import Table1

SAME = 0.05  # of the parameters: patches of another size, a head more or less


def show(shape: Table1, title: str, text: Prose) -> None:
    """The sentence and the table."""
    from vitcore.paper.tables import rows

    st.markdown(finding(shape, title, text))
    ours = [str(shape.blocks or ""), *map(span, (shape.width, shape.mlp, shape.heads)), f"{shape.params / 1e6:.3g}",
            f"{shape.gmacs:.3g}", str(shape.tokens or ""), " × ".join(map(str, shape.image_px))]  # fmt: skip
    paper = [[row[key] for key in ("layers", "width", "mlp", "heads", "params_m")] for row in rows("1")]
    lines = [ours, *([*cells, "", "", ""] for cells in paper)]
    names = ("layers", "width", "mlp", "heads", "parameters", "gmacs", "tokens", "image")
    st.dataframe(
        {text["model"]: [title, *(text["of table 1"].format(model=row["model"]) for row in rows("1"))]}
        | {text[name]: [line[i] for line in lines] for i, name in enumerate(names)},
        hide_index=True, alt=text["table alt"].format(model=title),
    )  # fmt: skip
    st.caption(text["table how"])


def finding(shape: Table1, title: str, text: Prose) -> str:
    """The model beside the one of Table 1 whose parameters are nearest, by ratio."""
    from vitcore.paper.tables import rows

    millions = shape.params / 1e6
    near = min(rows("1"), key=lambda row: abs(math.log(millions / float(row["params_m"]))))
    ratio = millions / float(near["params_m"])
    if abs(ratio - 1) < SAME:
        same_shape = (shape.blocks, shape.width) == (int(near["layers"]), (int(near["width"]),))
        said = text["alike"] if same_shape else text["as many"]
    else:
        said = text["larger"] if ratio > 1 else text["smaller"]
    times = max(ratio, 1 / ratio)
    facts = {
        "paper": near["model"], "millions": near["params_m"], "times": f"{times:.2g}" if times < 10 else f"{times:,.0f}"
    }  # fmt: skip
    reads = text.fill("reads", tokens=shape.tokens, gmacs=f"{shape.gmacs:.3g}") if shape.tokens else ""
    no_tokens = "" if shape.tokens else text["no tokens"].format(gmacs=f"{shape.gmacs:.3g}")
    model = {"model": verbatim(title), "params": f"{millions:.3g}"}
    return text.joined((said.format(**model, **facts), reads, no_tokens))


def span(ends: tuple[int, ...]) -> str:
    """A number, or where stages differ the first to the last; nothing where there is none."""
    return "–".join(map(str, dict.fromkeys((ends[0], ends[-1])))) if ends else ""
