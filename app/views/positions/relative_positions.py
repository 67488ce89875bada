"""Positions that are not a table: a bias for every offset, or rotations (RoPE), as a picture of their own."""

import streamlit as st

from app.components.figure import figure
from app.shell import query_controls, shared_selection
from app.state.models import model_weights
from app.state.visit.visit import Visit
from vitcore import figures
from vitcore.translation import decimal


def show_relative_positions(visit: Visit, has_table: bool) -> None:
    """The picture where one is defined; else, unless there is a table `has_table`, one sentence on why there is none."""
    vit, text, grid = visit.vit, visit.texts, visit.grid
    offsets = model_weights.relative_positions(vit.name, 0, vit)
    if offsets is None:
        if vit.is_global and not has_table:
            st.info(text["none"])
        return
    st.markdown(f"## {text[f'{offsets.kind} title']}")
    st.markdown(f"{text['beside table' if has_table else 'instead of table']} {text[f'{offsets.kind} about']}")
    left, right = st.columns([3, 2], gap="large")
    block, head = 0, 0
    with right:
        if not offsets.every_block:
            block = query_controls.number_input(text["layer"], shared_selection.LAYER, vit.blocks)
            offsets = model_weights.relative_positions(vit.name, block, vit) or offsets
        heads = len(offsets.values)
        if heads > 1:
            head = query_controls.number_input(text["head"], shared_selection.HEAD, heads)
    values, kind = offsets.values[head], offsets.kind
    most, least = int(values.argmax()), int(values.argmin())
    limit = 1.0 if kind == "rotation" else max(round(float(abs(values).max()) + 0.005, 2), 0.01)
    title = text[f"{kind} of"].format(layer=block, head=head) if heads > 1 else text[f"{kind} all"]
    with left:
        fig = figures.cosine_map(values, grid, title, visit.mode, grid.middle, text[f"{kind} unit"], limit)
        figure(
            fig, "by_offset", title, text[f"{kind} how"], text[f"{kind} limits"], subjects=visit.subjects[1:],
            by_offset=offsets.values,
        )  # fmt: skip
    with right:
        (row, col), (high, wide), (low, far) = (grid.row_col(patch) for patch in (grid.middle, most, least))
        st.markdown(text["offset finding"].format(
            most=decimal(values[most], 3, plus=True), least=decimal(values[least], 3, plus=True), down=high - row,
            right=wide - col, low=low - row, far=far - col,
        ))  # fmt: skip
