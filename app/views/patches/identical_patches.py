"""Patches with the same pixels: what makes them the same token, what tells them apart, and which there are in this photo."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from app.state.models import model_weights
from app.state.recordings import photo_patches
from app.state.visit.visit import Visit
from app.texts import Prose

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from vitcore.models.load_model import Vit

MAX_NAMED = 8  # patches of one kind whose numbers are said


def prefix_phrase(visit: Visit, text: Prose) -> str:
    """What stands before the patches in the sequence, as the end of a sentence; empty where nothing does."""
    if not visit.prefix_names:
        return ""
    return text["before class"] if _class_token_alone(visit) else text.fill("before some", count=len(visit.prefix_names))


def _class_token_alone(visit: Visit) -> bool:
    """Whether all that is no patch is the token the answer is read from."""
    return visit.prefix_names == ("class",) and visit.vit.pooling == "class token"


def token_count_sentence(visit: Visit, patches: int, text: Prose) -> str:
    """How many tokens the model reads, and which of them are no patches; empty where it does not read one token a patch."""
    grid = visit.vit.grid
    if grid.patches != patches:
        return ""
    key = "tokens class" if _class_token_alone(visit) else "tokens" if grid.prefix else "tokens bare"
    return text.fill(key, tokens=grid.tokens, count=patches, before=grid.prefix)


def show_identical_patches(vit: Vit, patches: NDArray, patch: int, width: int, text: Prose) -> None:
    """Said of any model that cuts patches; `patches` are the photo's (N, P, P, C), `width` the numbers of an embedding."""
    sentences = [text["same hybrid" if vit.hybrid else "same"].format(d=width)]
    sentences.append(text["same no positions" if model_weights.position_similarity(vit.name) is None else "same positions"])
    if not vit.hybrid and (others := photo_patches.identical_patches(patches, patch)):
        named = ", ".join(map(str, others[:MAX_NAMED])) + ("…" if len(others) > MAX_NAMED else "")
        sentences.append(text.fill("same here", patch=patch, count=len(others), others=named))
    st.markdown(text.join_sentences(sentences))
