"""What was found in the model that was brought, the questions that its shapes leave open, and the button that opens it."""

import contextlib

import streamlit as st

from app import texts
from app.shell.page_switch import request_page
from app.state.memory import memory_cache
from app.state.models import loaded_models, uploaded_model
from app.state.recordings import cached_recordings
from app.state.visit import current_photo
from app.texts import Prose
from app.widgets.button_until_done import button_holding_press
from vitcore.images import PhotoError
from vitcore.models.checkpoint_inspection.open_questions import OpenQuestion, answer_text
from vitcore.models.model_cards import DEFAULT_MODEL, ModelError

MAX_LINES = 12  # of tensors that do not fit; the shell lists them all
LARGEST_PX = 2048
RARE_QUESTIONS = ("activation", "eps", "head_eps", "crop", "interpolation")  # other than likely, and least to be seen
FREE_ANSWERS = {"normalise", "eps", "head_eps"}  # answers that may be numbers of one's own
COMMON_EPS = ("1e-06", "1e-05", "1e-12")
NAMES_SHOWN, NAME_LENGTH = 6, 40  # classes whose names are shown, and their letters


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
            st.markdown(f":material/check_circle: {text['is open'].format(id=text['yours'])}")
            st.button(text["look"], key="own_look", icon=":material/visibility:", on_click=_request_overview, args=(text,))
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
        model_part_menu(model, text)


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
        _request_overview(text)
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


def _request_overview(text: Prose) -> None:
    request_page("overview", {"model": text["yours"]}, model=uploaded_model.MODEL_ID)


def _discard_model() -> None:
    uploaded_model.discard_uploaded_model()
    if st.session_state.get("model") == uploaded_model.MODEL_ID:
        st.session_state["model"] = DEFAULT_MODEL


def model_part_menu(model: uploaded_model.UploadedModel, text: Prose) -> None:
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


def opening_form(model: uploaded_model.UploadedModel, text: Prose) -> uploaded_model.OpeningOptions:
    """All questions; what is not touched is the likely answer."""
    st.markdown(f"### {text['questions title']}")
    asked = model.inspection.unproven_questions
    st.markdown(text["questions" if asked else "no questions"])
    ordinary = {q.key for q in model.inspection.questions} - set(RARE_QUESTIONS)
    first, seldom = ([q for q in asked if (q.key not in ordinary) == rare] for rare in (False, True))
    answers = {question.key: _answer_menu(question, model, text) for question in first}
    if seldom:
        with st.expander(text["seldom"], icon=":material/tune:"):
            answers |= {question.key: _answer_menu(question, model, text) for question in seldom}
    labels = _class_names(model, text)
    size, way = _input_size(model, text)
    confirmed = bool(asked) and st.checkbox(text["confirm"], key=f"own_confirm_{model.form_id}", help=text["confirm help"])
    return uploaded_model.OpeningOptions(answers, labels, size, way, confirmed)


def _answer_menu(question: OpenQuestion, model: uploaded_model.UploadedModel, text: Prose) -> str:
    likely = answer_text(question.likely)
    others = COMMON_EPS if question.key in ("eps", "head_eps") else tuple(answer_text(choice) for choice in question.choices)
    options = list(dict.fromkeys([likely, *others]))

    def option_title(option: str) -> str:
        said = text.get(f"answer {question.key} {option}", option)
        return f"{said} · {text['likely']}" if option == likely else said

    chosen = st.selectbox(
        question.sentence, options, format_func=option_title, key=f"own_{question.key}_{model.form_id}_{model.part or ''}",
        accept_new_options=question.key in FREE_ANSWERS,
    )  # fmt: skip
    st.caption(texts.escape_markdown(question.consequence))
    return str(chosen or likely)


def _class_names(model: uploaded_model.UploadedModel, text: Prose) -> list[str] | None:
    """Names of the classes: the model's own, or those of a file."""
    classes, own_names = uploaded_model.uploaded_class_count(model), model.inspection.configuration.labels
    if classes == 0:
        return None
    names = model.labels or own_names
    if names:
        some = ", ".join(name[:NAME_LENGTH] for name in names[:NAMES_SHOWN]) + ("…" if len(names) > NAMES_SHOWN else "")
        st.markdown(
            text["labels file" if model.labels else "labels own"].format(count=len(names), names=texts.escape_markdown(some))
        )
    elif classes is not None and "class_names" not in {q.key for q in model.inspection.questions}:
        st.markdown(text["labels none"].format(classes=f"{classes:,}"))
    with st.expander(text["class names"], icon=":material/label:"):
        st.markdown(text["labels about"])
        turn = st.session_state.setdefault("_labels_turn", 0)
        file = st.file_uploader(text["labels drop"], key=f"own_labels_{turn}", max_upload_size=uploaded_model.LABELS_LIMIT_MB)
        if file is not None:
            st.session_state["_labels_turn"] = turn + 1
            st.session_state["_labels_problem"] = (model.form_id, uploaded_model.read_class_labels(model, file))
            st.rerun()
        form_id, problem = st.session_state.get("_labels_problem") or (0, None)
        if problem and form_id == model.form_id:
            st.error(texts.escape_markdown(problem), icon=":material/broken_image:")
    return model.labels


def _input_size(model: uploaded_model.UploadedModel, text: Prose) -> tuple[tuple[int, int] | None, str]:
    """Another input size than the model was made for, and how its positions are interpolated to it."""
    rows, cols = model.inspection.inferred.step_px
    high, wide = _native_size(model)
    if not st.toggle(text["resize"], key=f"own_resize_{model.form_id}", help=text["resize help"]):
        return None, "timm"
    left, right = st.columns(2)
    tall = left.number_input(text["height"], rows, LARGEST_PX, high, rows, key=f"own_high_{model.form_id}")
    broad = right.number_input(text["width"], cols, LARGEST_PX, wide, cols, key=f"own_wide_{model.form_id}")
    way = st.radio(text["way"], ["timm", "paper"], format_func=lambda name: text[f"way {name}"], key=f"own_way_{model.form_id}")
    return (int(tall), int(broad)), str(way)


def _native_size(model: uploaded_model.UploadedModel) -> tuple[int, int]:
    inferred = model.inspection.inferred
    grid = inferred.grid or next((q.likely for q in inferred.questions if q.key == "grid"), None)
    if grid is None:  # of timm's names: the size is in its own configuration
        size = inferred.architecture.get("img_size") or 224
        return (size, size) if isinstance(size, int) else (int(size[0]), int(size[1]))
    return grid[0] * inferred.step_px[0], grid[1] * inferred.step_px[1]
