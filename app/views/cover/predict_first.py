"""Predict first: is it still the same answer without the patches that a map calls strongest? Chance stands beside it."""

import streamlit as st

from app import texts
from app.state.recordings import covered_photos
from app.state.visit.visit import Visit
from app.views.cover.map_titles import map_titles
from app.widgets import guess, outlier_masking
from vitcore.models.model_cards import ModelError
from vitcore.translation import percent


def show_question(visit: Visit, map_name: str, count: int, fill: str) -> None:
    """A question to guess first; its answer says what becomes of the likeliest class, and without as many patches by chance."""
    text, rec, vit = visit.texts, visit.recording, visit.vit
    values = covered_photos.map_values(rec, map_name, outlier_masking.applies_to(visit), vit)
    code = covered_photos.first_patches(values, count, "strongest", 0, visit.grid)
    try:
        effect = covered_photos.covering_effect(rec, code, fill, vit)
    except ModelError:
        return  # the last patch must stay: nothing to ask
    still = effect.now == effect.label
    facts = {"label": texts.escape_markdown(effect.label), "before": percent(effect.before), "after": percent(effect.after),
             "now": texts.escape_markdown(effect.now)}  # fmt: skip
    with st.container(border=True):
        st.markdown(f"## {text['predict title']}")
        st.markdown(text.fill("predict", count=count, map=map_titles([map_name])[map_name], **facts))
        key = f"cover {vit.name} {visit.photo.key} {map_name} {count} {fill}"
        options = [text["guess still"].format(**facts), text["guess other"]]
        chance = covered_photos.chance_probability(rec, count, fill, vit) if guess.has_guessed(key) else None
        beside = text.fill("predict chance", chance=percent(chance), count=count) if chance is not None else ""
        answer = text["answer still" if still else "answer other"].format(**facts)
        guess.guess_and_answer(key, options, 0 if still else 1, text.joined((answer, beside)))
