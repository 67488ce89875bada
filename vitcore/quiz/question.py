"""A question of a quiz: its sentence, its choices with the number each has, the right one, and why it is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

LETTERS = "ABCD"
MIN_CHOICES = 3  # choices of a question
MIN_PIXEL_DIFFERENCE = 1.0  # of 255, on average over a picture: two choices that differ by less look the same


@dataclass(frozen=True, eq=False)
class QuestionPicture:
    """Pixels (h, w, 3), uint8; of a `photo` they are smooth, else every cell stays sharp. `alt` never tells the answer."""

    pixels: NDArray[np.uint8]
    alt: str
    photo: bool = True


@dataclass(frozen=True, eq=False)
class AnswerChoice:
    """What can be answered: words, a picture, or both; its number decides, and `number_text` says it once the answer is known."""

    words: str
    number: float
    number_text: str
    picture: QuestionPicture | None = None


@dataclass(frozen=True, eq=False)
class Question:
    """A question with three or four choices; `margin` is by how much the right one's number is ahead of the next one's."""

    kind: str
    sentence: str
    choices: tuple[AnswerChoice, ...]
    correct_choice: int
    margin: float
    explanation: str
    page: str  # of the app, where one can see it
    address: Mapping[str, str] = field(default_factory=dict)  # of what that page shows
    pictures: tuple[QuestionPicture, ...] = ()  # beside the sentence

    @property
    def correct_letter(self) -> str:
        """The right choice's."""
        return LETTERS[self.correct_choice]


def make_question(
    kind: str, sentence: str, choices: Sequence[AnswerChoice], explanation: str | Sequence[str], *, min_margin: float, page: str,
    address: Mapping[str, object] | Sequence[Mapping[str, object]] | None = None, pictures: Sequence[QuestionPicture] = (),
    lowest_is_correct: bool = False,
) -> Question | None:  # fmt: skip
    """The question whose right choice has the highest number (or the `lowest_is_correct`).

    Where `explanation` or `address` are several, there is one for each choice.

    None where it cannot be asked: fewer than three choices, two that read or look the same, a number
    that is none, or a margin below `min_margin`.
    """
    if len(choices) < MIN_CHOICES or _alike(choices):
        return None
    numbers = np.array([choice.number for choice in choices], np.float64) * (-1 if lowest_is_correct else 1)
    if not np.isfinite(numbers).all():
        return None
    order = np.argsort(-numbers, kind="stable")
    right, margin = int(order[0]), float(numbers[order[0]] - numbers[order[1]])
    if margin < min_margin:
        return None
    told = explanation if isinstance(explanation, str) else explanation[right]
    where = address if isinstance(address, Mapping) else address[right] if address else {}
    shown = {name: str(value) for name, value in where.items()}
    return Question(kind, sentence, tuple(choices), right, margin, told, page, shown, tuple(pictures))


def _alike(choices: Sequence[AnswerChoice]) -> bool:
    """Whether two choices cannot be told apart."""
    for place, one in enumerate(choices):
        for other in choices[place + 1 :]:
            if one.picture is None or other.picture is None:
                if one.words == other.words:
                    return True
            elif pixel_difference(one.picture.pixels, other.picture.pixels) < MIN_PIXEL_DIFFERENCE:
                return True
    return False


def pixel_difference(first: NDArray[np.uint8], second: NDArray[np.uint8]) -> float:
    """Mean absolute difference of two pictures' bytes; 255 where their shapes differ."""
    if first.shape != second.shape:
        return 255.0
    return float(np.abs(first.astype(np.int16) - second).mean())
