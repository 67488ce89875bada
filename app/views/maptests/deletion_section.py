"""Deletion and insertion of this photo as a chart and a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app import texts
from app.components.figure import figure
from app.components.page_style.page_style import page_size
from app.state import step_animations
from app.state.jobs import map_test_jobs
from app.state.visit.visit import Visit
from app.views.maptests.run_test_button import run_test_button
from vitcore.translation import percent, translated_labels

if TYPE_CHECKING:
    from vitcore.faithfulness.method_ranking import PhotoDeletion


def show_photo_deletion(visit: Visit, fill: str, insertion: bool, charts: DeltaGenerator, progress: DeltaGenerator) -> None:
    """The chart and the table of this photo, or the button that computes them."""
    from vitcore.faithfulness.deletion import RANDOM_ORDERS

    text, rec, vit = visit.texts, visit.recording, visit.vit
    found = map_test_jobs.deletion_or_none(rec, visit.sample, fill, vit)
    if found is None:
        charts.info(text["not tested"], icon=":material/info:")
    if found is None or not found.places:
        with progress:
            if found is None:
                run_test_button("deletion", text["test photo"], partial(map_test_jobs.photo_deletion, rec, fill, vit), text)
            else:
                orders = partial(map_test_jobs.rank_among_random_orders, rec, fill, found, vit)
                run_test_button("orders", text["draw orders"].format(orders=RANDOM_ORDERS), orders, text)
    if found is not None:
        with charts:
            _show_deletion_chart(visit, found, insertion)
        _show_deletion_table(found, visit)


def _show_deletion_chart(visit: Visit, photo_deletion: PhotoDeletion, insertion: bool) -> None:
    """One of the two charts, with how to read it."""
    text, curves = visit.texts, photo_deletion.curves
    photo_deletion = replace(photo_deletion, label=translated_labels(visit.vit.labels)[next(iter(curves.values())).target])
    kind = "insertion" if insertion else "deletion"
    numbers: dict[str, Any] = {name: curve.weakest_first if insertion else curve.strongest_first for name, curve in curves.items()}
    figure(
        map_test_jobs.deletion_drawing(photo_deletion, insertion, visit.mode, bool(page_size().narrow)),
        kind,
        text[f"{kind} alt"],
        text["how"],
        text["limits"],
        subjects=visit.subjects,
        source=text["source"],
        caption=_best_methods_sentence(photo_deletion, text),
        fills_screen=True,
        animation=_animation(visit, photo_deletion, kind),
        shares=next(iter(curves.values())).shares,
        **numbers,
    )


def _best_methods_sentence(photo_deletion: PhotoDeletion, text: texts.Prose) -> str:
    """Which lines are best by deletion, and which by insertion: one ranking says nothing of the other."""
    less, by_deletion = _best({name: -curve.deletion for name, curve in photo_deletion.curves.items()}, text)
    more, by_insertion = _best({name: curve.insertion for name, curve in photo_deletion.curves.items()}, text)
    key = "best both" if by_deletion == by_insertion else "best each"
    return text[key].format(deletion=by_deletion, insertion=by_insertion, less=less, more=more)


def _best(scores: dict[str, float], text: texts.Prose) -> tuple[str, str]:
    """A method's largest score as it is shown, without its sign, beside those of orders that are no method; and whose it is.

    Where shown digits of methods are alike, they are tied.
    """
    from vitcore.faithfulness.method_maps import NO_METHODS, map_title

    shown = {name: f"{abs(score):.2f}" for name, score in scores.items()}
    methods = [name for name in scores if name not in NO_METHODS]
    most = shown[max(methods, key=lambda name: scores[name])]
    best = [name for name in methods if shown[name] == most]
    names = text.join_names(map_title(name) for name in best)
    others = text.join_names(f"{map_title(name)} {shown[name]}" for name in NO_METHODS if name in shown)
    return text["score beside"].format(score=most, others=others), text["tied"].format(names=names) if len(best) > 1 else names


def _animation(visit: Visit, found: PhotoDeletion, kind: str) -> Callable[[], bytes]:
    """Patches as they go, or come, in the order of the method that is best on this photo."""
    from vitcore.faithfulness.method_maps import map_title

    text, best = visit.texts, found.best
    words = {"title": text[f"film {kind}"].format(method=map_title(best)), "step": text[f"film step {kind}"]}
    return partial(
        step_animations.deletion_animation, visit.vit.name, visit.photo.key, found, best, kind == "insertion", words, visit.mode
    )


def _show_deletion_table(photo_deletion: PhotoDeletion, visit: Visit) -> None:
    """Areas by method, the best first, with the place among random orders."""
    from vitcore.faithfulness.method_maps import map_title

    text, rows = visit.texts, map_test_jobs.method_areas(photo_deletion)
    three = st.column_config.NumberColumn(format="%.3f")
    columns = {
        text["method"]: [map_title(row.name) for row in rows], text["deletion"]: [row.deletion for row in rows],
        text["insertion"]: [row.insertion for row in rows],
        text["difference"]: [round(row.insertion, 3) - round(row.deletion, 3) for row in rows],
    }  # fmt: skip
    config = {text[name]: three for name in ("deletion", "insertion", "difference")}
    if photo_deletion.places:
        columns[text["place"]] = ["" if row.place is None else percent(row.place, 0) for row in rows]
        config[text["place"]] = st.column_config.Column(help=text["place help"])
    st.dataframe(columns, hide_index=True, column_config=config, alt=text["table alt"])
