"""The model's card: its row of Table 1, a drawing made from the module, what is known of it, and how fast it is here."""

import numpy as np
import streamlit as st

from app import texts
from app.components.figure import figure
from app.furniture import controls, model_card
from app.state import insights, models
from app.views.card import speed, table

text = texts.prose("card")
st.markdown(text["intro"])
vit = controls.model()

from vitcore import figures  # noqa: E402

shape, parts = insights.anatomy(vit.name, vit)
st.markdown(f"## {controls.verbatim(vit.card.title)}")
table.show(shape, vit.card.title, text)
card = models.menu().get(str(st.session_state.get("model")), vit.card)
told, drawn = st.columns([2, 3], gap="large")
with told:
    st.markdown(f"### {text['known']}")
    model_card.show(card, paper=False)
with drawn:
    title = text["drawing"].format(model=vit.card.title)
    fig = figures.architecture(parts, title, controls.theme())
    figure(fig, "architecture", text.fill("drawing alt", count=len(parts)), text["drawing how"], text["drawing limits"],
           of=(vit.called,),
           parameters=np.array([part.params * part.times for part in parts]))  # fmt: skip
model_card.beside_the_papers(card, text)
model_card.made(card, text)
st.markdown(f"## {text['speed title']}")
speed.show(vit, text)
