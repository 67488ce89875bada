"""What was found in the model that was brought, what is left to ask, and the button that opens it."""

from __future__ import annotations

import streamlit as st

from app import texts
from app.furniture import controls
from app.state import models, session
from app.state.memory import budget
from app.state.own import model as own
from app.texts import Prose
from app.views.bring import asking
from vitcore.models.model_cards import DEFAULT, ModelError

MOST_LINES = 12  # of tensors that do not fit; the shell lists them all


def show(text: Prose) -> None:
    """All of it; what can be opened here, where nothing was brought yet."""
    one = own.mine()
    if one is None:
        st.markdown(f"## {text['formats title']}")
        st.markdown(text["formats"])
        st.caption(text["yours alone"])
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.markdown(f"## {controls.verbatim(one.called)}")
        st.button(text["forget"], key="own_forget", icon=":material/delete:", on_click=_forget)
    if one.opened is not None:
        with st.container(border=True, horizontal=True, vertical_alignment="center", key="own_is_open"):
            st.markdown(f":material/check_circle: {text['is open'].format(id=text['yours'])}")
            if st.button(text["look"], key="own_look", icon=":material/visibility:"):
                _look(text)
    left, right = st.columns([2, 3], gap="large")
    with left:
        _facts(one, text)
    with right:
        if one.inspection.problems:
            _refused(one, text)
        else:
            _open(one, text)
    st.caption(text["yours alone"])


def _facts(one: own.Brought, text: Prose) -> None:
    st.markdown(f"### {text['facts title']}")
    rows = [*one.inspection.facts, (text["parameters"], f"{one.inspection.params:,}")]
    told = [(term, text["asked"] if value == "?" else value) for term, value in rows]
    lines = [f"| {controls.verbatim(term)} | {controls.verbatim(value)} |" for term, value in told]
    st.markdown("\n".join([f"| {text['what']} | {text['value']} |", "|---|---|", *lines]))
    for note in one.inspection.notes:
        st.caption(f":material/info: {controls.verbatim(note)}")
    if len(one.inspection.parts) > 1:
        asking.part(one, text)


def _refused(one: own.Brought, text: Prose) -> None:
    """Why it can't be opened, tensor by tensor."""
    problems = one.inspection.problems
    st.error(text.fill("refused", count=len(problems)), icon=":material/block:")
    lines = [f"- {controls.verbatim(line)}" for line in problems[:MOST_LINES]]
    more = len(problems) - MOST_LINES
    st.markdown("\n".join(lines + ([f"- {text['and more'].format(count=more)}"] if more > 0 else [])))
    st.markdown(text["refused why"])


def _open(one: own.Brought, text: Prose) -> None:
    how = asking.everything(one, text)
    if not st.button(text["open"], key="own_open", type="primary", icon=":material/open_in_new:"):
        return
    with st.spinner(text["opening"]):
        problem = models.open_own(how) or _problem_with_photo(one)
    if problem:
        st.error(controls.verbatim(problem), icon=":material/block:")
    else:
        _look(text)


def _problem_with_photo(one: own.Brought) -> str | None:
    """Why the photo can't be looked at through it, though it was loaded."""
    try:
        session.recording(models.loaded(one.version), session.photo())
    except (ModelError, budget.NoRoomError) as error:
        own.drop_made(one.version)
        one.opened = None
        return str(error) or texts.prose("common")["no room now"]
    return None


def _look(text: Prose) -> None:
    st.session_state["model"] = models.OWN
    st.switch_page("views/overview/page.py", query_params={"model": text["yours"]})


def _forget() -> None:
    own.forget()
    if st.session_state.get("model") == models.OWN:
        st.session_state["model"] = DEFAULT
