"""Few photos: what is said of the draws, for two classes and for more, and only what they show."""

import numpy as np
from visitor import App

from app import texts
from app.views.fewshot import findings
from vitcore.train.judging.few_shot_draws import Draws

WORDS = texts.prose("fewshot", "en")
LABELS = np.array([0, 0, 0, 1, 1, 1])


def draws(*answers: list[int]) -> Draws:
    """Draws with these answers, -1 for photos learned from."""
    given = np.array(answers)
    asked = given >= 0
    return Draws(((given == LABELS) & asked).sum(1) / asked.sum(1), given)


def said(of: Draws, names: list[str]) -> str:
    return findings.accuracy(of, of, 1, names, "A model", WORDS)


def test_two_classes_are_named_and_more_are_counted():
    one = draws([-1, 0, 1, -1, 1, 1], [0, -1, 0, 1, -1, 1])
    told = said(one, ["Cat", "Macaw"])
    assert "gets 88% of the other 4 photos right**, telling “Cat” from “Macaw” (" in told and "classes" not in told
    assert "of 3 classes (" in said(one, ["Cat", "Macaw", "Crab"])
    ((place, caption),) = findings.mistaken(one, LABELS, ["Cat", "Macaw"], WORDS)
    assert (place, caption) == (2, "Cat, taken for “Macaw” in 50% of the draws that ask about it")
    ((_, caption),) = findings.mistaken(one, LABELS, ["Cat", "Macaw", "Crab"], WORDS)
    assert caption == "Cat, taken for another class in 50% of the draws that ask about it, most often for “Macaw”"


def test_one_number_is_no_range():
    right = draws([-1, 0, 0, -1, 1, 1])
    assert "(the same whichever photos were drawn)" in said(right, ["Cat", "Macaw"])
    assert findings.mistaken(right, LABELS, ["Cat", "Macaw"], WORDS) == []
    mixed = draws([-1, 0, 1, -1, 1, 1], [-1, 0, 0, -1, 1, 1])
    assert "(76% to 99%, by which photos were drawn)" in said(mixed, ["Cat", "Macaw"])
    nearly = Draws(np.array([0.5] + [1.0] * 99), np.tile(right.answers, (100, 1)))
    assert "(the same in 95 % of the draws)" in said(nearly, ["Cat", "Macaw"])


def test_the_page_with_two_classes():
    app = App("fewshot").fine()
    assert any("of 5 classes" in one for one in app.sentences("markdown"))
    app.set(told_apart_pieces=[0, 1], shots=1).fine()
    assert any("telling “Red panda” from “Chelsea the cat” (" in one for one in app.sentences("markdown"))
