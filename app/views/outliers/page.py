"""Outlier tokens: the patches a model keeps other things in, found by their norms, and what attention is without them."""

import streamlit as st

from app import texts
from app.components.figure import aside, figure, lead
from app.furniture import controls
from app.state import insights, session
from app.views.outliers import findings, masking

text = texts.prose("outliers")
aside(text["intro"])
vit, photo, rec = controls.current(needs=text["what"])

from vitcore import figures  # noqa: E402
from vitcore.analysis.outlier_tokens import SCORE, TIMES  # noqa: E402
from vitcore.figures.theme import fitted_to  # noqa: E402
from vitcore.forward.block_activations import prefix_token_names  # noqa: E402

mode, names = controls.theme(), prefix_token_names(vit)
outliers = insights.outliers(rec)
shown = session.shown(rec)[0]
with st.container(horizontal=True, gap="medium", key="found"):
    block = controls.layer(text["block"], vit, vit.blocks - 1, width=300)
    with st.container(key="first_found"):
        findings.first(outliers, rec.grid, text)
with aside(key="aside_layer"):
    findings.of_layer(outliers, block, text)
    findings.others(outliers, names, text)

left, right = lead().columns(2, gap="large")
with left:
    figure(fitted_to(figures.norm_map(outliers, block, shown, rec.grid, mode), masking.WIDE_PX), "norm_map",
           text.fill("map alt", block=block, count=int(outliers.high[block].sum())), text["map how"], text["map limits"],
           of=(photo.name, vit.called),
           norms=outliers.norms, cuts=outliers.thresholds, outliers=outliers.high)  # fmt: skip
with right:
    figure(figures.norm_histogram(outliers, block, names, mode), "norm_histogram", text["histogram alt"].format(block=block),
           text["histogram how"].format(least=TIMES, score=SCORE), text["histogram limits"])  # fmt: skip

st.markdown(f"## {text['depth title']}")
figure(figures.norms_by_depth(outliers, names, mode, block), "norms_by_depth", text["depth alt"], text["depth how"])
masking.layers(vit, photo, rec, text)

st.markdown(f"## {text['masking title']}")
masking.show(vit, photo, rec, block, text)
with st.expander(text["why title"], icon=":material/help:"):
    st.markdown(text["why"])
