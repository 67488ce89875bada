"""Attention distance: one dot per head over depth, in pixels (Fig. 7 right, App. D.7)."""

import streamlit as st

from app import texts
from app.components.figure import aside, downloads, explain, lead, plot
from app.furniture import controls, outliers
from app.state import session
from app.views.distance import findings
from app.views.distance.averaged import averaged

text = texts.prose("distance")
first = aside(text["intro"])
vit, photo, rec = controls.current(needs=text["what"])
if touched := st.session_state.pop("_head", None):  # a dot of the figure
    st.switch_page("views/attention/page.py", query_params=findings.address(*touched))

from vitcore import figures  # noqa: E402
from vitcore.analysis import attention_distance  # noqa: E402

grid, mode = rec.grid, controls.theme()
with st.container(horizontal=True, vertical_alignment="bottom"):
    cls = controls.choice(text, "cls", ["drop", "renormalise"], help=text["cls help"])
    over = controls.choice(text, "over", ["photo", "samples", "folder"])
    progress = st.container(horizontal=True, vertical_alignment="bottom", width="stretch", key="progress")
if vit.structure.axes:
    first.caption(text["axial"])
if not grid.prefix:
    first.caption(text["no class"])
files = None
notes = (
    st.container()
)  # always there: what stands below keeps its place, and is not drawn anew, when something comes or goes
if over == "folder":
    files = notes.file_uploader(text["folder"], controls.TYPES, "directory", key="folder", max_upload_size=25)
seen, masked = outliers.distances(vit, rec) if over == "photo" else (rec, "")
if outliers.on() and over != "photo":
    masked = texts.prose("outliers")["distances unmasked"]
if masked:
    notes.caption(masked)
if over == "photo":
    with notes:
        outliers.quiet(vit, rec, "distance")
    images, both, spread = 1, (seen.distance_px, seen.distance_renormalised_px, seen.prefix_attention_share), None
else:
    given = [(f.name, f.getvalue()) for f in files or ()] if over == "folder" else session.sample_files()
    average = averaged(vit, given, progress)
    if average is None:
        st.info(text["choose"])
        st.stop()
    images, both, spread = average.images, tuple(average.px), average.spread_px
    for problem in average.problems[:5]:
        notes.caption(f":material/broken_image: {controls.verbatim(problem)}")
dropped, renormalised, share = both
px = {"drop": dropped, "renormalise": renormalised}[cls]

with aside(key="aside_found"):
    named = findings.headline(dropped, renormalised, cls, grid, text)
fig = figures.distance(
    px,
    grid,
    attention_distance.uniform_distance_px(grid),
    cls,
    images,
    mode,
    share=share if grid.prefix else None,
)
with lead():
    plot(fig, "distance", text.fill("alt", heads=vit.heads, blocks=vit.blocks), findings.touch)
explain(text["how"], text["limits"])
downloads(lambda: fig, "distance", text["how"], of=(photo.name if images == 1 else f"{images} photos", vit.called),
          distance_px=px, prefix_share=share)  # fmt: skip
named += findings.further(dropped, renormalised, share, spread if images > 1 else None, cls, grid, text)
findings.links(named, text)
st.dataframe(
    {text["layer"]: range(vit.blocks)}
    | {text["head"].format(head=h): px[:, h].round(1) for h in range(vit.heads)},
    hide_index=True, alt=text["table alt"],
)  # fmt: skip
