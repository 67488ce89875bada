"""Take it away: a handout, an animation, and a ZIP of everything for many photos; and what a link to a page carries."""

import streamlit as st

from app import texts
from app.components.listing.listing import listing
from app.furniture import controls, copy_link
from app.state import session
from app.views.report import many_photos, parts

text = texts.prose("report")
st.markdown(text["intro"])
vit, photo, rec = controls.current(controls.LAST, needs=text["what"])

st.markdown(f"## {text['one title']}")
asked = parts.settings(text, vit)
rec = session.fused(vit, rec, asked.fusion)
left, right = st.columns(2, gap="large")
with left:
    parts.handout(text, vit, photo, rec, asked, "report")
with right:
    parts.animation(text, vit, photo, rec, asked)

st.markdown(f"## {text['many title']}")
st.markdown(text["many about"])
many_photos.many(text, vit, asked)
st.caption(text["shell"])
listing(parts.shell(vit, asked), key="shell")

st.markdown(f"## {text['link title']}")
st.markdown(text["link about"])
st.info(copy_link.advised(text, "report") or text["carries all"], icon=":material/link:")
