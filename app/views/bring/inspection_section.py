"""What was found in the model that was brought, and the button that opens it."""

import contextlib

import streamlit as st

from app import texts
from app.shell.page_switch import request_page
from app.state.memory import memory_cache
from app.state.models import loaded_models, uploaded_model
from app.state.recordings import cached_recordings
from app.state.visit import current_photo
from app.texts import Prose
from app.views.bring.opening_form import opening_form
from app.widgets.button_until_done import button_holding_press
from vitcore.images import PhotoError
from vitcore.models.model_cards import DEFAULT_MODEL, ModelError

MAX_LINES = 12  # of tensors that do not fit; the shell lists them all


def show_inspection(text: Prose) -> None:
    """What was found in the visitor's model; what can be opened here, where nothing was brought yet."""
    model = uploaded_model.current_uploaded_model()
    if model is None:
        with st.expander(text["formats title"], icon=":material/info:"):
            st.markdown(text["formats"])
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.markdown(f"## {texts.escape_markdown(model.display_name)}")
        st.button(text["forget"], key="own_forget", icon=":material/delete:", on_click=_discard_model)
    if model.options is not None:
        with st.container(border=True, horizontal=True, vertical_alignment="center", key="own_is_open"):
            st.markdown(f":material/check_circle: {text['is open'].format(id=texts.escape_markdown(_menu_title()))}")
            st.button(text["look"], key="own_look", icon=":material/visibility:", on_click=_request_overview)
    left, right = st.columns([2, 3], gap="large")
    with left:
        _facts_table(model, text)
    with right:
        if model.inspection.problems:
            _show_problems(model, text)
        else:
            _open_button(model, text)


def _facts_table(model: uploaded_model.UploadedModel, text: Prose) -> None:
    st.markdown(f"### {text['facts title']}")
    rows = [*model.inspection.facts, (text["parameters"], f"{model.inspection.params:,}")]
    facts = [(term, text["asked"] if value == "?" else value) for term, value in rows]
    lines = [f"| {texts.escape_markdown(term)} | {texts.escape_markdown(value)} |" for term, value in facts]
    st.markdown("\n".join([f"| {text['what']} | {text['value']} |", "|---|---|", *lines]))
    for note in model.inspection.notes:
        st.caption(f":material/info: {texts.escape_markdown(note)}")
    if len(model.inspection.parts) > 1:
        _model_part_menu(model, text)


def _show_problems(model: uploaded_model.UploadedModel, text: Prose) -> None:
    """Why it can't be opened, tensor by tensor."""
    problems = model.inspection.problems
    st.error(text.fill("refused", count=len(problems)), icon=":material/block:")
    lines = [f"- {texts.escape_markdown(line)}" for line in problems[:MAX_LINES]]
    more = len(problems) - MAX_LINES
    st.markdown("\n".join(lines + ([f"- {text['and more'].format(count=more)}"] if more > 0 else [])))
    st.markdown(text["refused why"])


def _open_button(model: uploaded_model.UploadedModel, text: Prose) -> None:
    options = opening_form(model, text)
    problem = None
    with button_holding_press(
        text["open"], "own_open", key="own_open", type="primary", icon=":material/open_in_new:"
    ) as is_pressed:
        if is_pressed:
            with st.spinner(text["opening"]):
                problem = loaded_models.open_uploaded_model(options) or _photo_problem(model)
    if problem:
        st.error(texts.escape_markdown(problem), icon=":material/block:")
    elif is_pressed:
        _request_overview()
        st.rerun()


def _photo_problem(model: uploaded_model.UploadedModel) -> str | None:
    """Why the photo can't be looked at through it, though it was loaded."""
    try:
        vit = loaded_models.loaded_model(model.version)
        with contextlib.suppress(PhotoError):  # another photo is wanted, and the pages say which
            cached_recordings.cached_recording(vit, current_photo.load_photo(vit.bands))
    except (ModelError, memory_cache.MemoryBudgetError) as error:
        uploaded_model.drop_cached_results(model.version)
        model.options = None
        return str(error) or texts.prose("common")["no room now"]
    return None


def _model_part_menu(model: uploaded_model.UploadedModel, text: Prose) -> None:
    """A menu of the models that the file holds, where there are several."""
    names = [name.rstrip(".") or "model" for name in model.inspection.parts]
    now = model.inspection.part.name.rstrip(".") or "model"
    chosen = st.selectbox(text["part"], names, names.index(now), key=f"own_part_{model.form_id}")
    if chosen == now:
        return
    if problem := uploaded_model.choose_model_part(model, chosen):
        st.error(texts.escape_markdown(problem), icon=":material/block:")
        st.stop()
    st.rerun()


def _menu_title() -> str:
    """Its name in the menu; "" where it has gone in the meantime."""
    card = uploaded_model.uploaded_model_card().get(uploaded_model.MODEL_ID)
    return card.title if card else ""


def _request_overview() -> None:
    if title := _menu_title():
        request_page("overview", {"model": title}, model=uploaded_model.MODEL_ID)


def _discard_model() -> None:
    uploaded_model.discard_uploaded_model()
    if st.session_state.get("model") == uploaded_model.MODEL_ID:
        st.session_state["model"] = DEFAULT_MODEL
