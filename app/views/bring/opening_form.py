"""The questions that the shapes of a model that was brought leave open, its classes' names and its input size."""

import streamlit as st

from app import texts
from app.state.models import uploaded_model
from app.texts import Prose
from vitcore.models.checkpoint_inspection.open_questions import OpenQuestion, answer_text

LARGEST_PX = 2048
RARE_QUESTIONS = ("activation", "eps", "head_eps", "crop", "interpolation")  # other than likely, and least to be seen
FREE_ANSWERS = {"normalise", "eps", "head_eps"}  # answers that may be numbers of one's own
COMMON_EPS = ("1e-06", "1e-05", "1e-12")
NAMES_SHOWN, NAME_LENGTH = 6, 40  # classes whose names are shown, and their letters


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
