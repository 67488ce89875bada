"""What is found of a position, in words: which is most like it, its neighbours, mirror patterns, opposite corners."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from app.state.models import model_weights
from vitcore.translation import decimal

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from app.texts import Prose
    from vitcore.models.load_model import Vit


def show_position_sentences(cosine: NDArray, chosen: int, vit: Vit, text: Prose) -> None:
    """The sentences beside the enlarged tile; `cosine` (N, N) of all positions, `chosen` one of them."""
    from vitcore.analysis import position_embeddings

    grid = vit.grid
    most, alike = position_embeddings.most_similar_position(cosine, chosen)
    (row, col), (most_row, most_col) = grid.row_col(chosen), grid.row_col(most)
    here, there = {"chosen": chosen, "row": row, "col": col}, {"most": most, "most_row": most_row, "most_col": most_col}
    st.markdown(text["most similar"].format(**here, **there, cosine=decimal(alike, 3)))
    places = position_embeddings.neighbours(chosen, grid)
    each = [
        text[f"beside {way}"].format(place=places[way], cosine=decimal(near, 3))
        for way, near in position_embeddings.neighbour_cosines(cosine, chosen, grid).items()
    ]
    st.markdown(text["beside"].format(beside=", ".join(each)))
    mirrors = model_weights.mirror_symmetries(vit.name)
    if not mirrors:
        st.markdown(text["mirror none"].format(least=position_embeddings.MIRROR))
    for mirror in mirrors:
        sentence = text[f"mirror {mirror.way}"]
        st.markdown(sentence.format(cosine=decimal(mirror.cosine, 2), elsewhere=decimal(mirror.elsewhere, 2)))
    down, up, mean = position_embeddings.corner_cosines(cosine, grid)
    like = min(down, up) - mean > position_embeddings.MIRROR
    st.markdown(text["corners like" if like else "corners"].format(down=decimal(down, 2), up=decimal(up, 2), mean=decimal(mean, 2)))
    if any(mirror.way == "sides" for mirror in mirrors):
        st.caption(text["mirror why"])
