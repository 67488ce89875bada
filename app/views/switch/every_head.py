"""Which single head matters most for this answer: a guess, then all heads are tried, one at a time, with progress."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import streamlit as st

from app import texts
from app.state.recordings import cached_interventions
from app.state.visit.visit import Visit
from app.texts import Prose
from app.widgets import guess_question
from vitcore.models.model_cards import ModelError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from app.views.switch.switch_message import SwitchVisit

SCAN = "every_head"  # in the address: "tried", or nothing
TRIED = "tried"
PARTS = 3


def is_every_head_wanted(visit: Visit, replacement: str) -> bool:
    """Whether every head is to be tried: by the button of the picture, by the address, or by a guess."""
    tried = st.text_input(visit.texts["tried"], key=SCAN, bind="query-params") == TRIED
    return tried or guess_question.has_guessed(_guess_key(visit, replacement))


def try_every_head(visit: Visit, replacement: str) -> NDArray | None:
    """The drops (L, H), with progress at the foot of the screen; None where the model can't."""
    text = visit.texts
    if (drops := cached_interventions.head_drops_if_made(visit.recording, replacement)) is not None:
        return drops
    place = st.empty()
    bar = place.container(key="trying").progress(0.0, text["trying"])

    def progress(done: int, total: int) -> None:
        bar.progress(done / total, text["trying"])

    try:
        return cached_interventions.head_drops(visit.recording, replacement, visit.vit, progress)
    except ModelError:
        return None  # what is switched off says why
    finally:
        place.empty()


def strongest_head_sentence(visit: SwitchVisit) -> str:
    """Which head the answer loses most without; nothing where they were not tried."""
    if visit.drops is None:
        return ""
    best, label = cached_interventions.strongest_head(visit.drops), visit.recording.top_classes(1, translated=True)[0][0]
    facts = {"label": label, "layer": best.layer, "head": best.head, "drop": f"{best.drop:.3g}"}
    return visit.texts["strongest" if best.drop > 0 else "no head"].format(**facts)


def show_depth_question(visit: SwitchVisit) -> None:
    """In which part of the depth does the head lie that matters most? The answer names it, once every head was tried."""
    text, parts = visit.texts, depth_ranges(visit.vit.blocks, visit.texts)
    label = texts.escape_markdown(visit.recording.top_classes(1, translated=True)[0][0])
    right, answer = 0, text["try first"]
    if visit.drops is not None:
        right = depth_range_of_layer(cached_interventions.strongest_head(visit.drops).layer, parts)
        answer = texts.escape_markdown(strongest_head_sentence(visit))
    with st.container(border=True):
        st.markdown(f"## {text['predict title']}")
        st.markdown(text["predict"].format(label=label))
        guess_question.guess_before_answer(_guess_key(visit, visit.by), [part.title for part in parts], right, answer)


def _guess_key(visit: Visit, by: str) -> str:
    return f"switch {visit.vit.name} {visit.photo.key} {by}"


class DepthRange(NamedTuple):
    """Layers first … last of a model, and what they are called."""

    first: int
    last: int
    title: str


def depth_ranges(layers: int, text: Prose) -> list[DepthRange]:
    """All layers in at most three parts of about one size."""
    count = min(PARTS, layers)
    ends = pairwise(layers * part // count for part in range(count + 1))
    rows = [(first, end - 1) for first, end in ends]
    return [DepthRange(*row, text["one layer" if row[0] == row[1] else "layers"].format(first=row[0], last=row[1])) for row in rows]


def depth_range_of_layer(layer: int | None, ranges: list[DepthRange]) -> int:
    """Which part a layer is of; the last, where there is none."""
    return next((i for i, part in enumerate(ranges) if layer is not None and part.first <= layer <= part.last), len(ranges) - 1)
