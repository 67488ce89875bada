"""The model's card: a drawing made from the module, its numbers, what is known of it, and how fast it is here."""

import streamlit as st

from app import texts
from app.components import light_or_dark
from app.components.figure import figure
from app.shell import load_page_visit
from app.state.models import model_menu, model_weights
from app.state.visit.visit import model_subject
from app.views.card import speed_section, table1_row
from app.widgets import model_card_and_cautions
from vitcore import figures

text = texts.prose("card")
vit = load_page_visit.load_model_or_show_problem()

shape, parts = model_weights.model_summary(vit.name, vit)
card = model_menu.models_by_name().get(str(st.session_state.get("model")), vit.card)
title = text["drawing"].format(model=vit.card.title)
fig = figures.architecture(parts, title, light_or_dark.current_theme())
figure(fig, "architecture", text.fill("drawing alt", count=len(parts)), text["drawing how"], text["drawing limits"],
       subjects=(model_subject(vit),), parameters=[part.params * part.repeats for part in parts])  # fmt: skip
table1_row.show_model_size(shape, text)
table1_row.show_table1_row(shape, vit.card.title, text)
with st.expander(text["known"]):
    model_card_and_cautions.show_model_card(card, with_paper=False)
model_card_and_cautions.show_paper_comparison(card, text)
model_card_and_cautions.show_training_commands(card, text)
st.markdown(f"## {text['speed title']}")
speed_section.show_speed(vit, text)
