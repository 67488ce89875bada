"""Whatever a message says of a page's controls, the page is drawn: with the value that a control had, or its default."""

import json
import logging

import pytest
from visitor import App

from tests.hostile.damage_messages import hostile_messages, said

PAGES = ["overview", "patches", "attention", "tokens", "cover", "switch", "quiz", "story", "train", "bring", "compare"]
MESSAGES = 4  # for each page; all kinds for every control: tests/benchmarks/hostile_messages.py


def controls_of(app: App) -> dict[str, tuple[str, set[str]]]:
    """Type and events of every control of the page, by id."""
    drawn = app.at._session_state._state._new_widget_state.widget_metadata
    return {control: (one.value_type, set(one.callbacks or ())) for control, one in drawn.items()}


def send(app: App, *states) -> App:
    """A message made by hand."""
    from streamlit.proto.WidgetStates_pb2 import WidgetStates

    message = states[0] if isinstance(states[0], WidgetStates) else WidgetStates(widgets=states)
    app.at._run(message)
    return app


@pytest.mark.parametrize("slug", PAGES)
def test_no_message_breaks_a_page(slug, caplog, kinds, offer):
    caplog.set_level(logging.CRITICAL)
    offer(registers=kinds["registers"])
    app = App(slug, model="registers").fine()
    for seed, message in enumerate(hostile_messages(controls_of(app), MESSAGES, seed=len(slug))):
        broken = [f"{e.proto.type}: {e.message} {''.join(e.proto.stack_trace[-2:])}" for e in send(app, message).at.exception]
        assert broken == [], f"{slug}, message {seed}"
        assert app.at.title


def test_a_control_keeps_its_value_and_takes_a_good_one():
    app = App("patches").set(gutter=3)
    ids = {control.rpartition("-")[2]: control for control in controls_of(app)}
    wrong = (("string_value", "7"), ("double_array_value", [float("nan")]), ("double_array_value", [99.0]), ("int_value", 5))
    for field, value in wrong:
        assert send(app, said(ids["gutter"], field, value)).fine().values()["gutter"] in (1, 3), value
    assert send(app, said(ids["gutter"], "double_array_value", [5.0])).fine().values()["gutter"] == 5
    photo = app.values()["photo"]
    send(app, said(ids["gallery__events"], "json_trigger_value", json.dumps({"event": "photo", "value": "no such photo"}))).fine()
    assert app.values()["photo"] == photo
    other = next(one for one in ("red-panda", "cat") if one != photo)
    send(app, said(ids["gallery__events"], "json_trigger_value", json.dumps({"event": "photo", "value": other}))).fine()
    assert app.values()["photo"] == other, "what the gallery really sends"


def test_a_whole_number_is_taken_as_browsers_send_it():
    app = App("positions").fine()
    patch = next(control for control in controls_of(app) if control.endswith("-patch"))
    assert send(app, said(patch, "int_value", 7)).fine().values()["patch"] == 7
