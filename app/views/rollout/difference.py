"""How the rollout lab's two sides differ: one map minus the other, and how alike they order the patches."""

from __future__ import annotations

import streamlit as st

from app.components.figure import downloads, explain
from app.components.picture.picture import picture
from app.furniture import controls, outliers
from app.state import insights
from app.views.rollout.question import Asked
from app.views.rollout.side import Side


def difference(a: Asked, left: Side, right: Side) -> None:
    """Left minus right in percentage points of each map's total, and how alike the two order the patches."""
    from vitcore import figures
    from vitcore.analysis.relevance import difference_points, rank_correlation
    from vitcore.figures.heat_overlay import scale_on_photo
    from vitcore.figures.relevance import limit

    text, grid = a.text, a.rec.grid
    values, alike = difference_points(left.raw, right.raw), rank_correlation(left.raw, right.raw)
    least, unit = (
        100 / grid.patches,
        text["points"],
    )  # the scale reaches an even share: maps that hardly differ look like nothing
    most = limit(values, True, least)
    same = left.method is right.method  # the same twice, with other settings
    pair = {"left": text["left"] if same else text[f"method.{left.method.name}"],
            "right": text["right"] if same else text[f"method.{right.method.name}"]}  # fmt: skip
    title = text["difference"].format(**pair)
    found = outliers.in_map(a.vit, a.rec, values, attended=False, masked=left.found.masked and right.found.masked)
    photo_shown, mode = a.photo_shown, a.mode
    one, two = st.columns(2, gap="large")
    with one:
        st.markdown(f"## {title}")
        picture(
            a.address, grid.rows, grid.cols, grid.step_px, key="differ", label=title, target="patch",
            also=("ask", True), overlay=insights.overlay(a.rec, (left.of(a), right.of(a)), True, values, most),
            detail=a.detail, values=values.ravel().tolist(), unit=unit, lines=False, marks=found.patches,
            told=found.told,
        )  # fmt: skip
        controls.bar(scale_on_photo(values, most, unit, signed=True), "differ_scale")
        outliers.beside(found, "differ")
    with two:
        if abs(values).max() > 0:  # not where nothing differs
            place = int(abs(values).argmax())
            row, col = grid.row_col(place)
            who = pair["left" if values.flat[place] > 0 else "right"]
            apart = {"patch": place, "row": row, "col": col, "points": abs(values.flat[place]), "who": who}
            st.markdown(text["apart"].format(**apart))
        st.metric(text["alike"], f"{alike:.2f}" if alike == alike else "–", help=text["alike help"])
        explain(text["difference how"].format(**pair), text["difference limits"])
        downloads(
            lambda: figures.outlined(
                figures.relevance(values, photo_shown, grid, title, unit, signed=True, mode=mode, least=least),
                found.patches, grid,
            ),
            "difference", text["difference how"].format(**pair), of=(a.photo.name, a.vit.called),
            called=f"{left.method.name} less {right.method.name}", difference=values,
        )  # fmt: skip
