"""Sentences on a film of a training: what it learned from, how well it does, and what a snapshot shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import streamlit as st

from app import texts
from app.state.training import films
from app.widgets import model_card_and_cautions
from vitcore.translation import decimal, percent, say

if TYPE_CHECKING:
    from vitcore.train.film_files import Film


TASKS = ("layers", "classify", "masked", "distil", "filmed")  # of which it is said what is seen


class StructureFinding(NamedTuple):
    """What a snapshot shows of one structure: a flag that stays the same while it plays, and a sentence."""

    flag: str
    sentence: str
    is_there: bool

    @property
    def icon(self) -> str:
        """Whether it is there, for who sees no colour."""
        return ":material/check_circle:" if self.is_there else ":material/radio_button_unchecked:"


def show_film_caption(name: str, film: Film, text: texts.Prose) -> None:
    """What the filmed model learned from, for how long, and how well it does."""
    lines = [text["card data"].format(data=say(film.data))] if film.data else []
    lines.append(text["card steps"].format(steps=int(film.steps[-1])))
    if known := film.accuracy():
        text_of_accuracy = text["card accuracy shared" if film.shared else "card accuracy"]
        of = text["card classes"].format(count=film.class_count) if film.class_count else ""
        lines.append(text_of_accuracy.format(step=known.step, right=known.right, photos=held_out_photos_phrase(film, text), of=of))
        if others := model_card_and_cautions.accuracies_on_card(name):
            lines.append(text["card other"].format(top1=others[0]["top1"], photos=others[0]["photos"]))
    if film.task == "filmed":
        lines.append(text["card filmed"])
    st.caption(text.join_sentences(lines))


def held_out_photos_phrase(film: Film, text: texts.Prose) -> str:
    """The photos that it is measured on, and how many, where that is known."""
    known = film.accuracy()
    return text["held out of"].format(count=known.photos) if known and known.photos else text["held out"]


def snapshot_findings(film: Film, frame: int, firsts: dict[str, int | None], text: texts.Prose) -> dict[str, StructureFinding]:
    """By picture what is there at this snapshot and since which step, and what is not."""
    signs = films.emerged_structure(film, frame)
    facts: list[tuple[str, str, bool, float | None, dict[str, Any]]] = [
        ("filters", "filters", signs.filters, signs.smooth, {"smooth": percent(signs.smooth or 0, 0)}),
        ("positions", "positions", signs.positions, signs.correlation, {"correlation": decimal(signs.correlation or 0, 2)}),
        ("distance", "heads", signs.heads, signs.near, {"near": percent(signs.near or 0, 0), "far": percent(signs.far or 0, 0)}),
    ]
    return {
        picture: StructureFinding(
            text[f"{name} never"] if firsts[name] is None else text[f"{name} first"].format(step=firsts[name]),
            text[f"{name} yes" if there else f"{name} no"].format(**numbers),
            there,
        )
        for picture, name, there, known, numbers in facts if known is not None
    }  # fmt: skip


def most_changed_head_sentence(film: Film, frame: int, text: texts.Prose) -> str:
    """Which head's distance has changed most since the first snapshot."""
    if not frame:
        return text["head unchanged"]
    block, head, before_px, now_px = films.most_changed_head(film, frame)
    return text["head changed"].format(block=block, head=head, first=f"{before_px:.1f}", now=f"{now_px:.1f}")
