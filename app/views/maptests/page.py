"""Test the maps: deletion and insertion, random weights, stability, and agreement with outlines that people drew."""

import streamlit as st

from app import texts
from app.components.figure import picture_container, text_before_picture
from app.shell import copy_link, load_page_visit, query_controls
from app.state.jobs import map_test_jobs
from app.state.recordings import covered_photos
from app.views.maptests import changed_weights_and_photos, deletion_section, gallery_tests

FILLS = ("removed", "mean", "blur")

text = texts.prose("maptests")
text_before_picture(text["intro"])
visit = load_page_visit.load_visit(text, needs_colours=True)
if problem := map_test_jobs.why_not_testable(visit.vit):
    st.info(texts.escape_markdown(problem), icon=":material/info:")
    st.stop()

charts = picture_container()
why = covered_photos.why_not_removable(visit.vit)
with st.container(horizontal=True, vertical_alignment="bottom", key="maptests_controls"):
    curve = query_controls.button_row(text, "test_curve", ["deletion", "insertion"], help=text["test_curve help"])
    fill = query_controls.button_row(text, "test_fill", [one for one in FILLS if one != "removed" or not why])
    progress = st.container(horizontal=True, vertical_alignment="bottom", width="stretch", key="maptests_progress")
if why:
    st.caption(texts.escape_markdown(why))
copy_link.offer_handout(deletion_fill=fill)
deletion_section.show_photo_deletion(visit, fill, curve == "insertion", charts, progress)
if map_test_jobs.has_shipped_tests(visit.vit):
    st.header(text["ranking title"], anchor="ranking")
    gallery_tests.show_gallery_ranking(visit, fill)
else:
    gallery_tests.show_ranking_command(visit, fill)
st.header(text["weights title"], anchor="weights")
changed_weights_and_photos.show_randomisation_test(visit)
st.header(text["stability title"], anchor="stability")
changed_weights_and_photos.show_stability_test(visit)
st.header(text["outlines title"], anchor="outlines")
gallery_tests.show_plausibility_table(visit)
