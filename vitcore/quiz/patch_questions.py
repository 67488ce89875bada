"""Questions about patches of pixels: which one lies there, and how they are counted."""

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from vitcore.grid import Grid
from vitcore.quiz import question_pictures
from vitcore.quiz.colour_difference import MIN_COLOUR_DIFFERENCE, colour_difference
from vitcore.quiz.question import LETTERS, AnswerChoice, Question, QuestionPicture, make_question
from vitcore.quiz.quiz_data import SIDE_PX, QuizMaterial
from vitcore.translation import say

MAX_DRAWS = 40  # draws of places, before a kind of question gives up


def outlined_patch_question(material: QuizMaterial, rng: Generator) -> Question | None:
    """Which of four patches is the one that is outlined on the photo?"""
    grid = material.vit.patches
    if grid is None or grid.patches < 4:
        return None
    parts = grid.cut(material.rec.model_input.pixels)
    places = different_patches(parts, rng)
    if len(places) < 4:
        return None
    asked = places[int(rng.integers(4))]
    choices = [
        AnswerChoice("", colour_difference(parts[place], parts[asked]), _patch_place_words(material, place),
               QuestionPicture(question_pictures.enlarge_pixels(parts[place]), say("A patch, enlarged"), photo=False))
        for place in places
    ]  # fmt: skip
    row, col = grid.row_col(asked)
    why = say("It is patch {patch}, row {row} and column {col}: {count} numbers, three for each of its {high} × {wide} pixels.",
              patch=asked, row=row, col=col, count=parts[asked].size, high=parts.shape[1], wide=parts.shape[2])  # fmt: skip
    shown = QuestionPicture(
        question_pictures.outline_patch(material.photo.picture, asked, grid), say("The photo with one patch outlined")
    )
    return make_question(
        "crop", say("Which of these patches is the one outlined in the photo?"), choices, why, min_margin=MIN_COLOUR_DIFFERENCE,
        lowest_is_correct=True, page="patches", address={"patch": asked}, pictures=[shown],
    )  # fmt: skip


def different_patches(patches: NDArray[np.uint8], rng: Generator, count: int = 4) -> list[int]:
    """The first `count` patches, in an order drawn, of which any two look different; fewer where there are not so many."""
    chosen: list[int] = []
    for place in rng.permutation(len(patches)):
        if len(chosen) < count and all(
            colour_difference(patches[place], patches[other]) >= MIN_COLOUR_DIFFERENCE for other in chosen
        ):
            chosen.append(int(place))
    return chosen


def patch_number_question(material: QuizMaterial, rng: Generator) -> Question | None:
    """Which of four places has this number, counted in reading order? One of them is where counting by columns would lead."""
    grid = material.vit.patches
    if grid is None or grid.patches < 9:
        return None
    for _ in range(MAX_DRAWS):
        asked = int(rng.integers(grid.patches))
        by_columns = grid.patch(asked % grid.rows, asked // grid.rows)
        places = [asked, by_columns, *(int(place) for place in rng.permutation(grid.patches)[:2])]
        if len(set(places)) < 4 or not question_pictures.are_letters_apart(places, grid, SIDE_PX):
            continue
        places = [places[i] for i in rng.permutation(4)]
        choices = [
            AnswerChoice(letter, abs(place - asked), _patch_place_words(material, place))
            for letter, place in zip(LETTERS, places, strict=True)
        ]
        row, col = grid.row_col(asked)
        why = say("{row} full rows of {cols} patches come before its row, and {col} patches before it in its row: "
                  "{row} · {cols} + {col} = {patch}.", row=row, col=col, cols=grid.cols, patch=asked)  # fmt: skip
        sentence = say("Patches are counted in reading order, from 0. Which of the four is patch {patch}?", patch=asked)
        return make_question(
            "number", sentence, choices, why, min_margin=1, lowest_is_correct=True, page="patches", address={"patch": asked},
            pictures=[four_patches_picture(material, places, grid)],
        )  # fmt: skip
    return None


def four_patches_picture(
    material: QuizMaterial, places: list[int], grid: Grid, outlined_patch: int | None = None
) -> QuestionPicture:
    """The photo with letters on four patches, and another outlined."""
    photo = material.photo.picture
    if outlined_patch is not None:
        photo = question_pictures.outline_patch(photo, outlined_patch, grid)
    lettered = question_pictures.letter_patches(photo, places, grid)
    return QuestionPicture(lettered, say("The photo with the letters A to D on four patches"))


def _patch_place_words(material: QuizMaterial, patch: int) -> str:
    grid = material.vit.patches
    assert grid is not None
    row, col = grid.row_col(patch)
    return say("patch {patch}: row {row}, column {col}", patch=patch, row=row, col=col)


def distinct_integers(rng: Generator, count: int, below: int) -> list[int]:
    """`count` different whole numbers below `below`, in any order; fewer where there are not so many."""
    return [int(one) for one in np.asarray(rng.permutation(below))[:count]]
