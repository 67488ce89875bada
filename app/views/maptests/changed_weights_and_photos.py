"""Random weights and stability: what becomes of a map as the weights, or the photo, change."""

from collections.abc import Callable, Iterable
from functools import partial

import streamlit as st

from app import texts
from app.components.figure import download_button, figure, in_visitors_language, show_explanation_fold
from app.components.page_style.page_style import page_size
from app.state import step_animations
from app.state.jobs import map_test_jobs
from app.state.visit.visit import Visit
from app.views.maptests.run_test_button import run_test_button
from vitcore.translation import decimal_or_dash

CHANGES = ("shift", "mirror", "jpeg", "class")


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
    words = words | {"title": text[f"film {test}"].format(method=map_title(name)), "found": text["film correlation"]}
    return partial(make, visit.vit.name, visit.photo.key, name, words, visit.mode)


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
