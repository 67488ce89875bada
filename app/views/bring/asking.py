"""The questions about a model that was brought: what its shapes can't say, the names of its classes, another input size."""

from __future__ import annotations

import streamlit as st

from app.furniture import controls
from app.state.own import model as own
from app.texts import Prose
from vitcore.models.checkpoint_inspection.open_questions import Question, written

LARGEST_PX = 2048
SELDOM = ("activation", "eps")  # other than likely, and least to be seen
FREE = {"normalise", "eps"}  # answers that may be numbers of one's own
COMMON_EPS = ("1e-06", "1e-05", "1e-12")
NAMED, LONGEST = 6, 40  # classes whose names are shown, and their letters


def part(one: own.Brought, text: Prose) -> None:
    """Which model, where the file holds several."""
    names = [name.rstrip(".") or "model" for name in one.inspection.parts]
    now = one.inspection.part.name.rstrip(".") or "model"
    chosen = st.selectbox(text["part"], names, names.index(now), key=f"own_part_{one.turn}")
    if chosen == now:
        return
    if problem := own.choose_part(one, chosen):
        st.error(controls.verbatim(problem), icon=":material/block:")
        st.stop()
    st.rerun()


def everything(one: own.Brought, text: Prose) -> own.Opening:
    """All questions; what is not touched is the likely answer."""
    st.markdown(f"### {text['questions title']}")
    st.markdown(text["questions" if one.inspection.questions else "no questions"])
    first, seldom = ([q for q in one.inspection.questions if (q.key in SELDOM) == rare] for rare in (False, True))
    answers = {question.key: _answer(question, one, text) for question in first}
    if seldom:
        with st.expander(text["seldom"], icon=":material/tune:"):
            answers |= {question.key: _answer(question, one, text) for question in seldom}
    labels = _labels(one, text)
    size, way = _size(one, text)
    return own.Opening(answers, labels, size, way)


def _answer(question: Question, one: own.Brought, text: Prose) -> str:
    likely = written(question.likely)
    others = COMMON_EPS if question.key == "eps" else tuple(written(choice) for choice in question.choices)
    options = list(dict.fromkeys([likely, *others]))

    def called(option: str) -> str:
        said = text.get(f"answer {question.key} {option}", option)
        return f"{said} · {text['likely']}" if option == likely else said

    chosen = st.selectbox(
        question.asks, options, format_func=called, key=f"own_{question.key}_{one.turn}_{one.part or ''}",
        accept_new_options=question.key in FREE,
    )  # fmt: skip
    st.caption(controls.verbatim(question.consequence))
    return str(chosen or likely)


def _labels(one: own.Brought, text: Prose) -> list[str] | None:
    """Names of the classes: the model's own, or those of a file."""
    classes, own_names = own.classes_of(one), one.inspection.configured.labels
    if classes == 0:
        return None
    names = one.labels or own_names
    if names:
        some = ", ".join(name[:LONGEST] for name in names[:NAMED]) + ("…" if len(names) > NAMED else "")
        st.markdown(
            text["labels file" if one.labels else "labels own"].format(count=len(names), names=controls.verbatim(some))
        )
    elif classes is not None:
        st.markdown(text["labels imagenet" if classes == 1000 else "labels none"].format(classes=f"{classes:,}"))
    with st.expander(text["class names"], icon=":material/label:"):
        st.markdown(text["labels about"])
        turn = st.session_state.setdefault("_labels_turn", 0)
        given = st.file_uploader(text["labels drop"], key=f"own_labels_{turn}", max_upload_size=own.LABELS_MB)
        if given is not None:
            st.session_state["_labels_turn"] = turn + 1
            st.session_state["_labels_problem"] = (one.turn, own.bring_labels(one, given))
            st.rerun()
        whose, problem = st.session_state.get("_labels_problem") or (0, None)
        if problem and whose == one.turn:
            st.error(controls.verbatim(problem), icon=":material/broken_image:")
    return one.labels


def _size(one: own.Brought, text: Prose) -> tuple[tuple[int, int] | None, str]:
    """Another input size than the model was made for, and how its positions are interpolated to it."""
    rows, cols = one.inspection.inferred.step_px
    high, wide = _native(one)
    if not st.toggle(text["resize"], key=f"own_resize_{one.turn}", help=text["resize help"]):
        return None, "timm"
    left, right = st.columns(2)
    tall = left.number_input(text["height"], rows, LARGEST_PX, high, rows, key=f"own_high_{one.turn}")
    broad = right.number_input(text["width"], cols, LARGEST_PX, wide, cols, key=f"own_wide_{one.turn}")
    way = st.radio(
        text["way"], ["timm", "paper"], format_func=lambda name: text[f"way {name}"], key=f"own_way_{one.turn}"
    )
    return (int(tall), int(broad)), str(way)


def _native(one: own.Brought) -> tuple[int, int]:
    inferred = one.inspection.inferred
    grid = inferred.grid or next((q.likely for q in inferred.questions if q.key == "grid"), None)
    if grid is None:  # of timm's names: the size is in its own configuration
        size = inferred.architecture.get("img_size") or 224
        return (size, size) if isinstance(size, int) else (int(size[0]), int(size[1]))
    return grid[0] * inferred.step_px[0], grid[1] * inferred.step_px[1]
