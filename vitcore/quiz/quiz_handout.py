"""A quiz to give along: one HTML file that prints on paper, the questions with their pictures, the answers on its last page."""

import shlex
from typing import Any

from vitcore.models.model_cards import DEFAULT
from vitcore.quiz.draw_quiz import QUESTIONS, Quiz
from vitcore.quiz.question import LETTERS, Picture, Question
from vitcore.quiz.quiz_data import Material
from vitcore.report import html_page
from vitcore.report.report_numbers import now, versions
from vitcore.report.report_settings import Origin
from vitcore.translation import say


def handout(m: Material, quiz: Quiz, origin: Origin | None = None) -> bytes:
    """The quiz as the bytes of a self-contained HTML file; what tells an answer is nowhere before its last page."""
    origin = origin or Origin()
    credit = origin.credit
    licence = credit.get("licence_url", "")
    made = [
        (say("Photo"), " · ".join(filter(None, (m.own.title, credit.get("author"), credit.get("licence")))),
         licence if licence.startswith("https://") else ""),
        (say("Model"), m.vit.called), (say("Seed"), str(quiz.seed)), (say("Made"), origin.made or now()),
        (say("Versions"), ", ".join(f"{name} {number}" for name, number in versions().items())),
    ]  # fmt: skip
    return html_page.page(
        "quiz.html", lang=origin.lang, title=say("Quiz: {photo}", photo=m.own.title), lead=lead(m, quiz), few=few(quiz),
        questions=[_shown(question) for question in quiz.questions], letters=LETTERS, made=made, origin=origin,
        answers=[(one.letter, one.why, _told(one)) for one in quiz.questions],
        command=command(origin.file or m.rec.photo.name, m.vit.called, quiz.seed, m.masked),
    )  # fmt: skip


def lead(m: Material, quiz: Quiz) -> str:
    """What a quiz is about, in a sentence."""
    return say("{count} {count:question|questions} about what {model} does with this photo. All answers were computed from its "
               "weights and from one pass through it. Layers, heads, patches, rows and columns are counted from 0.",
               count=len(quiz.questions), model=m.vit.card.title)  # fmt: skip


def few(quiz: Quiz) -> str:
    """Why there are fewer questions than usual, where there are."""
    if len(quiz.questions) >= QUESTIONS:
        return ""
    return say("Fewer than {usual}: for this model and photo, other questions are not defined or have no clear answer.",
               usual=QUESTIONS)  # fmt: skip


def command(photo: str, model: str, seed: int, mask_outliers: bool = False) -> str:
    """The shell command that writes the same quiz."""
    which = [] if model == DEFAULT else ["--model", model]
    which += ["--mask-outliers"] if mask_outliers else []
    return shlex.join(["python", "-m", "vitcore", "quiz", photo, *which, "--seed", str(seed), "--out", "quiz.html"])


def labelled(question: Question) -> list[tuple[str, str]]:
    """The choices' letters and words; a choice that is a letter on a photo has no words beside it."""
    pairs = zip(LETTERS, question.choices, strict=False)
    return [(letter, "" if choice.words == letter else choice.words) for letter, choice in pairs]


def _shown(question: Question) -> dict[str, Any]:
    """A question as the page shows it: nothing in it is of the right choice alone."""
    choices = [
        (letter, words, choice.picture and _image(choice.picture))
        for (letter, words), choice in zip(labelled(question), question.choices, strict=True)
    ]
    return {"sentence": question.sentence, "pictures": [_image(one) for one in question.pictures], "choices": choices}


def _told(question: Question) -> list[str]:
    return [
        f"{letter}: {choice.told}" for letter, choice in zip(LETTERS, question.choices, strict=False) if choice.told
    ]


def _image(picture: Picture) -> html_page.Embedded:
    return html_page.image(picture.pixels, picture.alt, picture.photo)
