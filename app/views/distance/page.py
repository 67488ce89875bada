"""Attention distance: one dot per head over depth, in pixels (Fig. 7 right, App. D.7)."""

import streamlit as st

from app import texts
from app.components.figure import figure
from app.furniture import controls, model_card
from app.state import session
from app.views.distance import findings

text = texts.prose("distance")
st.markdown(text["intro"])
vit, photo, rec = controls.current()
if touched := st.session_state.pop("_head", None):  # a dot of the figure
    st.session_state["block"], st.session_state["head"] = block, head = touched
    st.switch_page("views/attention/page.py", query_params={"block": str(block), "head": str(head)})
model_card.taught(vit)

from vitcore import figures  # noqa: E402
from vitcore.analysis import distance  # noqa: E402

grid, mode = rec.grid, controls.theme()
with st.container(horizontal=True, vertical_alignment="bottom"):
    cls = controls.choice(text, "cls", ["drop", "renormalise"])
    over = controls.choice(text, "over", ["photo", "samples", "folder"])
if not grid.prefix:
    st.caption(text["no class"])
files = None
if over == "folder":
    files = st.file_uploader(text["folder"], controls.TYPES, "directory", key="folder")
if over == "photo":
    images, both, spread = 1, (rec.distance_px, rec.distance_renormalised_px, rec.prefix_share), None
else:
    given = [(f.name, f.getvalue()) for f in files or ()] if over == "folder" else session.sample_files()
    average = controls.averaged(vit, given)
    if average is None:
        st.info(text["choose"])
        st.stop()
    images, both, spread = average.images, tuple(average.px), average.spread_px
    for problem in average.problems[:5]:
        st.caption(f":material/broken_image: {controls.verbatim(problem)}")
dropped, renormalised, share = both
px = {"drop": dropped, "renormalise": renormalised}[cls]

named = findings.said(text, grid, cls, both, spread if images > 1 else None)
fig = figures.distance(
    px, grid, distance.uniform_distance_px(grid), cls, images, mode, share=share if grid.prefix else None
)
figure(fig, "distance", text["alt"].format(heads=vit.heads, blocks=vit.blocks), text["how"], text["limits"],
       touched=lambda place: st.session_state.update(_head=(place[0], place[1] + 1)),
       distance_px=px, prefix_share=share)  # fmt: skip
findings.links(text, named)
st.dataframe(
    {text["layer"]: range(vit.blocks)}
    | {text["head"].format(head=h + 1): px[:, h].round(1) for h in range(vit.heads)},
    hide_index=True, alt=text["table alt"],
)  # fmt: skip
