"""Attention and rollout: every head of a block, and attention carried through all blocks (Fig. 6, 14, App. D.8)."""

import streamlit as st

from app import controls, session, texts
from app.components.figure import downloads, explain, figure
from app.components.picture import picture

text = texts.prose("rollout")
st.markdown(text["intro"])
vit, photo, rec = controls.current(st.session_state.get("block", 0))

import numpy as np  # noqa: E402

from vitcore import figures  # noqa: E402
from vitcore.figures.attention import heat, heat_size, paper_drawing, rollout_unit, scale_top  # noqa: E402
from vitcore.figures.theme import SEQUENTIAL, data_uri  # noqa: E402

grid, mode = rec.grid, controls.theme()
with st.container(horizontal=True, vertical_alignment="bottom"):
    asks_patch = st.toggle(text["ask"], key="ask", bind="query-params", value=False)
    # always there: a choice made in the picture reaches the address only through a control that is on the page already
    asked = controls.number("Patch", "query", grid.patches, grid.middle, width=140, disabled=not asks_patch)
    query = asked if asks_patch else None
    if vit.readout != "class token":
        st.caption(text["no class"].format(readout=vit.readout))
who = f"patch {query}" if asks_patch else f"the {vit.readout}"

left, right = st.columns([3, 2], gap="large")
with right:
    st.markdown("##### Rollout settings")
    style = st.segmented_control("Drawn as", ["heat", "paper"], default="heat", required=True, key="style",
                                 bind="query-params")  # fmt: skip
    fusion = st.segmented_control("Heads fused by", ["mean", "max", "min"], default="mean", required=True, key="fusion",
                                  bind="query-params")  # fmt: skip
    discard = controls.slider("Discard the weakest, %", "discard", 0, 95, 0)
    residual = controls.slider("Residual weight, %", "residual", 0, 95, 50)
    first = controls.slider("First layer", "first", 0, vit.blocks - 1, 0)
    opacity = controls.slider("Opacity of the heat, %", "opacity", 0, 100, 60) if style == "heat" else 0
    if rec.top():
        st.plotly_chart(
            figures.predictions(rec.top(), mode), theme=None, config={"displayModeBar": False}, key="top5",
            alt="The five likeliest classes",
        )  # fmt: skip
mask = rec.rollout(None if query is None else grid.prefix + query, fusion, discard_ratio=discard / 100,
                   residual=residual / 100, first_block=first)  # fmt: skip
title = f"Attention rollout: what {who} gathered"
with left:
    seen, address = session.shown(vit.name, photo.digest, photo, rec)
    drawn = paper_drawing(mask, seen, grid) if style == "paper" else heat(mask, heat_size(grid), scale_top(mask))
    st.markdown(f"##### {title}")
    picture(
        data_uri(drawn, photo=True) if style == "paper" else address, grid.rows, grid.cols, grid.step_px, key="gathered",
        label=title, target="query", also=("ask", True), selected=query, overlay=None if style == "paper" else data_uri(drawn),
        opacity=opacity / 100, values=(100 * mask).ravel().tolist(), unit="% of the rollout", lines=False,
    )  # fmt: skip
    if style == "heat":
        controls.scale_strip(SEQUENTIAL, 0, 100 * scale_top(mask), rollout_unit(mask), "rollout_scale")
    explain(text["how"], text["limits"])
    downloads(lambda: figures.rollout(mask, np.asarray(seen), grid, style, opacity / 100, mode, title.partition(": ")[2], query),
              "rollout", text["how"], rollout=mask)  # fmt: skip

st.markdown("#### All heads of one layer")
with st.container(horizontal=True, vertical_alignment="bottom"):
    block = controls.slider("Layer", "block", 0, vit.blocks - 1, vit.blocks - 1, width=320)
    shared = st.toggle("One scale for all heads", key="shared", bind="query-params")
rec = session.recording(vit, photo, block)
maps = session.head_maps(rec, block, None if query is None else grid.prefix + query)
figure(figures.heads(maps, grid, f"Attention of {who}, layer {block}", mode, shared), "heads", f"Heads of layer {block}",
       text["heads"], text["heads limits"], attention=maps)  # fmt: skip
