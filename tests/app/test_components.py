"""The components of the app: what a person can use has its name before any script has run, a choice is not undone, and what
was sent is there when a slow line asks for it.
"""

import re
from types import SimpleNamespace

import pytest
from nameless_controls import Nameless
from streamlit import runtime
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage
from streamlit.runtime.scriptrunner_utils.exceptions import RerunException
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData
from streamlit.runtime.scriptrunner_utils.script_run_context import RunLocation, ThreadState
from streamlit.runtime.state.safe_session_state import SafeSessionState
from streamlit.testing.v1 import AppTest

from app.components.component_files import SLOTS_PER_PLACE, media_url
from app.components.pending_choices import PENDING_STATE, PendingChoice
from tests.conftest import ROOT


def test_what_has_no_name_is_found():
    bad = "<p><button></button><b>x</b><input><summary> </summary><canvas role='application'></canvas></p>"
    assert Nameless(bad).found == ["button", "input", "summary", "canvas"]
    good = "<button><svg><path d=''/></svg><b>x</b></button><button aria-label='x'></button><canvas></canvas><input hidden>"
    assert Nameless(good).found == []


def test_no_rule_asks_the_whole_page_what_it_holds():
    """`:root:has(…)` styles every element again at every change of any; a page with charts follows its window at twice the cost."""
    asks = re.compile(r"(?:html|:root)[^\s,{>]*:has\(")
    assert asks.search("html:root:not([data-lecture]):not(:has([data-collapsed=true])) div { display: none }")
    sheets = [file for kind in ("css", "html") for file in sorted((ROOT / "app").rglob(f"*.{kind}"))]
    assert len(sheets) > 10 and [file.name for file in sheets if asks.search(file.read_text(encoding="utf-8"))] == []


def script():
    """A control that a component sets, and one that a person touches meanwhile."""
    import streamlit as st

    from app.components.pending_choices import mark_controls_drawn, restore_pending_choices, set_control

    for value in st.session_state.pop("chosen", ()):
        set_control("token", value)
    restore_pending_choices()
    st.number_input("Token", 0, 300, 137, key="token", bind="query-params")
    st.number_input("Kept", 0, 300, 0, key="kept", bind="query-params")
    st.toggle("Other", key="other")
    if not st.session_state.get("broken off"):
        mark_controls_drawn()


@pytest.fixture
def chosen():
    """Where a component has set the token to 74 and the run was broken off before it could tell the browser."""
    at = AppTest.from_function(script).run()
    at.session_state["broken off"] = True
    at.session_state[PENDING_STATE] = {"token": PendingChoice((137,), 74)}  # what `set_control` leaves
    return at


def test_a_choice_survives_a_run_that_is_broken_off(chosen):
    chosen.get_by_key("other").set_value(True)
    assert chosen.run().session_state["token"] == 74
    chosen.session_state["broken off"] = False
    assert chosen.run().session_state["token"] == 74 and chosen.session_state[PENDING_STATE]["token"].is_drawn
    assert chosen.run().session_state["token"] == 74 and not chosen.session_state[PENDING_STATE], "the browser has told it back"
    chosen.query_params["kept"] = "5"
    chosen.get_by_key("kept").set_value(5)
    chosen.run()
    del chosen.query_params["kept"]  # an older address that came late
    assert chosen.run().query_params == {"kept": "5", "token": "74"}, "what was touched while Python wrote the address stays in it"


def test_a_choice_survives_what_is_touched_before_the_browser_has_heard_of_it(chosen):
    chosen.session_state["broken off"] = False
    chosen.get_by_key("token").set_value(74)
    chosen.run()  # the run that answers to the choice, and tells the browser
    assert chosen.session_state[PENDING_STATE]["token"].is_drawn
    for _ in range(2):  # touched twice, each time with the token as it was before
        chosen.get_by_key("other").set_value(not chosen.get_by_key("other").value)
        chosen.get_by_key("token").set_value(137)
        assert chosen.run().session_state["token"] == 74
    chosen.get_by_key("token").set_value(137)
    chosen.session_state[PENDING_STATE] = {"token": PendingChoice((137,), 74, is_drawn=True)}
    assert chosen.run().session_state["token"] == 137, "nothing else was touched, so it was this"


