"""Compare: two models on one photo, or on one each: any picture of both on one scale, and how they differ (REFERENCE §5)."""

from collections.abc import Callable

import streamlit as st

from app import texts
from app.shell import load_page_visit, query_controls
from app.state.recordings import model_comparisons
from app.views.compare import (
    chart_pairs,
    comparison_handout_section,
    map_pair_settings,
    model_pickers,
    preset_cards,
    similarity_numbers,
)
from app.views.compare.model_pair import ControlPlaces

text = texts.prose("compare")
visit = load_page_visit.load_visit(text, record=model_comparisons.recording_with_tokens)
problem_place, picture_place = st.container(), st.container()
model_row = st.container(horizontal=True, vertical_alignment="bottom")
number_place, kind_row = st.container(), st.container()
picture_row = st.container(horizontal=True, vertical_alignment="bottom")
rest, cards = st.container(), st.container(key="ready")
pair, settings = model_pickers.show_pickers_and_load_pair(visit, model_row, problem_place)
pictures: dict[str, Callable] = {
    "filters": chart_pairs.show_filters,
    "positions": chart_pairs.show_positions,
    "answers": chart_pairs.show_top_classes,
}
if pair.comparison:
    pictures = {
        "rollout": map_pair_settings.show_rollout,
        "attention": map_pair_settings.show_attention,
        "distance": chart_pairs.show_distances,
        "tokens": chart_pairs.show_token_similarity,
    } | pictures
else:
    for one in pair.vits:
        if not one.is_global:
            with problem_place:
                load_page_visit.show_undefined_picture(one, text["what"])
if st.session_state.get("picture", "rollout") not in pictures:
    st.session_state["picture"] = next(iter(pictures))
with kind_row:
    picture = query_controls.button_row(text, "picture", list(pictures))
with number_place:
    similarity_numbers.show_similarity_numbers(pair)
with picture_place:
    similarity_numbers.show_answers_and_grid(pair, picture)
    pictures[picture](pair, pair.comparison, ControlPlaces(picture_row, settings, rest))
with cards:
    preset_cards.show_preset_cards(text, visit.vit)
similarity_numbers.show_teacher_note(pair)
comparison_handout_section.comparison_handout_button(pair)
