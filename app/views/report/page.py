"""Take it away: a handout, an animation, and a ZIP of everything for many photos; and what a link to a page carries."""

from dataclasses import replace

import streamlit as st

from app import texts
from app.components.copyable_text.copyable_text import copyable_text
from app.shell import copy_link, load_page_visit
from app.state.jobs import report_zip
from app.state.recordings import cached_recordings
from app.views.report import cause_controls, changed_settings, handout_section, zip_section

text = texts.prose("report")
visit = load_page_visit.load_visit(text, needs_attention=True)

changed = st.container()
with st.container(key="take"):
    left, right = st.columns([5, 7], gap="large")
settings = handout_section.rollout_setting_controls(visit)
with st.expander(text["causes"], icon=":material/toggle_off:"), st.container(horizontal=True, vertical_alignment="bottom"):
    causes = cause_controls.cause_controls(visit)
changed_settings.show_changed_settings(visit, settings, causes, changed)
rec = cached_recordings.cached_recording(visit.vit, visit.photo, settings.block(visit.vit.blocks))
fused = replace(visit, recording=cached_recordings.recording_with_fusion(visit.vit, rec, settings.fusion))
with left:
    handout_section.show_handout(fused, settings, causes)
with right:
    handout_section.show_animation(fused, settings)

with st.expander(text["many title"], icon=":material/folder_zip:", expanded=report_zip.has_begun_zip()):
    st.markdown(text["many about"])
    zip_section.show_zip_section(text, visit.vit, settings)
    st.caption(text["shell"])
    copyable_text(handout_section.shell_command(visit.vit, settings), key="shell")
if advice := copy_link.link_limits_advice(text, "report"):
    st.info(advice, icon=":material/link:")
else:
    st.caption(f":material/link: {text['carries all']}")
