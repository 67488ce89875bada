"""What covering does to the answer: a guess, then what becomes of the likeliest class, and what patches by chance do."""

import streamlit as st

from app import texts
from app.state.recordings import covered_photos
from app.views.cover.cover_message import CoverVisit
from app.widgets import guess_question, outlier_masking
from vitcore.models.model_cards import ModelError
from vitcore.translation import percents


def map_titles(names: list[str], lang: str | None = None) -> dict[str, str]:
    """Titles of maps by name, in a language (default: the visitor's)."""
    own, methods = texts.prose("cover", lang), texts.prose("rollout", lang)
    return {name: own["class attention"] if name == covered_photos.CLASS_ATTENTION else methods[f"method.{name}"] for name in names}


def show_covering_question(visit: CoverVisit) -> None:
    """A question to guess first; its answer says what becomes of the likeliest class, and without as many patches by chance.

    Nothing where these patches are covered already, and nobody has guessed: the answer is in sight.
    """
    text, rec, vit, map_name, count, fill = visit.texts, visit.recording, visit.vit, visit.map_name, visit.count, visit.fill
    values = covered_photos.map_by_name(rec, map_name, outlier_masking.is_masking_applied(visit), vit)
    code = covered_photos.encode_ranked_patches(values, count, "strongest", 0, visit.grid)
    key = f"cover {vit.name} {visit.photo.key} {map_name} {count} {fill}"
    if code == visit.covered and not guess_question.has_guessed(key):
        return
    try:
        effect = covered_photos.covering_effect(rec, code, fill, vit)
    except ModelError:
        return  # the last patch must stay: nothing to ask
    still = effect.label_after == effect.label
    by_chance = [covered_photos.random_covering_probability(rec, count, fill, vit)] if guess_question.has_guessed(key) else []
    before, after, *chance = percents(effect.before, effect.after, *by_chance)
    label, now = texts.escape_markdown(effect.label), texts.escape_markdown(effect.label_after)
    facts = {"label": label, "now": now, "before": before, "after": after}
    with st.container(border=True):
        st.markdown(f"## {text['predict title']}")
        st.markdown(text.fill("predict", count=count, map=map_titles([map_name])[map_name], **facts))
        options = [text["guess still"].format(**facts), text["guess other"]]
        beside = text.fill("predict chance", chance=chance[0], count=count) if chance else ""
        answer = text["answer still" if still else "answer other"].format(**facts)
        guess_question.guess_before_answer(key, options, 0 if still else 1, text.join_sentences((answer, beside)))
