"""Questions about answers: what the model says, what it would have said earlier, and for which photo it says so."""

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from vitcore.probabilities import probabilities
from vitcore.quiz.patch_questions import distinct_integers
from vitcore.quiz.question import AnswerChoice, Question, QuestionPicture, make_question
from vitcore.quiz.quiz_data import QuizMaterial
from vitcore.translation import percent, say, translated_labels

MIN_PROBABILITY_MARGIN = 0.05  # by which a photo is ahead
MIN_PREDICTION_MARGIN = 0.2  # of the likeliest class's probability, by which it is ahead in the end
LOGIT_LENS_STORY_STEP = 8  # of the story: where the logit lens is
MIN_LOGIT_LENS_MARGIN = 0.1  # of the likeliest class's probability, by which it is ahead at a depth


def predicted_class_question(material: QuizMaterial, rng: Generator) -> Question | None:
    """What is the photo, to the model? The others are its next guesses."""
    return _likeliest_class_question(
        "answer", material, rng, probabilities(material.rec.logits, material.rec.output),
        say("Which class does the model predict for the photo?"),
        "overview", {}, MIN_PREDICTION_MARGIN,
    )  # fmt: skip


def logit_lens_question(material: QuizMaterial, rng: Generator) -> Question | None:
    """What would the model say if it stopped after some block, where that is not what it says in the end?"""
    if material.logit_lens is None:
        return None
    final = int(material.logit_lens[-1].argmax())
    depths = [depth for depth in range(1, len(material.logit_lens) - 1) if material.logit_lens[depth].argmax() != final]
    if not depths:
        return None
    depth = depths[int(rng.integers(len(depths)))]
    sentence = say("What does the logit lens predict after layer {block}, as if the model stopped there?", block=depth - 1)
    return _likeliest_class_question(
        "lens_says", material, rng, material.logit_lens[depth], sentence, "story", {"step": LOGIT_LENS_STORY_STEP},
        MIN_LOGIT_LENS_MARGIN, also=final,
    )  # fmt: skip


def _likeliest_class_question(
    kind: str, material: QuizMaterial, rng: Generator, p: NDArray, sentence: str, page: str, address: dict[str, object],
    least: float,
    also: int | None = None,
) -> Question | None:  # fmt: skip
    """The likeliest of classes, `also` that one, in an order drawn; probabilities are told as shares of the highest."""
    labels = translated_labels(material.vit.labels)
    if len(labels) < 3:
        return None
    order = [int(one) for one in np.argsort(-p, kind="stable")]
    first = order[:4] if also is None or also in order[:4] else [*order[:3], also]
    classes = [first[i] for i in rng.permutation(len(first))]
    choices = [AnswerChoice(labels[one], float(p[one] / p.max()), percent(float(p[one]))) for one in classes]
    return make_question(
        kind, sentence, choices,
        say("It gives “{label}” a probability of {share}, more than any other of its {count} classes.", label=labels[order[0]],
            share=percent(float(p[order[0]])), count=len(labels)),
        min_margin=least, page=page, address=address, pictures=[QuestionPicture(material.photo.picture, say("The photo"))],
    )  # fmt: skip


def deciding_layer_question(material: QuizMaterial, rng: Generator) -> Question | None:
    """From which layer on does the logit lens name the final answer?"""
    p = material.logit_lens
    if p is None or len(p) < 4:
        return None
    final = int(p[-1].argmax())
    rival = np.delete(p, final, 1).max(1)
    lead = (p[:, final] - rival) / np.maximum(p[:, final], rival)  # (L + 1,)
    behind = np.flatnonzero(lead <= 0)
    if not len(behind) or (depth := int(behind[-1]) + 1) >= len(p) or min(-lead[depth - 1], *lead[depth:]) < MIN_LOGIT_LENS_MARGIN:
        return None  # it is the answer from the embeddings on, or hardly is or is not somewhere
    layers = [depth - 1, *(one for one in distinct_integers(rng, len(p) - 1, len(p) - 1) if one != depth - 1)][:4]
    layers, labels = sorted(layers), translated_labels(material.vit.labels)
    choices = [
        AnswerChoice(say("after layer {block}", block=one), -abs(one + 1 - depth),
               f"{labels[int(p[one + 1].argmax())]}: {percent(float(p[one + 1].max()))}")
        for one in layers
    ]  # fmt: skip
    before = int(p[depth - 1].argmax())
    told: dict[str, object] = {
        "label": labels[final], "share": percent(float(p[depth, final])), "other": labels[before],
        "block": depth - 1, "less": percent(float(p[depth - 1, before])),
    }  # fmt: skip
    return make_question(
        "settles",
        say("The logit lens gives a prediction after every layer. From which layer on is it always the final prediction?"),
        choices,
        say("From layer {block} on the prediction is “{label}” ({share}). After the layer before it is “{other}” ({less}).",
            **told),
        min_margin=1, page="story", address={"step": LOGIT_LENS_STORY_STEP}, pictures=[QuestionPicture(material.photo.picture,
        say("The photo"))],
    )  # fmt: skip


def photo_for_class_question(material: QuizMaterial, rng: Generator) -> Question | None:
    """Which of four photos does the model take for this class most surely? Never asked of the quiz's own photo's answer."""
    labels = translated_labels(material.vit.labels)
    if not labels or len(material.other_photos) < 2:
        return None
    photos = [material.photo, *material.other_photos]
    photos = [photos[i] for i in rng.permutation(len(photos))]
    p = np.stack([probabilities(one.logits, material.vit.output) for one in photos])  # (photos, classes)
    mine = int(material.photo.logits.argmax())
    asked = [int(row.argmax()) for one, row in zip(photos, p, strict=True) if one is not material.photo and row.argmax() != mine]
    if not asked:
        return None
    target = asked[int(rng.integers(len(asked)))]
    choices = [
        AnswerChoice("", float(row[target]), percent(float(row[target])), QuestionPicture(one.picture, one.title))
        for one, row in zip(photos, p, strict=True)
    ]
    return make_question(
        "photo_for_class", say("For which photo is the model's probability of “{label}” highest?", label=labels[target]), choices,
        say("The probability of “{label}” is {share} for that photo, and at most {rest} for the others.", label=labels[target],
            share=percent(float(p[:, target].max())), rest=percent(float(np.sort(p[:, target])[-2]))),
        min_margin=MIN_PROBABILITY_MARGIN, page="overview",
    )  # fmt: skip
