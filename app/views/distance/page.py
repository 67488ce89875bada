"""Attention distance: one dot per head over depth, in pixels (Fig. 7 right, App. D.7)."""

import streamlit as st

from app import texts
from app.components.figure import figure
from app.furniture import controls, model_card
from app.state import session

text = texts.prose("distance")
st.markdown(text["intro"])
vit, photo, rec = controls.current(needs=text["what"])
model_card.taught(vit)

from vitcore import figures  # noqa: E402
from vitcore.analysis.distance import uniform_distance_px  # noqa: E402

grid, mode = rec.grid, controls.theme()
with st.container(horizontal=True, vertical_alignment="bottom"):
    cls = controls.choice(text, "cls", ["drop", "renormalise"])
    over = controls.choice(text, "over", ["photo", "samples", "folder"])
if vit.structure.axes:
    st.caption(text["axial"])
if not grid.prefix:
    st.caption(text["no class"])
files = None
if over == "folder":
    files = st.file_uploader(text["folder"], controls.TYPES, "directory", key="folder")
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
        st.caption(f":material/broken_image: {controls.verbatim(problem)}")
near, far = px[0].argmin(), px[0].argmax()
if near != far:
    st.markdown(text["first layer"].format(near=near + 1, near_px=f"{px[0, near]:.1f}", far=far + 1,
                                           far_px=f"{px[0, far]:.1f}"))  # fmt: skip
fig = figures.distance(px, grid, uniform_distance_px(grid), cls, images, mode)
figure(fig, "distance", text["alt"].format(heads=vit.heads, blocks=vit.blocks), text["how"],
       text["limits"], distance_px=px)  # fmt: skip
st.dataframe(
    {text["layer"]: range(vit.blocks)}
    | {text["head"].format(head=h + 1): px[:, h].round(1) for h in range(vit.heads)},
    hide_index=True, alt=text["table alt"],
)  # fmt: skip
