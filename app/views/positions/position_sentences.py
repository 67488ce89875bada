"""What is found of a position, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from app.state.models import model_weights
from app.state.models.model_weights import PositionFacts
from app.texts import Prose
from vitcore.translation import decimal

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from vitcore.models.load_model import Vit


def show_grid_sentences(model: str, text: Prose) -> None:
    """The most similar pair of all positions; whether those of one row or column are more alike than others as far apart."""
    if pair := model_weights.most_similar_pair(model):
        one, another, most = pair
        st.markdown(text["most similar pair"].format(one=one, other=another, cosine=decimal(most, 3)))
    in_line, others = model_weights.same_line_and_aslant_cosines(model)
    if in_line == in_line:
        same, other = decimal(in_line, 2), decimal(others, 2)
        key = "row and column" if in_line > others and same != other else "row and column alike"
        st.markdown(text[key].format(same=same, other=other, steps=model_weights.PATCHES_APART))


def show_position_sentences(cosines: NDArray, position: int, vit: Vit, text: Prose) -> None:
    """The sentences beside the enlarged tile; `cosines` (N, N) of all positions, `position` one of them."""
    grid, facts = vit.grid, model_weights.position_facts(cosines, position, vit.grid)
    (row, col), (most_row, most_col) = grid.row_col(position), grid.row_col(facts.most_similar)
    here = {"chosen": position, "row": row, "col": col}
    there = {"most": facts.most_similar, "most_row": most_row, "most_col": most_col}
    st.markdown(text.fill("most similar", **here, **there, cosine=decimal(facts.most_similar_cosine, 3)))
    correlation = decimal(model_weights.correlation_with_distance(cosines, grid), 2)
    st.metric(text["correlation"], correlation, help=text["correlation help"])
    with st.expander(text["more"]):
        _show_more_sentences(facts, vit, text)


def _show_more_sentences(facts: PositionFacts, vit: Vit, text: Prose) -> None:
    """The neighbours of the position, the mirror patterns of the whole grid, and its opposite corners."""
    each = [text[f"beside {way}"].format(place=place, cosine=decimal(near, 3)) for way, (place, near) in facts.neighbours.items()]
    st.markdown(text["beside"].format(beside=", ".join(each)))
    mirrors = model_weights.mirror_symmetries(vit.name)
    if not mirrors:
        st.markdown(text["mirror none"].format(least=facts.least_cosine))
    for mirror in mirrors:
        sentence = text[f"mirror {mirror.way}"]
        st.markdown(sentence.format(cosine=decimal(mirror.cosine, 2), elsewhere=decimal(mirror.elsewhere, 2)))
    down, up, mean = facts.corners
    like = min(down, up) - mean > facts.least_cosine
    st.markdown(text["corners like" if like else "corners"].format(down=decimal(down, 2), up=decimal(up, 2), mean=decimal(mean, 2)))
    if any(mirror.way == "sides" for mirror in mirrors):
        st.caption(text["mirror why"])
