"""Test the maps: deletion and insertion, random weights, stability, and agreement with outlines that people drew."""

import streamlit as st

from app import texts
from app.components.figure import aside, lead
from app.shell import copy_link, current_visit, query_controls
from app.state.jobs import map_tests
from app.state.recordings import covered_photos
from app.views.maptests import deletion_section, other_tests

FILLS = ("removed", "mean", "blur")

text = texts.prose("maptests")
aside(text["intro"])
visit = current_visit.load_visit(text, needs_colours=True)
if problem := map_tests.why_not(visit.vit):
    st.info(texts.escape_markdown(problem), icon=":material/info:")
    st.stop()

charts = lead()
why = covered_photos.why_not_removable(visit.vit)
with st.container(horizontal=True, vertical_alignment="bottom", key="maptests_controls"):
    curve = query_controls.button_row(text, "test_curve", ["deletion", "insertion"], help=text["test_curve help"])
    fill = query_controls.button_row(text, "test_fill", [one for one in FILLS if one != "removed" or not why])
    progress = st.container(horizontal=True, vertical_alignment="bottom", width="stretch", key="maptests_progress")
if why:
    st.caption(texts.escape_markdown(why))
copy_link.offer_handout(deletion_fill=fill)
deletion_section.show_photo(visit, fill, curve == "insertion", charts, progress)
if map_tests.has_shipped_tests(visit.vit):
    st.header(text["ranking title"], anchor="ranking")
    deletion_section.show_ranking(visit, fill)
else:
    deletion_section.show_command(visit, fill)
st.header(text["weights title"], anchor="weights")
other_tests.show_weights(visit)
st.header(text["stability title"], anchor="stability")
other_tests.show_stability(visit)
st.header(text["outlines title"], anchor="outlines")
other_tests.show_outlines(visit)
