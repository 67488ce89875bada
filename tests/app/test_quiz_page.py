"""The page Quiz: vitcore's questions, an answer that nothing on the page holds before it is asked for, a score, and the file."""

import pytest
from visitor import App

from app import texts
from app.state import reports
from app.state.photos import sample_photos
from vitcore.models.model_cards import DEFAULT_MODEL
from vitcore.quiz import draw_quiz, quiz_data
from vitcore.report.report_settings import ReportOrigin

TEXT, MENU = texts.prose("quiz", "en"), texts.prose("menu", "en")


@pytest.fixture(scope="module")
def quiz(shipped):
    return draw_quiz.draw_quiz(quiz_data.make_quiz_material(shipped, sample_photos.SAMPLES / "cat.jpg", 7), 7)


def pick(app: App, place: int, chosen: int) -> App:
    """What an answer leaves; that a click does so, and a key, is for `tests/browser`."""
    me = DEFAULT_MODEL, sample_photos.sample_digest("cat"), 7
    given = app.at.session_state["_quiz_given"][1] if "_quiz_given" in app.at.session_state else {}
    app.at.session_state["_quiz_given"] = me, given | {place: chosen}
    return app.run().fine()


def test_the_page_asks_what_vitcore_asks_and_tells_the_answer_when_it_is_asked_for(quiz):
    app = App("quiz", photo="cat", quiz_seed="7").fine()
    for place in (0, len(quiz.questions) - 1):
        app.set(question=place + 1).fine()
        question, sent = quiz.questions[place], app.component("quiz_choice")
        assert any(question.sentence in said for said in app.sentences("markdown"))
        assert [one["words"] for one in sent["options"]] == ["" if c.words in "ABCD" else c.words for c in question.choices]
        assert sent["right"] is None and not any(one["told"] for one in sent["options"])
        assert not any(question.explanation in said for kind in ("info", "success", "warning") for said in app.sentences(kind))
        sent = app.press("quiz_reveal").component("quiz_choice")
        assert sent["right"] == question.correct_choice
        assert [one["told"] for one in sent["options"]] == [choice.number_text for choice in question.choices]
        (said,) = app.sentences("info")
        assert said == TEXT["it is"].format(letter=question.correct_letter, why=question.explanation)
        assert f"See it: {MENU[question.page]}" in [link.label for link in app.at.get("page_link")]
        assert ("quiz_next" in {button.key for button in app.at.button}) == (place == 0), "none after the last"


def test_right_and_wrong_answers_are_counted_and_another_quiz_begins_anew(quiz):
    app = App("quiz", photo="cat", quiz_seed="7").fine()
    assert "No question is answered yet" in app.text("markdown")
    pick(app, 0, quiz.questions[0].correct_choice)
    assert app.sentences("success") and "1 of 1" in app.text("markdown")
    assert app.press("quiz_next").values()["question"] == 2
    pick(app, 1, (quiz.questions[1].correct_choice + 1) % 3)
    assert app.sentences("warning") and "1 of 2" in app.text("markdown")
    app.press("quiz_another")
    assert app.values()["quiz_seed"] == 8 and app.values()["question"] == 1
    assert "No question is answered yet" in app.text("markdown")
    app.set(lecture=True).fine()
    assert app.component("quiz_choice")["large"] and "answered yet" not in app.text("markdown")


def test_the_file_is_of_the_same_quiz(quiz):
    page = reports.quiz_handout(
        DEFAULT_MODEL, sample_photos.sample_digest("cat"), 7, "cat", ReportOrigin(lang="en"), False
    ).decode()
    assert all(q.sentence.replace("'", "&#39;") in page for q in quiz.questions) and "Chelsea the cat" in page


def test_fewer_questions_are_said(kinds, offer):
    offer(windows=kinds["windows"])
    app = App("quiz", model="windows").fine()
    count = int(app.controls["question"].max)
    assert count < 10 and "fewer than 10" in app.text("caption")


def test_a_link_to_the_quiz_of_a_photo_that_is_not_here_asks_for_it_and_draws_no_other_quiz():
    app = App("quiz", photo="your-photo", quiz_seed="7").fine()
    assert TEXT["photo missing"] in app.sentences("info") and "quiz_seed" not in app.controls
    assert app.press("go_without").values()["quiz_seed"] == 7 and not app.sentences("info")
