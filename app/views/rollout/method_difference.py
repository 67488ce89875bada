"""Below the two sides: how they differ, place by place."""

import streamlit as st

from app.components.figure import show_downloads, show_explanation_fold
from app.components.picture.picture import map_scale_bar, picture
from app.state.recordings import relevance_maps
from app.views.rollout.method_panel import MethodMap
from app.views.rollout.rollout_visit import RolloutVisit
from app.widgets import outlier_masking
from vitcore import figures
from vitcore.figures.heat_overlay import heat_colour_scale
from vitcore.figures.relevance import relevance_scale_top
from vitcore.translation import decimal_or_dash


def show_difference(visit: RolloutVisit, left: MethodMap, right: MethodMap) -> None:
    """Left minus right in percentage points of each map's total, and how alike the two order the patches."""
    text, grid = visit.texts, visit.grid
    values, rank_agreement = relevance_maps.map_difference(left.values, right.values)
    least, unit = (100 / grid.patches, text["points"])  # the scale reaches an even share: maps that hardly differ look like nothing
    most = relevance_scale_top(values, True, least)
    same = left.method is right.method  # the same twice, with other settings
    pair = {"left": text["left"] if same else text[f"method.{left.method.name}"],
            "right": text["right"] if same else text[f"method.{right.method.name}"]}  # fmt: skip
    title = text["difference"].format(**pair)
    map_outliers = outlier_masking.outliers_in_map(
        visit, values, is_attention=False, masked=left.outliers.masked and right.outliers.masked
    )
    photo_shown, mode = visit.input_picture, visit.mode
    one, two = st.columns(2, gap="large")
    with one:
        st.markdown(f"## {title}")
        keys = left.cache_key(visit), right.cache_key(visit)
        overlay = relevance_maps.opaque_heat_map_uri(visit.recording, keys, True, values, most, mode)
        picture(
            visit.photo_url, grid.rows, grid.cols, grid.step_px, key="differ", label=title, target="patch",
            also_choose=("ask", True), overlay=overlay, detail=visit.detail_url, values=values.ravel().tolist(), unit=unit,
            lines=False, marks=map_outliers.patches, marks_sentence=map_outliers.sentence,
        )  # fmt: skip
        map_scale_bar(heat_colour_scale(values, most, signed_unit=unit, mode=mode), "differ_scale")
        outlier_masking.show_note_and_switch(map_outliers, "differ")
    with two:
        if abs(values).max() > 0:  # not where nothing differs
            place = int(abs(values).argmax())
            row, col = grid.row_col(place)
            who = pair["left" if values.flat[place] > 0 else "right"]
            facts = {"patch": place, "row": row, "col": col, "points": abs(values.flat[place]), "who": who}
            st.markdown(text["apart"].format(**facts))
        st.metric(text["alike"], decimal_or_dash(rank_agreement, 2), help=text["alike help"])
    with two, st.container(horizontal=True):
        show_explanation_fold(text["difference how"].format(**pair), text["difference limits"], is_map=True)
        show_downloads(
            lambda: figures.frame_outliers(
                figures.relevance(values, photo_shown, grid, title, unit, signed=True, mode=mode, min_top=least),
                map_outliers.patches, grid,
            ),
            "difference", text["difference how"].format(**pair), subjects=visit.subjects,
            file_stem=f"{left.method.name} less {right.method.name}", difference=values,
        )  # fmt: skip
