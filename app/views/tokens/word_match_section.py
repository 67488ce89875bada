"""Below the page's pictures: typed words beside the photo and its patches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from app import permissions
from app.components.figure import show_drawing, show_explanation_fold
from app.shell import query_controls
from app.state.memory import memory_cache
from app.state.recordings import patch_token_bytes_for_browser
from app.texts import escape_markdown, prose
from vitcore import figures
from vitcore.models.model_cards import ModelError

if TYPE_CHECKING:
    from app.views.tokens.tokens_message import TokensVisit
    from vitcore.tokens.words_and_photos import WordMatch

WORDS, WORD = "words", "word"  # controls: all words, with commas between them, and which of them the map is of
MOST_WORDS, MOST_LETTERS = 10, 200


def show_word_match(visit: TokensVisit) -> None:
    """The words, zero-shot answers among them, and where in the photo the chosen one is; nothing for other models."""
    text, vit = visit.texts, visit.vit
    if not patch_token_bytes_for_browser.learned_from_texts(vit):
        return
    st.markdown(f"## {text['words title']}")
    if not permissions.is_allowed("downloads"):
        st.info(permissions.why_not_allowed("downloads"), icon=":material/info:")
        return
    given = st.text_input(text[WORDS], key=WORDS, bind="query-params", max_chars=MOST_LETTERS, help=text["words help"])
    words = tuple(dict.fromkeys(one.strip() for one in (given or "").split(",") if one.strip()))[:MOST_WORDS]
    if not words:
        return
    try:
        with st.spinner(text["words loading"], show_time=True):
            found = patch_token_bytes_for_browser.word_match(visit.recording, words, vit)
    except (ModelError, memory_cache.MemoryBudgetError) as error:
        st.info(escape_markdown(str(error) or prose("common")["no room now"]), icon=":material/info:")
        return
    _show_found(visit, found)


def _show_found(visit: TokensVisit, found: WordMatch) -> None:
    text, grid = visit.texts, visit.grid
    left, right = st.columns(2, gap="large")
    with left:
        answers = sorted(zip(found.words, found.probabilities.tolist(), strict=True), key=lambda one: -one[1])
        show_drawing(figures.predictions(answers, visit.mode, text["words answers"]), "words_answers", text["words answers"])
    if found.patches is not None:
        with right:
            place = query_controls.slider(text["word"], WORD, 0, len(found.words) - 1, 0)
            values = patch_token_bytes_for_browser.word_match_above_mean(found.patches[place])
            title = text["words map"].format(word=found.words[place])
            drawn = figures.relevance(values, visit.input_picture, grid, title, text["words unit"], signed=True, mode=visit.mode)
            show_drawing(drawn, "words_map", title)
    show_explanation_fold(text["words how"], text["words limits"], text["words source"])
