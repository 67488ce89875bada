"""Tests over many photos that ship for the shipped model: the methods' ranking by deletion, and outlines that people drew."""

from typing import Any

import streamlit as st

from app import texts
from app.components.figure import figure, show_explanation_fold
from app.state.jobs import map_test_jobs
from app.state.visit.visit import Visit

MEASURES = ("auc", "pointing", "mass")


def show_gallery_ranking(visit: Visit, fill: str) -> None:
    """Which method is best over the gallery, in one sentence, and as intervals."""
    text, shipped = visit.texts, map_test_jobs.shipped_tests()
    best, rollout = map_test_jobs.ranking_sentences(fill, "rollout")
    st.markdown(texts.escape_markdown(text.join_sentences((best, rollout))))
    gaps: dict[str, Any] = {score.name: score.gaps for score in map_test_jobs.shipped_ranking(fill)}
    figure(
        map_test_jobs.ranking_drawing(visit.mode), "ranking", text["ranking alt"], text["ranking how"],
        text.join_sentences((text["ranking limits"], text["made by"].format(command=shipped.commands["deletion"]))),
        subjects=visit.subjects[1:], **gaps,
    )  # fmt: skip


def show_ranking_command(visit: Visit, fill: str) -> None:
    """How the ranking over a folder of photos is had for a model whose tests do not ship."""
    st.caption(visit.texts["own ranking"])
    st.code(f"python -m vitcore test FOLDER --model {visit.vit.name} --fill {fill} --csv maps", language="sh")


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
