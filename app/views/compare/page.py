"""Compare: two models on one photo, any picture of both on one scale, how they differ, and a number for each (REFERENCE §5)."""

from collections.abc import Callable

import streamlit as st

from app import texts
from app.components.figure import aside
from app.shell import current_visit, query_controls
from app.state.recordings import model_comparisons
from app.views.compare import chart_pairs, map_pairs, model_pickers, summary_and_handout

text = texts.prose("compare")
aside(text["intro"])
pair = model_pickers.choose_pair(current_visit.load_visit(text, record=model_comparisons.recording_with_tokens))
pictures: dict[str, Callable] = {
    "filters": chart_pairs.show_filters,
    "positions": chart_pairs.show_positions,
    "answers": chart_pairs.show_answers,
}
if pair.comparison:
    pictures = {
        "rollout": map_pairs.show_rollout,
        "attention": map_pairs.show_attention,
        "distance": chart_pairs.show_distances,
        "tokens": chart_pairs.show_token_similarity,
    } | pictures
else:
    for one in pair.vits:
        if not one.is_global:
            current_visit.show_undefined(one, text["what"])
if st.session_state.get("picture", "rollout") not in pictures:
    st.session_state["picture"] = next(iter(pictures))
names = "&emsp;".join(f"**{key}** {texts.escape_markdown(name)}" for key, name in zip("AB", pair.names, strict=True))
with aside(names, key="aside_numbers"):
    summary_and_handout.show_numbers(pair)
picture = query_controls.button_row(text, "picture", list(pictures), width="stretch")
pictures[picture](pair, pair.comparison)
summary_and_handout.teacher_note(pair)
summary_and_handout.handout_button(pair)
