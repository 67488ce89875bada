"""A quiz is drawn: ten questions by a seed, one of each kind before a second of any, in the order of the story."""

from collections.abc import Callable
from dataclasses import dataclass

from numpy.random import Generator

from vitcore.quiz import answers, heads, maps, pixels, weights
from vitcore.quiz.material import Material, generator
from vitcore.quiz.question import Question

QUESTIONS = 10
SEEDS = 1000  # quizzes there are of a photo and a model
Ask = Callable[[Material, Generator], Question | None]
KINDS: tuple[tuple[Ask, int], ...] = (  # and how often one quiz may ask it
    (pixels.crop, 2), (pixels.number, 2), (weights.component, 1), (weights.place_of_tile, 2), (weights.like_place, 2),
    (heads.nearest, 2), (heads.farthest, 2), (heads.nearest_layer, 1), (heads.whose, 2), (heads.sink, 1), (maps.attended, 1),
    (maps.rollout, 1), (maps.map_of_photo, 1), (maps.photo_of_map, 2), (answers.settles, 1), (answers.lens_says, 1),
    (answers.answer, 1), (answers.photo_for_class, 2),
)  # fmt: skip


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
            ask, most = KINDS[kind]
            if len(drawn) == count or again >= most or (again and (kind, 0) not in drawn):
                continue
            question = ask(m, generator(seed, ask.__module__, ask.__name__, again, *about))
            if question and not any(_same(question, other) for other in drawn.values()):
                drawn[int(kind), again] = question
    return Quiz(seed, tuple(drawn[place] for place in sorted(drawn)))


def _same(one: Question, other: Question) -> bool:
    """Whether two questions ask the same."""
    return one.kind == other.kind and one.address == other.address and one.why == other.why
