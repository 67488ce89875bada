"""The poll that this visitor has opened in a lecture or votes in, and its votes beside the model's rollout."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from app.server import poll_store
from app.state.memory import visitor_storage
from app.state.model_ref import ModelRef
from app.state.models import uploaded_model
from vitcore.figures.charts.poll import PatchVotes, poll_votes
from vitcore.figures.drawing import Drawing
from vitcore.figures.heat_overlay import heat_colours
from vitcore.figures.theme_colours import Mode, pixels_to_data_uri

if TYPE_CHECKING:
    from app.state.visit.visit import Visit

OWN = "poll"  # what the code is kept as
ASKED_STATE = "_poll_asked"  # whether this visitor has asked for a poll on Live
SHOWN_PATCHES = 5


class VoteMap(NamedTuple):
    """Votes on the photo's patches: colours to be laid on it, a data address; the most votes a patch has."""

    overlay: str
    max_votes: int


def ask_for_poll() -> None:
    """From a button: Live has what opens a poll at its top, until the page is left."""
    st.session_state[ASKED_STATE] = True


def is_poll_asked() -> bool:
    """Whether this visitor has asked for a poll and is on Live since."""
    return bool(st.session_state.get(ASKED_STATE))


def own_poll_code() -> str:
    """The code of the poll that this visitor has opened; empty without one."""
    return visitor_storage.kept_for_visitor(OWN) or ""


def poll_subject(visit: Visit) -> tuple[str, str, int] | None:
    """What a poll here would ask about: photo and model by their names, how many patches; None where only this visitor has them."""
    model = ModelRef.parse(visit.vit.name).name
    return (visit.sample, model, visit.grid.patches) if visit.sample and model != uploaded_model.MODEL_ID else None


def open_own_poll(subject: tuple[str, str, int]) -> None:
    """Open this visitor's poll. Raises: PollError, MemoryBudgetError."""
    visitor_storage.keep_for_visitor(OWN, poll_store.open_poll(*subject))
    st.session_state.pop(ASKED_STATE, None)


def end_own_poll() -> None:
    """End this visitor's poll. Raises: PollError."""
    code = own_poll_code()
    visitor_storage.discard_for_visitor(OWN)
    poll_store.end_poll(code)


def voter_name() -> str:
    """This phone's name in polls: of its tab, so that it is the same when the phone was asleep; nobody can turn it back."""
    return hashlib.sha256(visitor_storage.tab_name().encode()).hexdigest()[:32]


def vote_map(votes: Sequence[int], rows: int, cols: int) -> VoteMap:
    """The votes as heat, on a scale from 0 to the most votes of a patch."""
    counts = np.array(votes, float).reshape(rows, cols)
    most = max(1, int(counts.max()))
    return VoteMap(pixels_to_data_uri(heat_colours(counts, most)), most)


def votes_chart(votes: Sequence[int], rollout: NDArray, even_share: float, mode: Mode) -> Drawing:
    """The patches most voted for as bars, and the one where rollout is largest."""
    return poll_votes(_polled_patches(votes, rollout, even_share), mode)


def _polled_patches(votes: Sequence[int], rollout: NDArray, even_share: float) -> list[PatchVotes]:
    flat, most = rollout.ravel(), max(1, *votes)
    most_voted = sorted((patch for patch, count in enumerate(votes) if count), key=lambda patch: (-votes[patch], -flat[patch]))
    shown = most_voted[:SHOWN_PATCHES]
    if (strongest := int(flat.argmax())) not in shown:
        shown.append(strongest)
    return [
        PatchVotes(patch, votes[patch], float(flat[patch]) / even_share, votes[patch] / most, float(flat[patch] / flat.max()))
        for patch in shown
    ]
