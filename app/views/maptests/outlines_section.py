"""Plausibility: how well maps agree with outlines that people drew, measured on the model that ships."""

import streamlit as st

from app.components.figure import explain
from app.state.jobs import map_tests
from app.state.visit.visit import Visit

MEASURES = ("auc", "pointing", "mass")


def show_outlines(visit: Visit) -> None:
    """The table that ships, or the command that makes one of another model."""
    from vitcore.faithfulness.plausibility import score_title

    text = visit.texts
    if not map_tests.has_shipped_tests(visit.vit):
        st.caption(text["own outlines"])
        st.code(f"python -m vitcore test --masks FOLDER --model {visit.vit.name}", language="sh")
        return
    shipped = map_tests.shipped_tests()
    rows = shipped.plausibility
    st.markdown(text.fill("outlines found", photos=next(iter(rows.values())).photos))
    columns: dict[str, list[str]] = {text["method"]: [score_title(name) for name in rows]}
    for measure in MEASURES:
        columns[text[measure]] = [
            "{:.2f} ({:.2f}–{:.2f})".format(row.means[measure], *row.intervals[measure]) for row in rows.values()
        ]
    st.dataframe(columns, hide_index=True, alt=text["outlines alt"])
    explain(
        text["outlines how"],
        text.joined((text["outlines limits"], text["made by"].format(command=shipped.commands["plausibility"]))),
    )
