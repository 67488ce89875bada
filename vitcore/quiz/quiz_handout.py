"""A quiz to give along: one HTML file that prints on paper, the questions with their pictures, the answers on its last page."""

import shlex
from typing import Any

from vitcore.models.model_cards import DEFAULT_MODEL
from vitcore.quiz.draw_quiz import QUESTION_COUNT, Quiz
from vitcore.quiz.question import LETTERS, Question, QuestionPicture
from vitcore.quiz.quiz_data import QuizMaterial
from vitcore.report import html_page
from vitcore.report.report_numbers import current_time_text, package_versions
from vitcore.report.report_settings import ReportOrigin
from vitcore.translation import say


def quiz_handout(material: QuizMaterial, quiz: Quiz, origin: ReportOrigin | None = None) -> bytes:
    """The quiz as the bytes of a self-contained HTML file; what tells an answer is nowhere before its last page."""
    origin = origin or ReportOrigin()
    credit = origin.credit
    licence = credit.get("licence_url", "")
    made = [
        (say("Photo"), " · ".join(filter(None, (material.photo.title, credit.get("author"), credit.get("licence")))),
         licence if licence.startswith("https://") else ""),
        (say("Model"), material.vit.display_name), (say("Seed"), str(quiz.seed)), (say("Made"), origin.made or current_time_text()),
        (say("Versions"), ", ".join(f"{name} {number}" for name, number in package_versions().items())),
    ]  # fmt: skip
    return html_page.render_html(
        "quiz.html", lang=origin.lang, title=say("Quiz: {photo}", photo=material.photo.title), lead=_quiz_introduction(material,
        quiz), few=fewer_questions_sentence(quiz),
        questions=[_question_facts(question) for question in quiz.questions], letters=LETTERS, made=made, origin=origin,
        answers=[(one.correct_letter, one.explanation, _explanation(one)) for one in quiz.questions],
        command=quiz_command(origin.file or material.rec.photo.name, material.vit.display_name, quiz.seed, material.masked),
    )  # fmt: skip


def _quiz_introduction(material: QuizMaterial, quiz: Quiz) -> str:
    """What a quiz is about, in a sentence."""
    return say("{count} {count:question|questions} about what {model} does with this photo. All answers are computed from its "
        "weights and one forward pass. Layers, heads, patches, rows and columns are counted from 0.",
               count=len(quiz.questions), model=material.vit.card.title)  # fmt: skip


def fewer_questions_sentence(quiz: Quiz) -> str:
    """Why there are fewer questions than usual, where there are."""
    if len(quiz.questions) >= QUESTION_COUNT:
        return ""
    return say("There are fewer than {usual} questions. The others are not defined for this model and photo, or have no clear "
        "answer.",
               usual=QUESTION_COUNT)  # fmt: skip


def quiz_command(photo: str, model: str, seed: int, mask_outliers: bool = False) -> str:
    """The shell command that writes the same quiz."""
    which = [] if model == DEFAULT_MODEL else ["--model", model]
    which += ["--mask-outliers"] if mask_outliers else []
    return shlex.join(["python", "-m", "vitcore", "quiz", photo, *which, "--seed", str(seed), "--out", "quiz.html"])


def choice_labels(question: Question) -> list[tuple[str, str]]:
    """The choices' letters and words; a choice that is a letter on a photo has no words beside it."""
    pairs = zip(LETTERS, question.choices, strict=False)
    return [(letter, "" if choice.words == letter else choice.words) for letter, choice in pairs]


def _question_facts(question: Question) -> dict[str, Any]:
    """A question as the page shows it: nothing in it is of the right choice alone."""
    choices = [
        (letter, words, choice.picture and _image(choice.picture))
        for (letter, words), choice in zip(choice_labels(question), question.choices, strict=True)
    ]
    return {"sentence": question.sentence, "pictures": [_image(one) for one in question.pictures], "choices": choices}


def _explanation(question: Question) -> list[str]:
    return [
        f"{letter}: {choice.number_text}" for letter, choice in zip(LETTERS, question.choices, strict=False) if choice.number_text
    ]


def _image(picture: QuestionPicture) -> html_page.EmbeddedImage:
    return html_page.embed_image(picture.pixels, picture.alt, picture.photo)
