"""A question with three or four choices, as pictures or words: one is picked by a click, its letter or its number."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import streamlit as st

from app.components.component_files import media_url, translated_component


class ChoicePicture(NamedTuple):
    """A picture as a file, its kind, what it shows, and whether it is a photo (else its cells stay sharp)."""

    data: bytes
    mime: str
    alt: str
    photo: bool


class Option(NamedTuple):
    """A choice: its words, its picture if it has one, and what is told of it once the answer is known."""

    words: str
    picture: ChoicePicture | None
    explanation: str


def multiple_choice(
    pictures: Sequence[ChoicePicture], options: Sequence[Option], *, key: str, label: str, name: str,
    verdict_labels: tuple[str, str], large: bool, on_pick: Callable[[int], None], right: int | None = None,
    picked: int | None = None,
) -> None:  # fmt: skip
    """Show the pictures that are `pictures` with the question, and its choices; `on_pick` is called with the place of one.

    `right` is told once the answer is known; then nothing can be picked. `verdict_labels` are what a screen reader
    hears of the right choice and of a wrong one that was picked. `label` names the choices, `name` the question, `large` is
    for a room.
    """
    known = right is not None
    data: dict[str, Any] = {
        "given": [_picture_data(one, f"given{i}") for i, one in enumerate(pictures)],
        "options": [{"words": one.words, "picture": one.picture and _picture_data(one.picture, f"choice{i}"),
                     "told": one.explanation if known else ""} for i, one in enumerate(options)],
        "right": right, "picked": picked, "large": large, "name": name, "marks": list(verdict_labels),
    }  # fmt: skip
    translated_component("multiple_choice", label=label)(
        data=data, key=key, on_picked_change=partial(_pick, key, len(options), on_pick)
    )


def _pick(key: str, count: int, on_pick: Callable[[int], None]) -> None:
    """Pass on what was picked; it holds no picture."""
    place = st.session_state[key].picked
    if place is not None and 0 <= int(place) < count:
        on_pick(int(place))


def _picture_data(one: ChoicePicture, place: str) -> dict[str, Any]:
    return {"image": media_url(one.data, one.mime, place), "alt": one.alt, "photo": one.photo}
