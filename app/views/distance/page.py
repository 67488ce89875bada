"""Attention distance: one dot per head over depth, in pixels (Fig. 7 right, App. D.7)."""

import streamlit as st

from app import texts
from app.components.figure import aside, downloads, explain, lead, plot
from app.shell import current_visit, photo_picker, query_controls
from app.state.photos import sample_photos
from app.views.distance import distance_sentences
from app.views.distance.average_progress import average_with_progress
from app.widgets import outlier_masking

text = texts.prose("distance")
first = aside(text["intro"])
visit = current_visit.load_visit(text, needs_attention=True)
vit, rec, grid = visit.vit, visit.recording, visit.grid
if touched := st.session_state.pop("_head", None):  # a dot of the figure
    st.switch_page("views/attention/page.py", query_params=distance_sentences.head_address(*touched))

from vitcore import figures  # noqa: E402
from vitcore.analysis import attention_distance  # noqa: E402

with st.container(horizontal=True, vertical_alignment="bottom"):
    cls = query_controls.button_row(text, "cls", ["drop", "renormalise"], help=text["cls help"])
    over = query_controls.button_row(text, "over", ["photo", "samples", "folder"])
    progress = st.container(horizontal=True, vertical_alignment="bottom", width="stretch", key="progress")
if vit.structure.axes:
    first.caption(text["axial"])
if not grid.prefix:
    first.caption(text["no class"])
files = None
notes = st.container()  # always: what stands below keeps its place, and is not drawn anew, when something comes or goes
if over == "folder":
    files = notes.file_uploader(text["folder"], photo_picker.FILE_TYPES, "directory", key="folder", max_upload_size=25)
seen, masked = outlier_masking.distances_to_show(visit) if over == "photo" else (rec, "")
if outlier_masking.is_on() and over != "photo":
    masked = texts.prose("outliers")["distances unmasked"]
if masked:
    notes.caption(masked)
if over == "photo":
    with notes:
        outlier_masking.switch_if_any(visit, "distance")
    images, both, spread = 1, (seen.distance_px, seen.distance_renormalised_px, seen.prefix_attention_share), None
else:
    given = [(f.name, f.getvalue()) for f in files or ()] if over == "folder" else sample_photos.sample_files()
    average = average_with_progress(vit, given, progress)
    if average is None:
        st.info(text["choose"])
        st.stop()
    images, both, spread = average.averaged_count, tuple(average.mean_px), average.spread_px
    for problem in average.problems[:5]:
        notes.caption(f":material/broken_image: {texts.escape_markdown(problem)}")
dropped, renormalised, share = both
distance_px = {"drop": dropped, "renormalise": renormalised}[cls]

with aside(key="aside_found"):
    named = distance_sentences.show_headline(dropped, renormalised, cls, grid, text)
fig = figures.attention_distance(
    distance_px,
    grid,
    attention_distance.uniform_distance_px(grid),
    cls,
    images,
    visit.mode,
    prefix_attention_share=share if grid.prefix else None,
)
with lead():
    plot(fig, "distance", text.fill("alt", heads=vit.heads, blocks=vit.blocks), distance_sentences.remember_head)
explain(text["how"], text["limits"])
photos = visit.photo.name if images == 1 else f"{images} photos"
downloads(lambda: fig, "distance", text["how"], subjects=(photos, vit.display_name), distance_px=distance_px, prefix_share=share)
named += distance_sentences.show_details(dropped, renormalised, share, spread if images > 1 else None, cls, grid, text)
distance_sentences.head_links(named, text)
st.dataframe(
    {text["layer"]: range(vit.blocks)} | {text["head"].format(head=h): distance_px[:, h].round(1) for h in range(vit.heads)},
    hide_index=True,
    alt=text["table alt"],
)
