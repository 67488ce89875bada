"""Rollout lab: rollout and relevance methods side by side, their difference, and the build-up layer by layer (App. D.8)."""

import streamlit as st

from app import texts
from app.components.figure import aside, lead
from app.furniture import controls
from app.views.rollout import difference, question, side, through_layers

text = texts.prose("rollout")
first = aside(text["intro"])
vit, photo, rec = controls.current()
if vit.structure.axes:
    first.caption(text["axial"])
if not vit.is_global:
    controls.not_defined(vit, text["what"])
asked, compare = question.asked(text, vit, photo, rec)

unusual = st.container()
if compare:
    one, two = lead().columns(2, gap="large")
    left, right = side.side(asked, "", one, unusual, text["left"]), side.side(asked, "b_", two, unusual, text["right"])
    if left and right:
        difference.difference(asked, left, right)
else:
    one, two = lead().columns([3, 2], gap="large")
    left = side.side(asked, "", one, unusual, beside=two)

if not vit.is_global:
    st.stop()
with st.expander(text["identity title"], icon=":material/help:", key="identity_added"):
    through_layers.identity(asked)
settings = left.settings if left and not left.method.asks_class else {}
st.header(asked.since(text["build-up title"], settings), anchor=question.BUILD_UP)
through_layers.build_up(asked, settings)
