"""The row of Table 1 that the model would have, between the paper's own, and which of those it is nearest to."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import streamlit as st

from app.texts import Prose, escape_markdown
from vitcore.paper.tables import paper_table_rows

if TYPE_CHECKING:
    from vitcore.architectures.model_summary import Table1Row

SAME_SIZE_SHARE = 0.05  # of the parameters: patches of another size, a head more or less


def show_model_size(shape: Table1Row, text: Prose) -> None:
    """The five numbers of a model's size."""
    numbers = {
        "parameters": f"{shape.params / 1e6:.3g}", "layers": str(shape.blocks or "–"), "width": number_range(shape.width) or "–",
        "heads": number_range(shape.heads) or "–", "tokens": str(shape.tokens or "–"),
    }  # fmt: skip
    with st.container(horizontal=True, key="size"):
        for name, number in numbers.items():
            st.metric(text[name], number)


def show_table1_row(shape: Table1Row, title: str, text: Prose) -> None:
    """The nearest model of Table 1, and the model's row between the paper's."""
    st.markdown(nearest_model_sentence(shape, title, text))
    ours = [str(shape.blocks or ""), *map(number_range, (shape.width, shape.mlp, shape.heads)), f"{shape.params / 1e6:.3g}",
            f"{shape.gmacs:.3g}", str(shape.tokens or ""), " × ".join(map(str, shape.image_px))]  # fmt: skip
    paper = [[row[key] for key in ("layers", "width", "mlp", "heads", "params_m")] for row in paper_table_rows("1")]
    lines = [ours, *([*cells, "", "", ""] for cells in paper)]
    names = ("layers", "width", "mlp", "heads", "parameters", "gmacs", "tokens", "image")
    with st.expander(text["table title"]):
        st.dataframe(
            {text["model"]: [title, *(text["of table 1"].format(model=row["model"]) for row in paper_table_rows("1"))]}
            | {text[name]: [line[i] for line in lines] for i, name in enumerate(names)},
            hide_index=True, alt=text["table alt"].format(model=title),
        )  # fmt: skip
        st.caption(text["table how"])


def nearest_model_sentence(shape: Table1Row, title: str, text: Prose) -> str:
    """The model beside the one of Table 1 whose parameters are nearest, by ratio."""
    millions = shape.params / 1e6
    nearest = min(paper_table_rows("1"), key=lambda row: abs(math.log(millions / float(row["params_m"]))))
    ratio = millions / float(nearest["params_m"])
    if abs(ratio - 1) < SAME_SIZE_SHARE:
        same_shape = (shape.blocks, shape.width) == (int(nearest["layers"]), (int(nearest["width"]),))
        sentence = text["alike"] if same_shape else text["as many"]
    else:
        sentence = text["larger"] if ratio > 1 else text["smaller"]
    times = max(ratio, 1 / ratio)
    facts = {"paper": nearest["model"], "millions": nearest["params_m"], "times": f"{times:.2g}" if times < 10 else f"{times:,.0f}"}
    reads = text.fill("reads", tokens=shape.tokens, gmacs=f"{shape.gmacs:.3g}") if shape.tokens else ""
    no_tokens = "" if shape.tokens else text["no tokens"].format(gmacs=f"{shape.gmacs:.3g}")
    model = {"model": escape_markdown(title), "params": f"{millions:.3g}"}
    return text.join_sentences((sentence.format(**model, **facts), reads, no_tokens))


def number_range(stage_values: tuple[int, ...]) -> str:
    """A number, or where stages differ the first to the last; nothing where there is none."""
    return "–".join(map(str, dict.fromkeys((stage_values[0], stage_values[-1])))) if stage_values else ""
