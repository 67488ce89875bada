"""Attention distance: one dot per head over depth, in pixels (Fig. 7 right, App. D.7)."""

import streamlit as st

from app import controls, session, texts
from app.components.figure import figure

text = texts.prose("distance")
st.markdown(text["intro"])
vit, photo, rec = controls.current()

from vitcore import figures  # noqa: E402
from vitcore.analysis.distance import uniform_distance_px  # noqa: E402

grid, mode = rec.grid, controls.theme()
with st.container(horizontal=True, vertical_alignment="bottom"):
    cls = st.segmented_control(
        "Class token (dropped in the paper)", ["drop", "renormalise"], default="drop", required=True, key="cls",
        bind="query-params",
    )  # fmt: skip
    over = st.segmented_control(
        "Averaged over", ["photo", "samples", "folder"], default="photo", required=True, key="over", bind="query-params",
    )  # fmt: skip
if not grid.prefix:
    st.caption(text["no class"])
files = None
if over == "folder":
    files = st.file_uploader("Choose a folder of photos", controls.TYPES, "directory", key="folder")
if over == "photo":
    images, px = 1, {"drop": rec.distance_px, "renormalise": rec.distance_renormalised_px}[cls]
else:
    given = [(f.name, f.getvalue()) for f in files or ()] if over == "folder" else session.sample_files()
    average = controls.averaged(vit, given)
    if average is None:
        st.info(text["choose"])
        st.stop()
    images, px = average.images, average.px[["drop", "renormalise"].index(cls)]
    for problem in average.problems[:5]:
        st.caption(f":material/broken_image: {problem}")
fig = figures.distance(px, grid, uniform_distance_px(grid), cls, images, mode)
figure(fig, "distance", f"Mean attention distance of {vit.heads} heads in {vit.blocks} layers", text["how"],
       text["limits"], distance_px=px)  # fmt: skip
st.dataframe(
    {"layer": range(vit.blocks)} | {f"head {h + 1} (px)": px[:, h].round(1) for h in range(vit.heads)},
    hide_index=True, alt="The numbers of the figure",
)  # fmt: skip
