"""Polls on Live without a browser: a phone is led to the poll's photo, and a lecturer asks about one photo after another."""

import io

from PIL import Image
from visitor import App

from app.server import poll_store
from vitcore.models.model_cards import DEFAULT_MODEL


def shows_live(app: App) -> bool:
    """Whether the page has the model's rollout beside the photo."""
    return any(str(one.proto.id).endswith("-live") for one in app.at.get("bidi_component"))


def test_a_phone_is_led_to_the_poll_s_photo_and_what_it_makes_up_is_refused():
    code = poll_store.open_poll("cat", DEFAULT_MODEL, 256)
    poll = poll_store.find_poll(code)
    phone = App("live", poll=code.lower()).fine()
    assert "asks about another photo" in phone.text("info") and "ballot" not in str(phone.pictures())
    phone.press("poll_photo")
    assert phone.values()["photo"] == "cat" and phone.component("ballot")["selected"] is None
    for tapped in (7, 9, 10**9):
        phone.at.session_state["_vote"] = tapped
        phone.run().fine()
    assert "no such patch" in phone.text("warning") and "patch 9 " in phone.text("success")
    assert not shows_live(phone) and phone.component("ballot")["selected"] == 9 and sum(poll_store.count_votes(poll)) == 1
    poll_store.set_poll_open(code, False)
    assert "takes no more votes" in phone.run().fine().text("warning") and shows_live(phone)
    phone.set(poll="ABCDEFG").fine()
    assert "No poll has this code" in phone.text("warning") and "ballot" not in str(phone.pictures())


def test_a_lecturer_asks_about_one_photo_after_another_but_not_about_an_own_one():
    led = App("patches").press("desk_poll").fine()
    assert "poll_open" in [one.key for one in led.at.button], "Live, with a poll at its top"
    lecturer = App("live", photo="cat").fine().press("to_poll").press("poll_open")
    assert not [field for field in lecturer.at.text_input if field.key == "poll"], "it has a poll, and asks for no code of one"
    assert not shows_live(lecturer), "rollout is the answer to the question"
    code = next(line for line in lecturer.sentences("markdown") if line.startswith("## ")).removeprefix("## ")
    poll = poll_store.find_poll(code)
    assert poll.photo == "cat" and poll.is_open and "The answer is **" in lecturer.text("markdown")
    poll_store.store_vote(poll, "0" * 32, 40)
    lecturer.set(poll_shown=True).fine()
    assert shows_live(lecturer)
    assert lecturer.component("poll_map")["values"][40] == 1 and lecturer.component("poll_map")["overlay"]
    assert "patch 40 · votes <b>1</b>" in str(lecturer.chart("Bars: the patches with most votes"))
    lecturer.set(photo="espresso").fine()
    assert "asks about another photo" in lecturer.text("info")
    lecturer.press("poll_ask")
    assert poll_store.find_poll(code).photo == "espresso" and "0 votes" in lecturer.text("markdown")
    assert not lecturer.values()["poll_shown"], "nobody sees what others choose now"
    file = io.BytesIO()
    Image.new("RGB", (64, 64), "teal").save(file, "PNG")
    lecturer.upload("own.png", file.getvalue()).fine()
    assert "phones can't open yours" in lecturer.text("info") and poll_store.find_poll(code).photo == "espresso"
    lecturer.press("poll_end")
    assert not any(line.startswith("## ") for line in lecturer.sentences("markdown"))
