"""Attention distance: one dot per head over depth, in pixels (Fig. 7 right, App. D.7)."""

import streamlit as st

from app import texts
from app.components.figure import picture_container, show_downloads, show_drawing, show_explanation_fold, text_before_picture
from app.shell import load_page_visit, photo_picker, query_controls
from app.state.photos import sample_photos
from app.state.recordings.distance_table import DistanceTable
from app.views.distance import distance_sentences
from app.views.distance.average_progress import average_with_progress
from app.widgets import outlier_masking
from vitcore import figures

text = texts.prose("distance")
about = text_before_picture(text["intro"])
visit = load_page_visit.load_visit(text, needs_attention=True)
vit, rec, grid = visit.vit, visit.recording, visit.grid

chart = picture_container()
found = text_before_picture(key="aside_found")
with st.container(horizontal=True, vertical_alignment="bottom"):
    cls = query_controls.button_row(text, "cls", ["drop", "renormalise"], help=text["cls help"])
    over = query_controls.button_row(text, "over", ["photo", "samples", "folder"])
    progress = st.container(horizontal=True, vertical_alignment="bottom", width="stretch", key="progress")
if vit.structure.axes:
    about.caption(text["axial"])
if not grid.prefix:
    about.caption(text["no class"])
files = None
notes = st.container()  # always: what stands below keeps its place, and is not drawn anew, when something comes or goes
if over == "folder":
    files = notes.file_uploader(text["folder"], photo_picker.FILE_TYPES, "directory", key="folder", max_upload_size=25)
seen, masked = outlier_masking.distances_masked_if_on(visit) if over == "photo" else (rec, "")
if outlier_masking.is_masking_on() and over != "photo":
    masked = texts.prose("outliers")["distances unmasked"]
if masked:
    notes.caption(masked)
if over == "photo":
    with notes:
        outlier_masking.show_switch_if_outliers(visit, "distance")
    images = 1
    table = DistanceTable(seen.distance_px, seen.distance_renormalised_px, seen.prefix_attention_share, None, grid)
else:
    given = [(f.name, f.getvalue()) for f in files or ()] if over == "folder" else sample_photos.sample_files()
    average = average_with_progress(vit, given, progress)
    if average is None:
        st.info(text["choose"])
        st.stop()
    images = average.averaged_count
    dropped, renormalised, share = average.mean_px
    table = DistanceTable(dropped, renormalised, share, average.spread_px if images > 1 else None, grid)
    for problem in average.problems[:5]:
        notes.caption(f":material/broken_image: {texts.escape_markdown(problem)}")
distance_px = table.dropped if cls == "drop" else table.renormalised

with found:
    named = distance_sentences.show_depth_findings(table, cls, text)
fig = figures.attention_distance(distance_px, grid, table.uniform_px, cls, images, visit.mode, height_px=620,
                                 prefix_attention_share=table.share if grid.prefix else None)  # fmt: skip
with chart:
    show_drawing(fig, "distance", text.fill("alt", heads=vit.heads, blocks=vit.blocks), distance_sentences.open_clicked_head)
photos = visit.subjects[0] if images == 1 else f"{images} photos"
with st.container(horizontal=True):
    show_explanation_fold(text["how"], text["limits"])
    show_downloads(lambda: fig, "distance", text["how"], subjects=(photos, visit.subjects[1]), distance_px=distance_px,
              among_patches_px=table.renormalised, prefix_share=table.share)  # fmt: skip
with st.expander(text["more"]):
    st.markdown(text["paper"])
    named += distance_sentences.show_more_findings(table, cls, text)
    distance_sentences.show_head_links(named, text)
    distance_sentences.show_distance_table(distance_px, text)
