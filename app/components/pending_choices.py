"""What is chosen on a picture stays chosen, whatever else is touched while Python still answers.

A choice sets a control. Something else that is touched before the browser has heard of that arrives with every control's
value as the browser knows it, and with its address: the control would be what it was before, and the address that Python
sends for one choice would take out of it what was touched meanwhile. So a choice is kept until the browser tells it back.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import streamlit as st

from app.components.component_files import translated_component

PENDING_STATE = "_choices"  # control → the choice that the browser has not told back
LAST_STATE = "_choices_last"  # what every control was when a run last looked, and which of them the address held
FRAME_STATE = "_choices_frame"  # whether the controls around a page have been drawn in this run
RACING_STATE = "_choices_racing"  # whether the browser asked for this run before it had heard of a choice


class PendingChoice(NamedTuple):
    """A control that a picture has set: all that it was meanwhile, what it became, and whether a run has drawn it since."""

    earlier_values: tuple[Any, ...]  # the browser may know the control as any of these
    value: Any
    is_drawn: bool = False


def set_control(control: str, value: Any) -> None:
    """Set a control from a component's callback, which has seen to it that the control has this option."""
    pending = st.session_state.setdefault(PENDING_STATE, {})
    before = pending[control].earlier_values if control in pending else ()
    pending[control] = PendingChoice((*before, st.session_state.get(control)), value)
    st.session_state[control] = value


def choice_component(
    name: str, labels: tuple[str, ...], data: dict[str, Any], *, key: str, on_choice: Callable[[dict[str, Any]], None]
) -> None:
    """Draw a component whose first words are those `labels` of data["words"]; `on_choice` is given what is chosen in it, by name.

    Python tells the browser by `n` which of its choices have come (`pending_choices.js`).
    """

    def chosen() -> None:
        given = st.session_state[key].chosen
        if isinstance(given, dict):
            st.session_state[f"{key}_n"] = int(given.get("n") or 0)
            on_choice(given)

    words = {label.replace(" ", "_"): data["words"][label] for label in labels}
    sent = data | {"n": st.session_state.get(f"{key}_n", 0)}
    translated_component(name, **words)(data=sent, key=key, on_chosen_change=chosen)


def apply_choices(choices: dict[str, Any], targets: Mapping[str, str], converters: Mapping[str, Callable[[Any], Any]]) -> None:
    """What a picture has told goes to the controls `targets`, by choice; `converters` make of each a value, but of none at all."""
    for choice, control in targets.items():
        if choice in choices:
            set_control(control, None if choices[choice] is None else converters[choice](choices[choice]))


def restore_pending_choices(*bound: str, another_page: bool = False) -> None:
    """Before a run draws its controls: what the browser had not heard of when it asked for this run is set again.

    A control that is neither what it was nor what was chosen has been touched since; that counts. One that is what it was
    before has been touched if nothing else has: one touch, one run. What of `bound` has been touched, and of all controls
    what the address held, is written into the address again if it is not there any more.
    """
    pending, (last, in_address) = st.session_state.get(PENDING_STATE, {}), st.session_state.get(LAST_STATE, ({}, set()))
    now, address = _control_values(), set(st.query_params)
    reverted = {
        one for one, choice in pending.items() if one in now and now[one] in choice.earlier_values and now[one] != choice.value
    }
    others = {one for one in last.keys() & now.keys() - pending.keys() if now[one] != last[one]}
    drawn = [choice.is_drawn for choice in pending.values()]
    touched = len(reverted) == 1 and not others and not another_page and all(drawn)
    restored: dict[str, Any] = {}
    for control, choice in list(pending.items()):
        if control in reverted and not touched:
            restored[control] = choice.value
            pending[control] = choice._replace(is_drawn=False)
        elif choice.is_drawn or control not in now or now[control] != choice.value:
            del pending[control]
    if reverted:
        st.session_state[RACING_STATE] = True
    if not another_page:
        lost = {one for one in in_address if now.get(one) == last[one]} | (others & {*bound} if reverted or any(drawn) else set())
        # Streamlit writes what is set into the address, unless it is the default
        restored |= {one: now[one] for one in lost & now.keys() - pending.keys() - address}
    if st.session_state.get(FRAME_STATE):  # Streamlit lets nobody set what has been drawn in this run
        restored = {control: value for control, value in restored.items() if control in bound}
    for control, value in restored.items():
        st.session_state[control] = value
    _remember_values(now | restored, address)


@contextmanager
def drawing_page_frame() -> Iterator[None]:
    """While a page is drawn inside its frame: a part of it that also runs on its own restores its own controls alone."""
    st.session_state[FRAME_STATE] = True
    try:
        yield
    finally:
        st.session_state.pop(FRAME_STATE, None)


def mark_controls_drawn(*controls: str) -> None:
    """Once these controls (or all of a page) have been drawn."""
    pending = st.session_state.get(PENDING_STATE, {})
    for control in controls or list(pending):
        if control in pending:
            pending[control] = pending[control]._replace(is_drawn=True)
    if controls:
        return
    _remember_values(_control_values(), set(st.query_params))
    if st.session_state.pop(RACING_STATE, False):
        st.query_params.update()  # sends it: one that an earlier run has sent may reach the browser after what it told


def _control_values() -> dict[str, Any]:
    plain = (int, float, str, type(None))
    state = st.session_state.to_dict()
    return {key: value for key, value in state.items() if not key.startswith("_") and isinstance(value, plain)}


def _remember_values(controls: dict[str, Any], address: set[str]) -> None:
    st.session_state[LAST_STATE] = (controls, controls.keys() & address)