@pytest.mark.parametrize("then", [137, 75])
def test_of_two_quick_choices_the_second_counts_whatever_the_browser_has_heard(then):
    """There and back, or on: a run that is asked for with the first choice, or with what was before it, keeps the second."""
    for heard in (137, 74):
        at = AppTest.from_function(script).run()
        at.session_state["chosen"] = [74]
        assert at.run().session_state["token"] == 74 and at.session_state[PENDING_STATE]["token"].is_drawn
        at.session_state["chosen"], at.session_state["broken off"] = [then], True
        assert at.run().session_state["token"] == then
        at.session_state["broken off"] = False
        at.get_by_key("other").set_value(True)
        at.get_by_key("token").set_value(heard)
        assert at.run().session_state["token"] == then, heard


def test_who_touches_the_control_itself_has_the_last_word(chosen):
    chosen.get_by_key("token").set_value(80)
    assert chosen.run().session_state["token"] == 80
    chosen.session_state["broken off"] = False
    chosen.run()
    chosen.get_by_key("token").set_value(137)
    assert chosen.run().session_state["token"] == 137, "once Python has answered, what it was before is a choice as any other"


def test_what_a_later_run_has_replaced_can_still_be_fetched(monkeypatch):
    files = MemoryMediaFileStorage("/media")
    manager = MediaFileManager(files)
    monkeypatch.setattr(runtime, "get_instance", lambda: SimpleNamespace(media_file_mgr=manager))

    def sent(data: bytes, place: str = "strip") -> str:
        url = media_url(data, "application/octet-stream", place)
        manager.remove_orphaned_files()  # as at the end of a run
        return url

    def there(url: str) -> bool:
        return url.rpartition("/")[2].partition(".")[0] in manager._file_metadata

    other = sent(b"another place", "photo")
    first, second = sent(b"pinned 74"), sent(b"who attends to 74")
    assert there(first) and there(second) and first != second
    assert [sent(b"pinned 74") for _ in range(2 * SLOTS_PER_PLACE)] == [first] * 2 * SLOTS_PER_PLACE
    assert there(second), "it takes no more room"
    later = [sent(b"%d" % i) for i in range(SLOTS_PER_PLACE)]
    assert all(map(there, later)) and there(other)
    assert not there(first) and not there(second) and len(manager._file_metadata) == SLOTS_PER_PLACE + 1


def work_at_a_press():
    """A button whose work is cut short once by another touch, or fails."""
    import streamlit as st

    from app.widgets.button_until_done import button_holding_press

    with button_holding_press("Go", "work", key="go", disabled="disabled" in st.session_state) as is_pressed:
        if is_pressed:
            if "cut" not in st.session_state:
                st.session_state["cut"] = True
                st.rerun()
            st.session_state["done"] = st.session_state.get("done", 0) + 1
            if "fails" in st.session_state:
                raise OSError("the disk is full")


@pytest.mark.parametrize("where", ["in the work", "in the button's callback"])
def test_a_press_is_held_until_its_work_is_done_and_does_it_once(where, monkeypatch):
    at = AppTest.from_function(work_at_a_press).run()
    assert "done" not in at.session_state
    if where == "in the button's callback":
        at.session_state["cut"] = True
        write, cuts = SafeSessionState.__setitem__, []

        def cut_short(state: SafeSessionState, key: str, value: object) -> None:
            if ThreadState.get().run_location is RunLocation.CALLBACK and not cuts:
                cuts.append(key)
                raise RerunException(RerunData())
            write(state, key, value)

        monkeypatch.setattr(SafeSessionState, "__setitem__", cut_short)
    at.get_by_key("go").click()
    at.run()
    assert at.session_state["done"] == 1
    assert at.run().session_state["done"] == 1


def test_a_press_whose_work_failed_or_whose_button_was_disabled_meanwhile_is_forgotten():
    at = AppTest.from_function(work_at_a_press).run()
    at.session_state["cut"] = at.session_state["fails"] = True
    at.get_by_key("go").click()
    assert at.run().exception[0].message == "the disk is full"
    assert not at.run().exception and at.session_state["done"] == 1
    at.get_by_key("go").click()
    at.session_state["disabled"] = True
    at.run()
    del at.session_state["disabled"]
    assert at.run().session_state["done"] == 1
