"""Take it away: a handout, an animation, and a ZIP of everything for many photos; and what a link to a page carries."""

import streamlit as st

from app import texts
from app.components.copyable_text.copyable_text import copyable_text
from app.shell import copy_link, current_recording
from app.state.recordings import recordings
from app.views.report import handout_section, zip_section

text = texts.prose("report")
st.markdown(text["intro"])
vit, photo, rec = current_recording.load(current_recording.LAST_BLOCK, needs_attention_for=text["what"])

st.markdown(f"## {text['one title']}")
settings = handout_section.rollout_settings(text, vit)
rec = recordings.with_fusion(vit, rec, settings.fusion)
left, right = st.columns(2, gap="large")
with left:
    handout_section.handout(text, vit, photo, rec, settings, "report")
with right:
    handout_section.animation(text, vit, photo, rec, settings)

st.markdown(f"## {text['many title']}")
st.markdown(text["many about"])
zip_section.show_zip(text, vit, settings)
st.caption(text["shell"])
copyable_text(handout_section.shell_command(vit, settings), key="shell")

st.markdown(f"## {text['link title']}")
st.markdown(text["link about"])
st.info(copy_link.link_advice(text, "report") or text["carries all"], icon=":material/link:")
