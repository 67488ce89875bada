"""What is chosen on a picture stays chosen, whatever else is touched while Python still answers.

A choice sets a control. Something else that is touched before the browser has heard of that arrives with every control's
value as the browser knows it, and with its address: the control would be what it was before, and the address that Python
sends for one choice would take out of it what was touched meanwhile. So a choice is kept until the browser tells it back.
"""

from typing import Any, NamedTuple

import streamlit as st

KEY = "_choices"  # control → the choice that the browser has not told back
LAST = "_choices_last"  # what every control was when a run last looked, and which of them the address held
RACING = "_choices_racing"  # whether the browser asked for this run before it had heard of a choice


class Choice(NamedTuple):
    """A control that a picture has set: what it was, what it became, and whether a run has drawn it since."""

    before: Any
    value: Any
    drawn: bool = False


def choose(control: str, value: Any) -> None:
    """Set a control from a component's callback."""
    open_ = st.session_state.setdefault(KEY, {})
    before = open_[control].before if control in open_ else st.session_state.get(control)
    open_[control] = Choice(before, value)
    st.session_state[control] = value


def hold(*bound: str, another_page: bool = False) -> None:
    """Before a run draws its controls: what the browser had not heard of when it asked for this run is set again.

    A control that is neither what it was nor what was chosen has been touched since; that counts. One that is what it was
    before has been touched if nothing else has: one touch, one run. What of `bound` has been touched, and of all controls
    what the address held, is written into the address again if it is not there any more.
    """
    open_, (last, in_address) = st.session_state.get(KEY, {}), st.session_state.get(LAST, ({}, set()))
    now, address = _controls(), set(st.query_params)
    back = {one for one, choice in open_.items() if one in now and now[one] == choice.before != choice.value}
    others = {one for one in last.keys() & now.keys() - open_.keys() if now[one] != last[one]}
    drawn = [choice.drawn for choice in open_.values()]
    touched = len(back) == 1 and not others and not another_page and all(drawn)
    again: dict[str, Any] = {}
    for control, choice in list(open_.items()):
        if control in back and not touched:
            again[control] = choice.value
            open_[control] = choice._replace(drawn=False)
        elif choice.drawn or control not in now or now[control] != choice.value:
            del open_[control]
    if back:
        st.session_state[RACING] = True
    if not another_page:
        lost = {one for one in in_address if now.get(one) == last[one]} | (
            others & {*bound} if back or any(drawn) else set()
        )
        # Streamlit writes what is set into the address, unless it is the default
        again |= {one: now[one] for one in lost & now.keys() - open_.keys() - address}
    for control, value in again.items():
        st.session_state[control] = value
    _look(now | again, address)


def answered(*controls: str) -> None:
    """Once these controls (or all of a page) have been drawn."""
    open_ = st.session_state.get(KEY, {})
    for control in controls or list(open_):
        if control in open_:
            open_[control] = open_[control]._replace(drawn=True)
    if controls:
        return
    _look(_controls(), set(st.query_params))
    if st.session_state.pop(RACING, False):
        st.query_params.update()  # sends it: one that an earlier run has sent may reach the browser after what it told


def _controls() -> dict[str, Any]:
    """Every control with a name, as it is now."""
    plain = (int, float, str, type(None))
    state = st.session_state.to_dict()
    return {key: value for key, value in state.items() if not key.startswith("_") and isinstance(value, plain)}


def _look(controls: dict[str, Any], address: set[str]) -> None:
    st.session_state[LAST] = (controls, controls.keys() & address)
