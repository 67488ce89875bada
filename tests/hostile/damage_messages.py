"""Messages of a browser's that no page of ours sends: each control is given values of every type, and of its own out of range."""

import json
import random
from collections.abc import Iterator
from typing import Any

from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates

NAN, INFINITE = float("nan"), float("inf")
EVENT_VALUES: dict[str, list[Any]] = {
    "mode": ["light", {"a": 1}, None], "left": [True, "x"], "keys": [True, []], "to": [5, 0, -3, 10**6, "x", None, NAN],
    "picked": [0, -1, 10**6, "x", "", [], {}, 1.5], "photo": ["", "x", 5, None, "cat"],
    "size": [{"scale": 1e9, "narrow": 1e9, "high": 1e9}, {"scale": -1, "narrow": -5}, {"scale": 0, "narrow": 1}, {"scale": 1}, 5],
    "chosen": [
        {"n": -5}, {"n": "x"}, {"n": NAN}, 5, [], None,
        *({"n": 1, name: value} for name in ("token", "second", "block", "head", "patch", "layer")
          for value in (-1, 10**6, None, "x")),
        *({"n": 2, name: value} for name in ("column", "rolled", "mask", "lines") for value in (True, False, 3)),
        *({"n": 3, name: value} for name in ("view", "covered", "fill", "off", "open", "frame")
          for value in ("", "x", "0-1,5-,9999", "9" * 5000)),
        *({"n": 4, "threshold": value} for value in (1e9, -1e9, 0.123)),
    ],
}  # fmt: skip
EVENTS = [
    "", "{", "[]", '{"event":"x"}',
    *(json.dumps({"event": name, "value": one}) for name, values in EVENT_VALUES.items() for one in values),
]  # fmt: skip
VALUES: dict[str, list[Any]] = {
    "trigger_value": [True], "bool_value": [True], "double_value": [NAN, INFINITE, -1e308, 1.5],
    "int_value": [2**63 - 1, -1, 3],
    "string_value": ["x" * 100_000, "", "-1", "\0\ud7ff", "nan", "1e999", '{"selection":{"points":5}}',
                     '{"selection":{"rows":[9999]}}',
                     '{"selection":{"points":[{}],"rows":["x"]}}'],
    "double_array_value": [[], [NAN], [1e300] * 2, [-1, -1], [0] * 5000], "int_array_value": [[], [2**62], [-1], [0, 0, 0]],
    "string_array_value": [[], ["x"], ["", ""], ["x" * 1000] * 50],
    "json_value": ["", "{", "null", "[]", "1", '{"chosen":1}', '{"chosen":{"n":1e400}}', "[" * 5000, "NaN", '{"value":{"x":NaN}}',
                   '{"chosen":{"n":1,"patch":"x","layer":[]}}', '{"selection":{"points":5}}'],
    "bytes_value": [b"\xff\x00"], "arrow_value": [None], "file_uploader_state_value": [None, "../../x"],
    "string_trigger_value": ["x"], "chat_input_value": ["x"], "json_trigger_value": EVENTS,
}  # fmt: skip


def said(control: str, field: str, value: Any) -> WidgetState:
    """What a browser says of a control, by its id."""
    state = WidgetState(id=control)
    if field.endswith("array_value"):
        getattr(state, field).data.extend(value)
        getattr(state, field).SetInParent()
    elif field == "arrow_value":
        state.arrow_value.SetInParent()
    elif field == "file_uploader_state_value":
        state.file_uploader_state_value.SetInParent()
        if value:
            file = state.file_uploader_state_value.uploaded_file_info.add()
            file.file_id, file.name, file.size = "x", value, 2**40
    elif field in ("string_trigger_value", "chat_input_value"):
        getattr(state, field).data = value
    else:
        setattr(state, field, value)
    return state


def hostile_values(control: str, own_type: str, events: set[str], every: bool = True) -> Iterator[WidgetState]:
    """Every value for a control of this type, or all of its own type and one of each other; `events` are a component's."""
    for field, values in VALUES.items():
        if field == "json_trigger_value" and own_type == field:
            values = [one for one in values if '"event"' not in one or any(f'"{name}"' in one for name in events)]
        elif field != own_type and not every:
            values = values[:1]
        for value in values:
            yield said(control, field, value)


def hostile_messages(controls: dict[str, tuple[str, set[str]]], count: int, seed: int) -> Iterator[WidgetStates]:
    """Messages that say something wrong of every control at once, and of an unknown one; `controls` are types and events by id."""
    draw = random.Random(seed)
    stranger = "$$ID-" + "0" * 32 + "-nobody"
    choices = {control: list(hostile_values(control, *kind, every=False)) for control, kind in controls.items()}
    for _ in range(count):
        states = [draw.choice(values) for values in choices.values()]
        draw.shuffle(states)
        yield WidgetStates(widgets=[said(stranger, "string_value", "x"), *states])
