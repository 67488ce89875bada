"""A quiz is drawn: ten questions by a seed, one of each kind before a second of any, in the order of the story."""

from collections.abc import Callable
from dataclasses import dataclass

from numpy.random import Generator

from vitcore.quiz import head_questions, map_questions, patch_questions, prediction_questions, weight_questions
from vitcore.quiz.question import Question
from vitcore.quiz.quiz_data import QuizMaterial, purpose_seeded_generator

QUESTION_COUNT = 10
SEED_COUNT = 1000  # quizzes there are of a photo and a model
QuestionMaker = Callable[[QuizMaterial, Generator], Question | None]
QuestionKind = tuple[str, QuestionMaker, int]  # what it is drawn by, never to be renamed; how often one quiz may ask it
QUESTION_KINDS: tuple[QuestionKind, ...] = (
    ("pixels.crop", patch_questions.outlined_patch_question, 2),
    ("pixels.number", patch_questions.patch_number_question, 2),
    ("weights.component", weight_questions.first_component_question, 1),
    ("weights.place_of_tile", weight_questions.position_map_question, 2),
    ("weights.like_place", weight_questions.similar_position_question, 2),
    ("heads.nearest", head_questions.nearest_head_question, 2),
    ("heads.farthest", head_questions.farthest_head_question, 2),
    ("heads.nearest_layer", head_questions.nearest_layer_question, 1),
    ("heads.whose", head_questions.attending_patch_question, 2),
    ("heads.sink", head_questions.attention_sink_question, 1),
    ("maps.attended", map_questions.most_attended_patch_question, 1),
    ("maps.rollout", map_questions.rollout_map_question, 1),
    ("maps.map_of_photo", map_questions.map_of_photo_question, 1),
    ("maps.photo_of_map", map_questions.photo_of_map_question, 2),
    ("answers.settles", prediction_questions.deciding_layer_question, 1),
    ("answers.lens_says", prediction_questions.logit_lens_question, 1),
    ("answers.answer", prediction_questions.predicted_class_question, 1),
    ("answers.photo_for_class", prediction_questions.photo_for_class_question, 2),
)


@dataclass(frozen=True, eq=False)
class Quiz:
    """The questions a seed drew for a photo and a model: ten, or as many as are defined for them."""

    seed: int
    questions: tuple[Question, ...]


def draw_quiz(material: QuizMaterial, seed: int = 0, count: int = QUESTION_COUNT) -> Quiz:
    """The quiz of a seed: always the same for the same photo and model, and of whatever language the caller speaks."""
    about = (material.rec.photo.digest, material.rec.grid, material.vit.blocks, material.vit.heads)
    drawn: dict[tuple[int, int], Question] = {}
    for again in range(2):
        for kind in purpose_seeded_generator(seed, "kinds", *about).permutation(len(QUESTION_KINDS)):
            name, ask, most = QUESTION_KINDS[kind]
            if len(drawn) == count or again >= most or (again and (kind, 0) not in drawn):
                continue
            module, _, function = f"vitcore.quiz.{name}".rpartition(".")  # as both were called when quizzes were first drawn
            question = ask(material, purpose_seeded_generator(seed, module, function, again, *about))
            if question and not any(_same(question, other) for other in drawn.values()):
                drawn[int(kind), again] = question
    return Quiz(seed, tuple(drawn[place] for place in sorted(drawn)))


def _same(one: Question, other: Question) -> bool:
    return one.kind == other.kind and one.address == other.address and one.explanation == other.explanation
