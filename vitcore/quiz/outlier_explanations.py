"""What the answers say of outlier tokens: in which maps they hold much, or that they are masked in all."""

from collections.abc import Sequence

from numpy.typing import NDArray

from vitcore.analysis.outlier_tokens import outliers_in_map
from vitcore.outlier_sentences import masked_outliers_sentence, outlier_sentence
from vitcore.quiz.question import LETTERS
from vitcore.quiz.quiz_data import QuizMaterial, QuizPhoto
from vitcore.translation import say


def outlier_sentence_of_choices(material: QuizMaterial, maps: Sequence[NDArray], photos: Sequence[QuizPhoto] = ()) -> str:
    """What is said of outlier tokens in the choices' maps; empty where they hold much of none."""
    whose = photos or [material.photo] * len(maps)
    if material.masked:
        return masked_outliers_sentence(max(len(one.outliers) for one in whose))
    found = [letter for letter, one, photo in zip(LETTERS, maps, whose, strict=False) if len(outliers_in_map(one, photo.outliers))]
    if not found:
        return ""
    return say("In {count:map|maps} {letters} the brightest patches are outlier tokens, not what the model looks at.",
               count=len(found), letters=", ".join(found))  # fmt: skip


def outlier_sentence_of_map(material: QuizMaterial, values: NDArray, photo: QuizPhoto) -> str:
    """What is said of outlier tokens in one map; empty where they hold little of it."""
    return (
        masked_outliers_sentence(len(photo.outliers))
        if material.masked
        else outlier_sentence(outliers_in_map(values, photo.outliers), material.rec.grid)
    )


def join_explanations(why: str, more: str) -> str:
    """An explanation, and what else is to be said."""
    return f"{why} {more}" if more else why
