"""Questions about what a model holds before it sees a photo: its filters and its position embeddings."""

import numpy as np
from numpy.random import Generator

from vitcore.analysis.filters import components_as_picture
from vitcore.quiz import question_pictures
from vitcore.quiz.patch_questions import MAX_DRAWS, distinct_integers, four_patches_picture
from vitcore.quiz.question import LETTERS, AnswerChoice, Question, QuestionPicture, make_question
from vitcore.quiz.quiz_data import SIDE_PX, QuizMaterial
from vitcore.translation import decimal, percent, say

MAX_COMPONENTS = 28  # the paper's number
MIN_VARIANCE_MARGIN = 0.02  # of it, by which the first component is ahead
MIN_COSINE_MARGIN = 0.1  # by which the answer is ahead


def first_component_question(material: QuizMaterial, rng: Generator) -> Question | None:
    """Which of four filters is the first principal component?"""
    if material.components is None:
        return None
    variance = material.components.variance[:MAX_COMPONENTS]
    behind = np.flatnonzero(variance <= variance[0] - MIN_VARIANCE_MARGIN)
    rest = [int(behind[one]) for one in distinct_integers(rng, 3, len(behind))]
    order = [[0, *rest][place] for place in rng.permutation(1 + len(rest))]
    drawn = components_as_picture(material.components.vectors[:MAX_COMPONENTS])
    choices = [
        AnswerChoice("", float(variance[one]), say("component {number}: {share} of the variance", number=1 + one,
                                             share=percent(variance[one])),
               QuestionPicture(question_pictures.enlarge_pixels(drawn[one]), say("A principal component of the filters"),
               photo=False))
        for one in order
    ]  # fmt: skip
    rooted = material.vit.hybrid or material.vit.patches is None
    sentence = (
        say("Which of these is the first principal component of the model's first convolution, the pattern in which its "
            "filters differ most?")
        if rooted else
        say("Which of these is the first principal component of the embedding filters, the pattern in which they differ most?")
    )  # fmt: skip
    why = say("The first component explains {share} of the variance of all filters, the others {rest}.",
              share=percent(variance[0]), rest=", ".join(percent(variance[one]) for one in rest))  # fmt: skip
    return make_question("component", sentence, choices, why, min_margin=MIN_VARIANCE_MARGIN, page="filters",
        address={"component": 1})  # fmt: skip


def position_map_question(material: QuizMaterial, rng: Generator) -> Question | None:
    """Which of four maps of cosines belongs to the position embedding of the place that is outlined?"""
    grid = material.vit.grid
    if material.position_similarity is None or grid.patches < 4:
        return None
    for _ in range(MAX_DRAWS):
        places = distinct_integers(rng, 4, grid.patches)
        asked = places[int(rng.integers(4))]
        at = [float(material.position_similarity[place, asked]) for place in places]
        if sorted(at)[-2] > 1 - MIN_COSINE_MARGIN:
            continue
        choices = [
            AnswerChoice("", value, say("patch {patch}: {cosine} at the outlined place", patch=place, cosine=decimal(value, 2)),
                   QuestionPicture(question_pictures.cosine_map_picture(grid.to_map(material.position_similarity[place])),
                           say("A map of cosines, red for similar and blue for opposite"), photo=False))
            for place, value in zip(places, at, strict=True)
        ]  # fmt: skip
        why = say("A position embedding has cosine 1 with itself, so its map is 1 at its own place. The others are at most {most} "
            "there.",
                  most=decimal(sorted(at)[-2], 2))  # fmt: skip
        shown = QuestionPicture(
            question_pictures.outline_patch(material.photo.picture, asked, grid), say("The photo with one patch outlined")
        )
        question = make_question(
            "place_of_tile",
            say("Each map compares one position embedding with all others. Red is similar, blue is opposite. Which map "
                "belongs to the outlined place?"),
            choices, why, min_margin=MIN_COSINE_MARGIN, page="positions", address={"patch": asked},
            pictures=[shown],
        )  # fmt: skip
        if question:
            return question
    return None


def similar_position_question(material: QuizMaterial, rng: Generator) -> Question | None:
    """Which of four other places has the position embedding most like that of the outlined one?"""
    grid = material.vit.grid
    if material.position_similarity is None or grid.patches < 9:
        return None
    for _ in range(MAX_DRAWS):
        asked, *rest = distinct_integers(rng, 5, grid.patches)
        if not question_pictures.are_letters_apart([asked, *rest], grid, SIDE_PX):
            continue
        values = [float(material.position_similarity[asked, place]) for place in rest]
        told = sorted(values, reverse=True)
        choices = [
            AnswerChoice(letter, value, say("patch {patch}: cosine {cosine}", patch=place, cosine=decimal(value, 2)))
            for letter, place, value in zip(LETTERS, rest, values, strict=True)
        ]
        why = say("The cosine of the two position embeddings is {most}; with the others it is {rest}.",
                  most=decimal(told[0], 2), rest=", ".join(decimal(value, 2) for value in told[1:]))  # fmt: skip
        question = make_question(
            "like_place",
            say("Which of the four places has the position embedding most similar to that of the outlined place?"),
            choices, why, min_margin=MIN_COSINE_MARGIN, page="positions", address={"patch": asked},
            pictures=[four_patches_picture(material, rest, grid, asked)],
        )  # fmt: skip
        if question:
            return question
    return None
