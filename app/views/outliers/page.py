"""Outlier tokens: the patches a model keeps other things in, found by their norms, and what attention is without them."""

from dataclasses import replace

import streamlit as st

from app import texts
from app.components.figure import figure, picture_container, text_before_picture
from app.shell import load_page_visit, query_controls
from app.state.recordings import cached_outliers
from app.views.outliers import masking_effect, outlier_sentences
from vitcore import figures
from vitcore.figures.drawing import fit_figure_to_width

text = texts.prose("outliers")
text_before_picture(text["intro"])
visit = load_page_visit.load_visit(text, needs_attention=True)

mode, names = visit.mode, visit.prefix_names
outliers = cached_outliers.find_outlier_tokens(visit.recording)
left, right = picture_container().columns(2, gap="large")
with text_before_picture(key="aside_found").container(horizontal=True, gap="medium", key="found"):
    block = query_controls.layer_slider(text["block"], visit.vit, visit.vit.blocks - 1, width=300)
    visit = replace(visit, layer=block)
    with st.container(key="first_found"):
        outlier_sentences.show_outlier_summary(outliers, visit.grid, text)
with left:
    norm_map = figures.norm_map(outliers, block, visit.input_picture, visit.grid, mode)
    figure(fit_figure_to_width(norm_map, masking_effect.PICTURE_WIDTH_PX), "norm_map",
           text.fill("map alt", block=block, count=int(outliers.high[block].sum())), text["map how"], text["map limits"],
           subjects=visit.subjects,
           norms=outliers.norms, cuts=outliers.thresholds, outliers=outliers.high)  # fmt: skip
with right:
    how = text["histogram how"].format(least=cached_outliers.TIMES, score=cached_outliers.SCORE)
    figure(figures.norm_histogram(outliers, block, names, mode), "norm_histogram", text["histogram alt"].format(block=block), how,
           text["histogram limits"])  # fmt: skip
with st.expander(text["layer in numbers"]):
    outlier_sentences.show_outliers_after_layer(outliers, block, text)
    outlier_sentences.show_prefix_norms(outliers, names, text)

st.markdown(f"## {text['depth title']}")
figure(figures.norms_by_depth(outliers, names, mode, block), "norms_by_depth", text["depth alt"], text["depth how"])
masking_effect.show_norms_per_layer(visit)

st.markdown(f"## {text['masking title']}")
masking_effect.show_masking_effect(visit)
with st.expander(text["why title"], icon=":material/help:"):
    st.markdown(text["why"])
