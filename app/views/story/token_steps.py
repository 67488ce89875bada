"""Steps 4 to 6 of the story: a patch times the filters, its position added, and its place in the sequence."""

from typing import Any

import streamlit as st

from app.components.figure import show_drawing
from app.components.vectors.vectors import vector_row, vectors
from app.state.models import model_weights
from app.state.recordings import cached_block_activations
from app.views.story.pixel_steps import equal_width_sentence
from app.views.story.story_step import StoryStep, StoryVisit
from vitcore import figures
from vitcore.figures.story_steps import patch_projection, token_sequence


def _draw_projection(story: StoryVisit) -> None:
    projected = cached_block_activations.project_patch(story.recording, story.patch, story.vit)
    if projected is None:
        st.info(story.texts["other projection"])
    elif story.vit.hybrid or projected.x_p.shape[-1] != 3:
        rows = [("features", "x_{p}", projected.x_p.ravel()), ("embedding", "x_{p} E", projected.embedding)]
        vectors([_vector_row(story, *row) for row in rows], key="story_products", label=story.texts["embedding"], flat=True)
    else:
        drawn = patch_projection(projected.x_p, projected.filters, projected.bias, story.mode)
        show_drawing(drawn, "story_products", story.fill_text("projection alt"))


def _vector_row(story: StoryVisit, name: str, formula: str, values: Any, sign: str = "") -> dict[str, Any]:
    return vector_row(story.texts[name], formula, values, sign=sign, unit=story.fill_text("of many", count=values.size))


def _projection_kind(story: StoryVisit) -> str:
    projected = cached_block_activations.project_patch(story.recording, story.patch, story.vit)
    return " other" if projected is None else " hybrid" if story.vit.hybrid else ""


def _ask_most_similar(story: StoryVisit) -> tuple[dict[str, Any], int]:
    similarity = cached_block_activations.patch_similarity(story.recording, story.patch)
    return {
        "most": similarity.most_similar, "alike": similarity.most_similar_cosine,
        "least": similarity.least_similar, "unlike": similarity.least_similar_cosine,
        "way": story.texts["to the right" if similarity.is_shifted_right else "to the left"],
        "shifted": similarity.one_pixel_shift_cosine,
    }, 0  # fmt: skip


def _draw_positions(story: StoryVisit) -> None:
    one, place = story.embeddings[story.patch], model_weights.position_embedding(story.vit, story.patch)
    if place is None:
        vectors([_vector_row(story, "embedding", "x_{p} E", one)], key="story_sum", label=story.texts["sum"], flat=True)
        return
    rows = [("embedding", "x_{p} E", one, ""), ("place", "E_{pos}", place, "+"), ("sum", "z_{0}", one + place, "=")]
    vectors([_vector_row(story, *row) for row in rows], key="story_sum", label=story.texts["sum"], flat=True)


def _draw_similarity_tile(story: StoryVisit) -> None:
    if (cosine := model_weights.position_similarity(story.vit.name)) is None:
        return
    title = story.fill_text("tile title")
    show_drawing(figures.position_similarity_tile(cosine, story.grid, story.patch, story.mode, title), "story_tile", title)


def _position_kind(story: StoryVisit) -> str:
    """How its positions came about, as the page of positions tells it."""
    if model_weights.position_similarity(story.vit.name) is None:
        return " none"
    card = story.vit.card
    return " interpolated" if card.interpolated else " taught" if card.teacher else "" if card.data else " unknown"


def _ask_nearest_position(story: StoryVisit) -> tuple[dict[str, Any], int]:
    nearest, grid = model_weights.nearest_position(story.vit.name, story.patch), story.grid
    if nearest is None:
        return {}, 1
    most, alike = nearest
    (row, col), (here, there) = grid.row_col(most), grid.row_col(story.patch)
    near = max(abs(row - here), abs(col - there)) <= 2
    origin = story.texts[f"origin{_position_kind(story) or ' learned'}"]
    facts = {"most": most, "alike": alike, "most_row": row, "most_col": col, "origin": origin}
    return facts, 0 if near else 1


def _draw_sequence(story: StoryVisit) -> None:
    names = tuple(token_name(story, name) for name in story.prefix_names)
    shown = token_sequence(story.patch_pixels, story.grid, names, story.patch, story.mode)
    show_drawing(shown, "story_sequence", story.fill_text("sequence alt"))


def token_name(story: StoryVisit, name: str) -> str:
    """A prefix token's name in the visitor's language."""
    kind, _, number = name.partition(" ")
    return f"{story.texts[f'{kind} token']} {number}".strip()


def token_name_in_sentence(story: StoryVisit, name: str) -> str:
    """A prefix token's name as a sentence has it: "the class token", but "register token 0", which is one of some."""
    return token_name(story, name) if " " in name else story.fill_text("the token", name=token_name(story, name))


def _prefix_kind(story: StoryVisit) -> str:
    names = story.prefix_names
    return " bare" if not names else "" if names == ("class",) else " many" if "class" in names else " registers"


def _ask_first_token(story: StoryVisit) -> tuple[dict[str, Any], int]:
    names = [f"[{token_name(story, name)}]" for name in story.prefix_names]
    return {"names": ", ".join(names)}, 1 if names else 2


def _projection_rows(story: StoryVisit) -> int:
    projected = cached_block_activations.project_patch(story.recording, story.patch, story.vit)
    return int(story.facts["numbers"] if projected is None else projected.x_p.size)


def _projection_sizes(story: StoryVisit) -> str:
    """Which side of E is which: they may be equal."""
    key = "projection hybrid sizes" if _projection_kind(story) == " hybrid" else "projection sizes"
    return story.texts.join_sentences((story.fill_text(key, rows_of_e=_projection_rows(story)), equal_width_sentence(story)))


def _projection_equation(story: StoryVisit) -> str:
    shape = rf"{_projection_rows(story)} \times {story.facts['width']}"
    return rf"x_p^{{{story.patch}}} E \in \mathbb{{R}}^D" + "\n" + rf"E \in \mathbb{{R}}^{{{shape}}}"


def _sum_equation(story: StoryVisit) -> str:
    start = r"x_\mathrm{class};\," if "class" in story.prefix_names else ""
    place = "" if model_weights.position_similarity(story.vit.name) is None else r" + E_\mathrm{pos}"
    tokens = rf"z_0 = [{start} x_p^1 E;\, \cdots;\, x_p^N E]"
    return f"{tokens}\n{place} \\quad (1)" if place else rf"{tokens} \;\, (1)"  # two lines: a projector's column is narrow


def _sequence_equation(story: StoryVisit) -> str:
    grid, width = story.grid, story.facts["width"]
    return rf"z_0 \in \mathbb{{R}}^{{({grid.prefix} + N) \times D}} = \mathbb{{R}}^{{{grid.tokens} \times {width}}}"


TOKEN_STEPS = (
    StoryStep(
        "projection", _projection_equation, _draw_projection, _ask_most_similar, _projection_kind, more_to_read=_projection_sizes
    ),
    StoryStep(
        "position", _sum_equation, _draw_positions, _ask_nearest_position, _position_kind, draw_below_answer=_draw_similarity_tile
    ),
    StoryStep("sequence", _sequence_equation, _draw_sequence, _ask_first_token, _prefix_kind),
)
