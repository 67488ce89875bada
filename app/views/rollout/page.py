"""Rollout lab: rollout and relevance methods side by side, their difference, and the build-up layer by layer (App. D.8)."""

import streamlit as st

from app import texts
from app.components.figure import aside, lead
from app.shell import current_visit
from app.views.rollout import build_up, map_difference, method_panel, rollout_visit

text = texts.prose("rollout")
first = aside(text["intro"])
visit = current_visit.load_visit(text)
vit = visit.vit
if vit.structure.axes:
    first.caption(text["axial"])
if not vit.is_global:
    current_visit.show_undefined(vit, text["what"])
asked, compare = rollout_visit.request_controls(visit)

unusual = st.container()
if compare:
    one, two = lead().columns(2, gap="large")
    left, right = (
        method_panel.method_panel(asked, "", one, unusual, text["left"]),
        method_panel.method_panel(asked, "b_", two, unusual, text["right"]),
    )
    if left and right:
        map_difference.show_difference(asked, left, right)
else:
    one, two = lead().columns([3, 2], gap="large")
    left = method_panel.method_panel(asked, "", one, unusual, settings_place=two)

if not vit.is_global:
    st.stop()
with st.expander(text["identity title"], icon=":material/help:", key="identity_added"):
    build_up.show_residual_effect(asked)
settings = left.settings if left and not left.method.asks_class else {}
st.header(asked.title_from_layer(text["build-up title"], settings), anchor=rollout_visit.BUILD_UP_ANCHOR)
build_up.show_build_up(asked, settings)
