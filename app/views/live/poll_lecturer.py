"""The lecturer's part of a poll: its link and QR code, how many have voted, and once it is asked for what they voted for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import streamlit as st

from app import texts
from app.components.figure import figure
from app.components.picture.picture import picture
from app.server import poll_store
from app.shell import copy_link
from app.state.memory.memory_cache import MemoryBudgetError
from app.state.visit import visitor_poll
from app.texts import escape_markdown
from app.views.live import qr_code
from vitcore.report.report_settings import ReportOrigin

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from app.state.visit.visit import Visit

REFRESH_S = 2.0
PROBLEM = "_poll_problem"  # what the last press of a button could not do


class PolledPhoto(NamedTuple):
    """What the part that runs by itself draws: no visit, so that its model may make way."""

    image: str
    detail: str
    rows: int
    cols: int
    step_px: tuple[int, int]
    rollout: NDArray
    even_share: float
    mode: Any
    subjects: tuple[str, str]


def poll_button() -> None:
    """The way into a poll, below Live: what it asks stands at the page's top, which comes into sight (`page_style.js`)."""
    if not visitor_poll.own_poll_code() and not visitor_poll.is_poll_asked():
        text = texts.prose("poll")
        st.button(text["poll"], icon=":material/how_to_vote:", key="to_poll", on_click=visitor_poll.ask_for_poll)


def show_poll_start(visit: Visit, is_voting: bool) -> None:
    """What opens a poll, and the code of one; while this visitor `is_voting` in one, the code alone."""
    text = texts.prose("poll")
    if visitor_poll.own_poll_code() or not (is_voting or visitor_poll.is_poll_asked()):
        return
    with st.container(border=True, key="poll_start"):
        if not is_voting:
            st.markdown(text["intro"])
            if (asked := visitor_poll.poll_subject(visit)) is None:
                st.caption(text["own"])
            else:
                st.button(text["open"], icon=":material/add:", key="poll_open", type="primary", on_click=_try,
                          args=(visitor_poll.open_own_poll, asked))  # fmt: skip
        st.text_input(text["code"], key="poll", bind="query-params", max_chars=poll_store.CODE_LETTERS)
        st.caption(text.fill("how", hours=poll_store.LIFETIME_S // 3600))
        st.caption(text["limits"])


def show_poll_problem(sentence: str) -> None:
    """What can't be done in a poll."""
    st.warning(escape_markdown(sentence), icon=":material/how_to_vote:")


def show_own_poll(visit: Visit) -> bool:
    """The poll that this visitor has opened, if any; True while it asks about this photo and its votes aren't shown."""
    text = texts.prose("poll")
    if problem := st.session_state.pop(PROBLEM, ""):
        show_poll_problem(problem)
    if not (code := visitor_poll.own_poll_code()):
        return False
    try:
        found = poll_store.find_poll(code)
    except poll_store.PollError as error:
        show_poll_problem(str(error))
        st.button(text["end"], key="poll_end", on_click=_try, args=(visitor_poll.end_own_poll,))
        return False
    with st.container(border=True, key="own_poll"):
        link_part, votes_part = st.columns([2, 3], gap="medium")
        with link_part:
            _show_link(code, text)
        with votes_part:
            return _show_votes(found, visit, text)


def _show_link(code: str, text: texts.Prose) -> None:
    link = copy_link.page_url({"poll": code})
    qr_code.show_qr_code(link, text["qr"])
    st.markdown(f"## {code}")
    st.caption(escape_markdown(link.removeprefix("https://").removeprefix("http://")))
    if ReportOrigin(address=link).only_here:
        st.warning(text.fill("only here", host=urlsplit(link).hostname), icon=":material/phonelink_off:")


def _show_votes(found: poll_store.Poll, visit: Visit, text: texts.Prose) -> bool:
    """The question, the buttons, and what changes while phones vote; whether the answer is still to be kept back."""
    st.markdown(f"### {poll_question(visit, text)}")
    asked, code = visitor_poll.poll_subject(visit), found.code
    same = asked == (found.photo, found.model, found.patches)
    with st.container(horizontal=True, vertical_alignment="center"):
        shown = st.toggle(text["show"], key="poll_shown", disabled=not same)
        label, icon = ("close", ":material/lock:") if found.is_open else ("go on", ":material/lock_open:")
        st.button(text[label], key="poll_turn", icon=icon, on_click=_try, args=(poll_store.set_poll_open, code, not found.is_open))
        st.button(text["end"], key="poll_end", icon=":material/close:", on_click=_try, args=(visitor_poll.end_own_poll,))
    if not same:
        st.info(text["elsewhere"] if asked else text["own"], icon=":material/photo_library:")
        if asked:
            st.button(text["ask here"], key="poll_ask", type="primary", on_click=_ask_again, args=(code, asked))
        return False
    rec, grid = visit.recording, visit.grid
    photo = PolledPhoto(visit.photo_url, visit.detail_url, grid.rows, grid.cols, grid.step_px, rec.rollout(), grid.even_share,
                        visit.mode, visit.subjects)  # fmt: skip
    st.fragment(_count, run_every=REFRESH_S if found.is_open else None)(found, photo, shown, text)
    return found.is_open and not shown


def poll_question(visit: Visit, text: texts.Prose) -> str:
    """The one question that a poll asks."""
    top = visit.recording.top_classes(1, translated=True)
    return text.fill("question", label=escape_markdown(top[0][0])) if top else text["question features"]


def _ask_again(code: str, asked: tuple[str, str, int]) -> None:
    """About this photo from now on; nobody sees what others choose before it is shown once more."""
    _try(poll_store.restart_poll, code, *asked)
    st.session_state["poll_shown"] = False


def _count(found: poll_store.Poll, photo: PolledPhoto, shown: bool, text: texts.Prose) -> None:
    """How many votes there are, read anew while the poll is open, and if they are `shown` the patches."""
    try:
        votes = poll_store.count_votes(found)
    except poll_store.PollError as error:
        show_poll_problem(str(error))
        return
    state = ("open", "green", ":material/lock_open:") if found.is_open else ("closed", "gray", ":material/lock:")
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"### {text.fill('votes', count=sum(votes))}")
        st.badge(text[f"is {state[0]}"], color=state[1], icon=state[2])  # type: ignore[arg-type]
    if not shown or not any(votes):
        return
    heat = visitor_poll.vote_map(votes, photo.rows, photo.cols)
    map_part, chart_part = st.columns(2, gap="medium")
    with map_part:
        picture(
            photo.image, photo.rows, photo.cols, photo.step_px, key="poll_map", label=text["map"], target="_poll_patch",
            overlay=heat.overlay, detail=photo.detail, values=votes, unit=text["unit"], lines=False, smooth=False,
        )  # fmt: skip
        st.caption(text.fill("scale", most=heat.max_votes))
    with chart_part:
        figure(
            visitor_poll.votes_chart(votes, photo.rollout, photo.even_share, photo.mode),
            "poll_votes",
            text["chart"],
            text["chart how"],
            subjects=photo.subjects,
            votes=votes,
            rollout=photo.rollout,
        )


def _try(act: Callable[..., object], *args: object) -> None:
    """What a button does; why it could not be done is said on the page."""
    try:
        act(*args)
    except poll_store.PollError as error:
        st.session_state[PROBLEM] = str(error)
    except MemoryBudgetError:
        st.session_state[PROBLEM] = texts.prose("common")["no room now"]
