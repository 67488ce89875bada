"""Questions about patches of pixels: which one lies there, and how they are counted."""

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from vitcore.grid import Grid
from vitcore.quiz import question_pictures
from vitcore.quiz.colour_difference import APART, apart
from vitcore.quiz.question import LETTERS, Choice, Picture, Question, judged
from vitcore.quiz.quiz_data import SIDE_PX, Material
from vitcore.translation import say

TRIES = 40  # draws of places, before a kind of question gives up


def crop(m: Material, rng: Generator) -> Question | None:
    """Which of four patches is the one that is outlined on the photo?"""
    grid = m.vit.patches
    if grid is None or grid.patches < 4:
        return None
    parts = grid.cut(m.rec.model_input.pixels)
    places = unlike(parts, rng)
    if len(places) < 4:
        return None
    asked = places[int(rng.integers(4))]
    choices = [
        Choice("", apart(parts[place], parts[asked]), _place(m, place),
               Picture(question_pictures.enlarged(parts[place]), say("A patch, enlarged"), photo=False))
        for place in places
    ]  # fmt: skip
    row, col = grid.row_col(asked)
    why = say("It is patch {patch}, row {row} and column {col}: {count} numbers, three for each of its {high} × {wide} pixels.",
              patch=asked, row=row, col=col, count=parts[asked].size, high=parts.shape[1], wide=parts.shape[2])  # fmt: skip
    shown = Picture(question_pictures.outlined(m.own.picture, asked, grid), say("The photo with one patch outlined"))
    return judged(
        "crop", say("Which of these patches is the one outlined in the photo?"), choices, why, least=APART,
        lowest=True, page="patches", address={"patch": asked}, pictures=[shown],
    )  # fmt: skip


def unlike(parts: NDArray[np.uint8], rng: Generator, count: int = 4) -> list[int]:
    """The first `count` patches, in an order drawn, of which any two look different; fewer where there are not so many."""
    chosen: list[int] = []
    for place in rng.permutation(len(parts)):
        if len(chosen) < count and all(apart(parts[place], parts[other]) >= APART for other in chosen):
            chosen.append(int(place))
    return chosen


def number(m: Material, rng: Generator) -> Question | None:
    """Which of four places has this number, counted in reading order? One of them is where counting by columns would lead."""
    grid = m.vit.patches
    if grid is None or grid.patches < 9:
        return None
    for _ in range(TRIES):
        asked = int(rng.integers(grid.patches))
        by_columns = grid.patch(asked % grid.rows, asked // grid.rows)
        places = [asked, by_columns, *(int(place) for place in rng.permutation(grid.patches)[:2])]
        if len(set(places)) < 4 or not question_pictures.apart(places, grid, SIDE_PX):
            continue
        places = [places[i] for i in rng.permutation(4)]
        choices = [
            Choice(letter, abs(place - asked), _place(m, place)) for letter, place in zip(LETTERS, places, strict=True)
        ]
        row, col = grid.row_col(asked)
        why = say("{row} full rows of {cols} patches come before its row, and {col} patches before it in its row: "
                  "{row} · {cols} + {col} = {patch}.", row=row, col=col, cols=grid.cols, patch=asked)  # fmt: skip
        sentence = say("Patches are counted in reading order, from 0. Which of the four is patch {patch}?", patch=asked)
        return judged(
            "number", sentence, choices, why, least=1, lowest=True, page="patches", address={"patch": asked},
            pictures=[four(m, places, grid)],
        )  # fmt: skip
    return None


def four(m: Material, places: list[int], grid: Grid, outlined: int | None = None) -> Picture:
    """The photo with letters on four patches, and another outlined."""
    photo = m.own.picture if outlined is None else question_pictures.outlined(m.own.picture, outlined, grid)
    return Picture(
        question_pictures.lettered(photo, places, grid), say("The photo with the letters A to D on four patches")
    )


def _place(m: Material, patch: int) -> str:
    grid = m.vit.patches
    assert grid is not None
    row, col = grid.row_col(patch)
    return say("patch {patch}: row {row}, column {col}", patch=patch, row=row, col=col)


def some(rng: Generator, count: int, of: int) -> list[int]:
    """`count` different whole numbers below `of`, in any order; fewer where there are not so many."""
    return [int(one) for one in np.asarray(rng.permutation(of))[:count]]
