"""Random weights, stability, and outlines that people drew: three more tests of maps, and the button that runs one."""

from collections.abc import Callable, Iterable
from functools import partial

import streamlit as st

from app import texts
from app.components.figure import download_button, figure, in_visitors_language, show_explanation_fold
from app.components.page_style.page_style import page_size
from app.state import step_animations
from app.state.jobs import map_test_jobs
from app.state.jobs.map_test_jobs import Progress
from app.state.memory import memory_cache
from app.state.visit.visit import Visit
from app.texts import Prose
from vitcore.models.model_cards import ModelError
from vitcore.translation import decimal_or_dash

CHANGES = ("shift", "mirror", "jpeg", "class")
MEASURES = ("auc", "pointing", "mass")


def show_randomisation_test(visit: Visit) -> None:
    """The chart, of this photo or of those that ship, a sentence on maps that do not change, and the button."""
    text, rec, vit = visit.texts, visit.recording, visit.vit
    tests, is_own = map_test_jobs.own_or_shipped_randomisation_tests(rec, vit)
    if tests:
        drawn, sentence = map_test_jobs.randomisation_drawing(tests, visit.mode, bool(page_size().narrow))
        of = text["of this photo"] if is_own else text.fill("of the gallery", count=len(tests))
        st.markdown(texts.escape_markdown(text.join_sentences((sentence, of))))
        values = map_test_jobs.randomisation_correlations(tests)
        moving = _animation(visit, "weights", values, {"trained": text["film trained"], "step": text["film step weights"]})
        figure(drawn, "weights", text["weights alt"], text["weights how"], text["weights limits"], subjects=visit.subjects,
               animation=moving, **values)  # fmt: skip
    else:
        st.caption(text["weights how"])
    if not is_own:
        run_test_button("weights", text["test weights"], partial(map_test_jobs.photo_randomisation, rec, vit), text)


def _animation(visit: Visit, test: str, names: Iterable[str], words: dict[str, str]) -> Callable[[], bytes]:
    """One map of this photo as the weights, or the photo, change; of the tested ones the first that has no sign."""
    from vitcore.faithfulness.method_maps import map_title

    name, text = map_test_jobs.filmed_map(names), visit.texts
    make = {"weights": step_animations.randomised_weights_animation, "stability": step_animations.changed_photo_animation}[test]
    words |= {"title": text[f"film {test}"].format(method=map_title(name)), "found": text["film correlation"]}
    return partial(make, visit.vit.name, visit.photo.key, name, words, visit.mode)


def run_test_button(key: str, label: str, compute: Callable[[Progress], object], text: Prose) -> None:
    """The button; when it is pressed, progress in its place, then the page is drawn anew with what was computed.

    Whatever else a visitor does meanwhile ends the test: the next word of its progress is where Streamlit stops the run.
    """
    common = texts.prose("common")
    if not st.session_state.pop(f"_run_{key}", False):
        st.button(label, key=f"run_{key}", icon=":material/play_arrow:",
                  on_click=st.session_state.update, kwargs={f"_run_{key}": True})  # fmt: skip
        return
    bar = st.progress(0.0, text["begun"])
    st.button(common["stop"], key=f"stop_{key}", icon=":material/stop:")
    try:
        compute(lambda done, count: bar.progress(done / count, text.fill("done", done=done, count=count)))
    except memory_cache.MemoryBudgetError:
        st.warning(common["no room now"], icon=":material/memory:")
        return
    except ModelError as error:
        st.info(texts.escape_markdown(str(error)), icon=":material/info:")
        return
    st.rerun()


def show_stability_test(visit: Visit) -> None:
    """The table, of this photo or of those that ship, and the button."""
    from vitcore.faithfulness.method_maps import is_class_specific, map_title
    from vitcore.faithfulness.stability import JPEG_QUALITY

    text, rec, vit = visit.texts, visit.recording, visit.vit
    found, photos = map_test_jobs.stability_or_none(rec, vit)
    if found:
        st.markdown(text.fill("of the gallery", count=photos) if photos else text["of this photo"])
        columns = {text["method"]: [map_title(name) for name in found]}
        for one in CHANGES:
            asked = [one != "class" or is_class_specific(name) for name in found]
            columns[text[f"change.{one}"]] = [
                decimal_or_dash(values[one], 2) if known else "" for values, known in zip(found.values(), asked, strict=True)
            ]
        st.dataframe(columns, hide_index=True, alt=text["stability alt"])
    with st.container(horizontal=True):
        show_explanation_fold(text["stability how"].format(quality=JPEG_QUALITY), text["stability limits"])
        if found:
            words = {"photo": text["film photo"]} | {one: text[f"change.{one}"] for one in CHANGES}
            film = in_visitors_language(_animation(visit, "stability", found, words))
            download_button(texts.prose("report")["animation gif"], film, "gif", ("stability", *visit.subjects),
                            key="stability_gif", icon=":material/gif_box:")  # fmt: skip
    if photos or not found:
        run_test_button("stability", text["test stability"], partial(map_test_jobs.photo_stability, rec, vit), text)


def show_plausibility_table(visit: Visit) -> None:
    """The table that ships, or the command that makes one of another model."""
    from vitcore.faithfulness.plausibility import score_title

    text = visit.texts
    if not map_test_jobs.has_shipped_tests(visit.vit):
        st.caption(text["own outlines"])
        st.code(f"python -m vitcore test --masks FOLDER --model {visit.vit.name}", language="sh")
        return
    shipped = map_test_jobs.shipped_tests()
    rows = shipped.plausibility
    st.markdown(text.fill("outlines found", photos=next(iter(rows.values())).photos))
    columns: dict[str, list[str]] = {text["method"]: [score_title(name) for name in rows]}
    for measure in MEASURES:
        columns[text[measure]] = [
            "{:.2f} ({:.2f}–{:.2f})".format(row.means[measure], *row.intervals[measure]) for row in rows.values()
        ]
    st.dataframe(columns, hide_index=True, alt=text["outlines alt"])
    show_explanation_fold(
        text["outlines how"],
        text.join_sentences((text["outlines limits"], text["made by"].format(command=shipped.commands["plausibility"]))),
    )
