"""The same positions for a larger picture, interpolated as the paper and as timm do (§3.2), and their difference."""

from typing import Any

import streamlit as st

from app.components.figure import show_drawing, show_explanation_fold
from app.components.page_style.page_style import page_size
from app.shell import query_controls
from app.state.models import model_weights
from app.texts import Prose
from vitcore import figures
from vitcore.grid import Grid


def show_interpolation(model: str, grid: Grid, position: int, mode: Any, text: Prose) -> None:
    """A slider of how many patches a side, and three maps of the place that holds the chosen position."""
    side = query_controls.slider(text["side"], "side", 4, 32, min(32, grid.rows * 3 // 2), width=320)
    new = Grid(side, side, grid.patch_px, grid.prefix)
    place = model_weights.matching_patch(position, grid, new)
    both = model_weights.interpolated_position(model, side, place)
    titles = {"paper": text["way.paper"], "timm": text["way.timm"], "": text["difference"]}
    cosines = {"paper": both.paper, "timm": both.timm, "": both.difference}
    maps = st.grid(3, min_column_width=round(300 * page_size().scale))
    for way, title in titles.items():
        most = 1.0 if way else round(both.largest_difference + 0.005, 2)
        unit = text["cosine" if way else "difference of cosines"]
        with maps.container():
            show_drawing(figures.cosine_map(cosines[way], new, title, mode, place, unit, most, 320), f"resampled_{way}", title)
    how = text["other how"].format(row=place // side, col=place % side, largest=both.largest_difference)
    show_explanation_fold(text.join_sentences([text["other"], how]))
