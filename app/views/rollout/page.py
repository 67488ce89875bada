"""Rollout lab: rollout and its build-up layer by layer; another relevance method beside it, and their difference (App. D.8)."""

import streamlit as st

from app import texts
from app.components.figure import picture_container, text_before_picture
from app.menu import page_target
from app.shell import load_page_visit
from app.views.rollout import method_difference, method_panel, rollout_sentences, rollout_through_layers, rollout_visit

text = texts.prose("rollout")
text_before_picture(text["intro"])
visit = load_page_visit.load_visit(text)
vit = visit.vit
if not vit.is_global:
    load_page_visit.show_undefined_picture(vit, text["what"])
one, two = picture_container().columns(2, gap="large")
unusual = st.container()
asked, compare = rollout_visit.rollout_target_controls(visit)
if vit.structure.axes:
    st.caption(text["axial"])

left = method_panel.method_panel(asked, "", one, unusual, text["left"] if compare else "")
right = method_panel.method_panel(asked, "b_", two, unusual, text["right"]) if compare else None
if left and right:
    method_difference.show_difference(asked, left, right)

if not vit.is_global:
    st.stop()
settings = left.settings if left and not left.method.asks_class else {}
with st.container() if compare else two:
    st.header(asked.title_from_layer(text["build-up title"], settings), anchor=rollout_visit.BUILD_UP_ANCHOR)
    rollout_through_layers.show_rollout_per_layer(asked, settings)
if "rollout" in [side.method.name for side in (left, right) if side] and (
    localisation := rollout_sentences.localisation_sentence(asked)
):
    with st.expander(text["localised title"], icon=":material/help:", key="localised"):
        st.markdown(localisation)
with st.expander(text["tested title"], icon=":material/help:", key="tested"):
    st.markdown(rollout_sentences.best_map_sentence(asked))
    st.page_link(page_target("maptests"), label=texts.prose("common")["maps tested"], icon=":material/fact_check:")
with st.expander(text["identity title"], icon=":material/help:", key="identity_added"):
    rollout_through_layers.show_residual_effect(asked)
