"""A quiz is drawn: ten questions by a seed, one of each kind before a second of any, in the order of the story."""

from collections.abc import Callable
from dataclasses import dataclass

from numpy.random import Generator

from vitcore.quiz import head_questions, map_questions, patch_questions, prediction_questions, weight_questions
from vitcore.quiz.question import Question
from vitcore.quiz.quiz_data import Material, generator

QUESTIONS = 10
SEEDS = 1000  # quizzes there are of a photo and a model
Ask = Callable[[Material, Generator], Question | None]
KINDS: tuple[tuple[str, Ask, int], ...] = (  # what it is drawn by, never to be renamed; how often one quiz may ask it
    ("pixels.crop", patch_questions.crop, 2),
    ("pixels.number", patch_questions.number, 2),
    ("weights.component", weight_questions.component, 1),
    ("weights.place_of_tile", weight_questions.place_of_tile, 2),
    ("weights.like_place", weight_questions.like_place, 2),
    ("heads.nearest", head_questions.nearest, 2),
    ("heads.farthest", head_questions.farthest, 2),
    ("heads.nearest_layer", head_questions.nearest_layer, 1),
    ("heads.whose", head_questions.whose, 2),
    ("heads.sink", head_questions.sink, 1),
    ("maps.attended", map_questions.attended, 1),
    ("maps.rollout", map_questions.rollout, 1),
    ("maps.map_of_photo", map_questions.map_of_photo, 1),
    ("maps.photo_of_map", map_questions.photo_of_map, 2),
    ("answers.settles", prediction_questions.settles, 1),
    ("answers.lens_says", prediction_questions.lens_says, 1),
    ("answers.answer", prediction_questions.answer, 1),
    ("answers.photo_for_class", prediction_questions.photo_for_class, 2),
)


@dataclass(frozen=True, eq=False)
class Quiz:
    """The questions a seed drew for a photo and a model: ten, or as many as are defined for them."""

    seed: int
    questions: tuple[Question, ...]


def draw(m: Material, seed: int = 0, count: int = QUESTIONS) -> Quiz:
    """The quiz of a seed: always the same for the same photo and model, and of whatever language the caller speaks."""
    about = (m.rec.photo.digest, m.rec.grid, m.vit.blocks, m.vit.heads)
    drawn: dict[tuple[int, int], Question] = {}
    for again in range(2):
        for kind in generator(seed, "kinds", *about).permutation(len(KINDS)):
            name, ask, most = KINDS[kind]
            if len(drawn) == count or again >= most or (again and (kind, 0) not in drawn):
                continue
            module, _, function = f"vitcore.quiz.{name}".rpartition(
                "."
            )  # as both were called when quizzes were first drawn
            question = ask(m, generator(seed, module, function, again, *about))
            if question and not any(_same(question, other) for other in drawn.values()):
                drawn[int(kind), again] = question
    return Quiz(seed, tuple(drawn[place] for place in sorted(drawn)))


def _same(one: Question, other: Question) -> bool:
    """Whether two questions ask the same."""
    return one.kind == other.kind and one.address == other.address and one.why == other.why
