"""What a browser says of controls, looked at where it comes in: a value that no page of ours could have sent is left out.

A message made by hand may hold text for a number, numbers that are not finite, half a JSON text, or a choice of another kind.
Streamlit hands it to the page, which ends in a traceback. Here the control keeps the value that it had, or its default. Whether a
value is in range, Streamlit's own controls look (1.67), and pages at what they are given of `EVENTS`.
"""

import json
import logging
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from streamlit.components.v2.bidi_component.constants import EVENT_DELIM
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from streamlit.runtime.state.common import WidgetMetadata
from streamlit.runtime.state.session_state import STREAMLIT_INTERNAL_KEY_PREFIX, Serialized, SessionState
from streamlit.runtime.uploaded_file_manager import DeletedFile

Check = Callable[[Any], bool]
NUMBERS = {"int_value", "double_value"}  # a browser sends whole ones as the first, whatever the control is registered with
LARGEST = 2**31  # of a number that a component sends: a token, a count of choices
LARGEST_TYPE, LARGEST_PX = 8, 20_000  # of the page's type over 16 px, and of a screen

_log = logging.getLogger(__name__)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < LARGEST


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and abs(value) < LARGEST


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _or_none(check: Check) -> Check:
    return lambda value: value is None or check(value)


def _has(fields: dict[str, Check]) -> Check:
    return lambda value: isinstance(value, dict) and all(name in fields and fields[name](one) for name, one in value.items())


def _list_of(check: Check) -> Check:
    return lambda value: isinstance(value, list) and all(check(one) for one in value)


SIZES: dict[str, Check] = {
    "scale": lambda value: _is_number(value) and 1 / LARGEST_TYPE <= value <= LARGEST_TYPE,
    "narrow": lambda value: _is_number(value) and 0 <= value <= LARGEST_PX,
    "high": lambda value: _is_number(value) and 0 <= value <= LARGEST_PX,
}
# What a component of ours can send: an event, and what its value looks like (`setTriggerValue` in its script).
EVENTS: dict[str, Check] = {
    "mode": lambda value: value in ("light", "dark"),
    "left": _is_flag,
    "keys": _is_flag,
    "to": _is_whole,
    "picked": _or_none(_is_whole),
    "photo": _is_text,
    "size": lambda value: _has(SIZES)(value) and {"scale", "narrow"} <= value.keys(),
    "chosen": _has(
        {"n": _is_whole}
        | dict.fromkeys(("token", "second", "block", "head", "patch", "layer"), _or_none(_is_whole))
        | dict.fromkeys(("column", "rolled", "mask", "lines"), _is_flag)
        | dict.fromkeys(("view", "covered", "fill", "off", "by", "map", "scan", "open", "frame"), _is_text)
        | {"threshold": _is_number}
    ),
}
SELECTIONS: dict[str, Check] = {  # what is chosen in a chart or a table of Streamlit's
    "points": _list_of(lambda value: isinstance(value, dict)),
    "rows": _list_of(_is_whole),
    "columns": _list_of(_is_text),
}


def _is_possible_value(state: WidgetState, control: WidgetMetadata[Any]) -> bool:
    """Whether a control can have said this; a control without a value (a field that is empty) always can."""
    field = state.WhichOneof("value")
    if field is None:
        return True
    if field != control.value_type and {field, control.value_type} != NUMBERS:
        return False
    if field == "double_value":
        return math.isfinite(state.double_value)
    if field == "double_array_value":
        return all(map(math.isfinite, state.double_array_value.data))
    if field in ("json_value", "json_trigger_value"):
        try:
            said = json.loads(getattr(state, field))
        except (ValueError, RecursionError):
            return False
        return _has(EVENTS)(said) if field == "json_value" else _are_events(said)
    return True


def _fits_last(state: WidgetState, control: WidgetMetadata[Any]) -> bool:
    """The same of a control as it was drawn last, with the options that it had then."""
    options, field = control.formatted_options, state.WhichOneof("value")
    if not _is_possible_value(state, control):
        _log.warning("What a browser sent for a control can't be read: it keeps its value (%s).", field)
        return False
    if options is not None and field == "string_value" and state.string_value not in options:
        return False
    return options is None or field != "string_array_value" or set(state.string_array_value.data) <= set(options)


def _component(events: str) -> str:
    """The component whose events these are: once it is not on the page, its callback finds nothing to read."""
    return events.removeprefix(f"{STREAMLIT_INTERNAL_KEY_PREFIX}_").rpartition(EVENT_DELIM)[0]


def _are_events(said: Any) -> bool:
    return all(
        isinstance(one, dict) and isinstance(name := one.get("event"), str) and name in EVENTS and EVENTS[name](one.get("value"))
        for one in (said if isinstance(said, list) else [said])
    )


def _readable(deserializer: Callable[..., Any]) -> Callable[..., Any]:
    """The same, but what can't be read is the control's default."""

    def read(value: Any = None) -> Any:
        if value is None:
            return deserializer(None)
        try:
            said = deserializer(value)
        except Exception:  # whatever it is that this kind of control stumbles over
            _log.warning("What a browser sent for a control can't be read: its default is taken.")
            return deserializer(None)
        if isinstance(said, DeletedFile):  # one that was never here, or that nobody took in time
            return deserializer(None)
        chosen = said.get("selection", {}) if isinstance(said, dict) else {}
        sound = isinstance(chosen, dict) and all(SELECTIONS[name](chosen[name]) for name in SELECTIONS if name in chosen)
        return said if sound else deserializer(None)

    return read


def refuse_impossible_values() -> None:
    """From now on, for all visits of this process; called at every run of a page, once is enough.

    The names are Streamlit's own (1.67) and not promised: `tests/app/test_hostile_values.py` tells when they have changed.
    """
    if getattr(SessionState.set_widgets_from_proto, "looks", False):
        return
    take_message, register = SessionState.set_widgets_from_proto, SessionState.register_widget

    def take_fitting(self: SessionState, widget_states: WidgetStates) -> None:
        drawn = self._new_widget_state.widget_metadata
        fitting = [one for one in widget_states.widgets if one.id not in drawn or _fits_last(one, drawn[one.id])]
        fitting = [one for one in fitting if not one.json_trigger_value or _component(one.id) in self._old_state]
        take_message(self, WidgetStates(widgets=fitting))

    def register_readable(self: SessionState, metadata: WidgetMetadata[Any], user_key: str | None) -> Any:
        held = self._new_widget_state.states.get(metadata.id)  # said before this visit had drawn the control
        if isinstance(held, Serialized) and not _is_possible_value(held.value, metadata):
            del self._new_widget_state[metadata.id]
        return register(self, replace(metadata, deserializer=_readable(metadata.deserializer)), user_key)

    take_fitting.looks = True  # type: ignore[attr-defined]
    SessionState.set_widgets_from_proto = take_fitting  # type: ignore[method-assign]
    SessionState.register_widget = register_readable  # type: ignore[method-assign]
