"""A phone's part of a poll: the question, the photo to tap a patch on, and the vote that it has given."""

import streamlit as st

from app import texts
from app.components.pending_choices import set_control
from app.components.picture.picture import picture
from app.server import poll_store
from app.state.visit import visitor_poll
from app.state.visit.visit import Visit
from app.views.live.poll_lecturer import poll_question, show_poll_problem

TAPPED = "_vote"  # the patch that was tapped and is not in the poll yet


def asked_code() -> str:
    """The code of another's poll that this visit's address has, or a person has typed; empty without one."""
    code = str(st.session_state.get("poll") or st.query_params.get("poll") or "").strip().upper()
    return "" if code == visitor_poll.own_poll_code() else code


def show_voting_page(visit: Visit) -> bool:
    """The poll that is asked for, if any; True while it takes votes on this photo."""
    if not (code := asked_code()):
        return False
    text = texts.prose("poll")
    try:
        found = poll_store.find_poll(code)
    except poll_store.PollError as error:
        show_poll_problem(str(error))
        return False
    with st.container(border=True, key="vote"):
        if visitor_poll.poll_subject(visit) != (found.photo, found.model, found.patches):
            st.info(text["other photo"], icon=":material/photo_library:")
            st.button(text["to photo"], key="poll_photo", type="primary", on_click=_show_subject, args=(found.photo, found.model))
            return False
        st.markdown(f"#### {poll_question(visit, text)}")
        grid = visit.grid
        st.fragment(_ballot)(found, visit.photo_url, grid.rows, grid.cols, grid.step_px, text)
    return found.is_open


def _show_subject(photo: str, model: str) -> None:
    set_control("photo", photo)
    set_control("model", model)


def _ballot(found: poll_store.Poll, image: str, rows: int, cols: int, step_px: tuple[int, int], text: texts.Prose) -> None:
    """The photo to tap on; what was tapped is a vote. All that comes and goes stands below it: it must not move under a finger."""
    try:
        if found.is_open and not poll_store.find_poll(found.code).is_open:  # since the page was drawn
            st.rerun(scope="app")
        tapped, refused = st.session_state.pop(TAPPED, None), ""
        if tapped is not None:
            try:
                poll_store.store_vote(found, visitor_poll.voter_name(), tapped)
            except poll_store.PollError as error:
                refused = str(error)
        elif not found.is_open:
            refused = text["closed"]
        voted = poll_store.find_vote(found.code, visitor_poll.voter_name())
    except poll_store.PollError as error:
        refused, voted = str(error), None
    picture(image, rows, cols, step_px, key="ballot", label=text["ballot"], target=TAPPED, selected=voted)
    if refused:
        show_poll_problem(refused)
    if voted is not None:
        place = text.fill("voted", patch=voted, row=voted // cols, col=voted % cols)
        st.success(place if refused else text.join_sentences((place, text["change"])), icon=":material/how_to_vote:")
    elif not refused:
        st.markdown(text["not yet"])
