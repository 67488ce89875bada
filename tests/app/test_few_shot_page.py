"""Few photos: what is said of the draws, for two classes and for more, and only what they show."""

import numpy as np
import pytest
from visitor import App

from app import texts
from app.views.fewshot import accuracy_sentences
from vitcore.figures.charts.few_shot import FewShotCurve
from vitcore.train.evaluation.few_shot import FewShotDraws

WORDS = texts.prose("fewshot", "en")
LABELS = np.array([0, 0, 0, 1, 1, 1])


def draws(*answers: list[int]) -> FewShotDraws:
    """Draws with these answers, -1 for photos learned from."""
    given = np.array(answers)
    asked = given >= 0
    return FewShotDraws(((given == LABELS) & asked).sum(1) / asked.sum(1), given)


def test_the_title_counts_what_is_right_and_the_fold_names_the_classes():
    one = draws([-1, 0, 1, -1, 1, 1], [0, -1, 0, 1, -1, 1])
    title = accuracy_sentences.accuracy_title(one, draws([-1, 0, 0, -1, 1, 1]), 1, WORDS)
    assert title == "88 % accuracy on the other 4 photos after training on 1 photo a class (raw pixels: 100 %)"
    for names in (["Cat", "Macaw"], ["Cat", "Macaw", "Crab"]):
        told = accuracy_sentences.method_sentences(one, names, "A model", WORDS)
        assert f"classifies {', '.join(f'“{name}”' for name in names)} from the features of A model." in told
    ((place, caption),) = accuracy_sentences.mistaken_photos(one, LABELS, ["Cat", "Macaw"], WORDS)
    assert (place, caption) == (2, "Photo of “Cat”: misclassified as “Macaw” in 50 % of its draws")
    ((_, caption),) = accuracy_sentences.mistaken_photos(one, LABELS, ["Cat", "Macaw", "Crab"], WORDS)
    assert caption == "Photo of “Cat”: misclassified in 50 % of its draws, mostly as “Macaw”"
    for kind, begins in (("pieces", "Piece of “Cat”: mis"), ("digits", "Digit Cat: mis")):
        assert accuracy_sentences.mistaken_photos(one, LABELS, ["Cat", "Macaw"], WORDS, kind)[0][1].startswith(begins)


def test_one_number_is_no_range():
    def said(of: FewShotDraws) -> str:
        return accuracy_sentences.method_sentences(of, ["Cat", "Macaw"], "A model", WORDS)

    right = draws([-1, 0, 0, -1, 1, 1])
    assert "is the same for every draw of the training photos." in said(right)
    assert accuracy_sentences.mistaken_photos(right, LABELS, ["Cat", "Macaw"], WORDS) == []
    mixed = draws([-1, 0, 1, -1, 1, 1], [-1, 0, 0, -1, 1, 1])
    assert "is 76 % to 99 %, depending on the training photos drawn." in said(mixed)
    nearly = FewShotDraws(np.array([0.5] + [1.0] * 99), np.tile(right.answers, (100, 1)))
    assert "is the same in 95 % of the draws." in said(nearly)


def curve(*ends: tuple[int, int, int]) -> FewShotCurve:
    """Low, mean and high in % at 1, 2, 5 … photos a class."""
    low, mean, high = ([value / 100 for value in row] for row in zip(*ends, strict=True))
    return FewShotCurve("made up", [1, 2, 5][: len(mean)], mean, low, high)


PIXELS = curve((30, 40, 50), (40, 50, 60), (50, 60, 70))


@pytest.mark.parametrize(("model", "begins"), [
    (curve((60, 65, 70), (70, 75, 80), (80, 85, 90)), "higher than with raw pixels at every count measured here (1, 2, 5 a class)"),
    (curve((45, 65, 70), (70, 75, 80), (80, 85, 90)), "higher than with raw pixels on average at every count"),
    (curve((20, 25, 29), (70, 75, 80), (80, 85, 90)), "higher than with raw pixels from 2 photos a class on, but not with fewer."),
    (curve((20, 39, 45), (70, 75, 80), (80, 85, 90)), "higher than with raw pixels on average from 2 photos a class on"),
    (curve((20, 39, 45), (30, 50, 70), (50, 61, 72)), "higher than with raw pixels on average from 5 photos a class on"),
    (curve((10, 20, 29), (20, 30, 39), (30, 40, 49)), "not higher than with raw pixels at any count measured here (1, 2, 5 a"),
    (curve((20, 40, 45), (30, 50, 70), (50, 60, 72)), "not higher than with raw pixels on average at any count"),
    (curve((60, 65, 70), (20, 30, 39), (80, 85, 90)), ("higher than with raw pixels only at some of the counts measured here. "
     "It is higher with 1, 5 a class, and not with 2.")),
    (curve((60, 65, 70), (70, 75, 80), (20, 30, 60)), "higher than with raw pixels on average only at some"),
])  # fmt: skip
def test_where_the_features_are_better_than_pixels(model, begins):
    told = accuracy_sentences.pixel_comparison(model, PIXELS, WORDS)
    assert told.startswith(f"Accuracy with the model's features is {begins}")


def test_accuracies_that_read_the_same_are_not_called_better():
    one, other = (FewShotCurve("made up", [1], [mean], [mean], [mean]) for mean in (0.504, 0.496))
    assert "is not higher than with raw pixels on average" in accuracy_sentences.pixel_comparison(one, other, WORDS)
    one, other = curve((20, 20, 20), (60, 60, 60)), curve((30, 30, 30), (40, 40, 40))
    assert "from 2 pieces a class on" in accuracy_sentences.pixel_comparison(one, other, WORDS, "pieces")


def test_the_page_says_how_pixels_do_and_which_photo_is_mistaken_and_names_the_classes(kinds, offer):
    offer(registers=kinds["registers"])
    app = App("overview", model="registers").go("fewshot").fine()
    assert "raw pixels: " in app.text("markdown") and app.text("caption").count("“Scarlet macaw”") >= 1
    app.set(told_apart_pieces=[0, 1], shots=1).fine()
    assert "classifies “Red panda”, “Chelsea the cat” from" in app.text("caption")
    app.set(examples="digits").fine()
    assert sum("the model's features is" in one and "higher than with raw pixels" in one for one in app.sentences("caption")) == 1
    captions = [one.caption for image in app.at.get("imgs") + app.at.get("image") for one in image.proto.imgs]
    assert captions and all(one.startswith("Digit ") for one in captions)
