"""The paper's tables as charts: Figures 2, 3 and 5, what they say, and a click on a model opens it on your photo."""

from collections.abc import Callable
from dataclasses import replace

import streamlit as st

from app import texts
from app.components import light_or_dark
from app.components.figure import picture_container, picture_menus_container, remember_click, show_drawing, show_explanation_fold
from app.shell import lecture_mode, query_controls
from app.views.paper import chart_sentences, clicked_model
from vitcore.paper import charts, tables

PARTS = ("data", "compute", "art", "vtab", "positions", "optimiser", "models", "settings", "curves")
text = texts.prose("paper")
with picture_menus_container():
    part = query_controls.word_menu(text["part"], text, {name: f"part.{name}" for name in PARTS}, "part", width=240)
chart = picture_container()

mode = light_or_dark.current_theme()
DATASETS = {
    "data": list(dict.fromkeys(row["dataset"] for row in tables.paper_table_rows("5"))),
    "compute": ["mean", *tables.FIVE_DATASETS, "ImageNet ReaL"],
    "art": list(dict.fromkeys(row["dataset"] for row in tables.paper_table_rows("2"))),
}
PRINTED = {"data": ["5"], "compute": ["6"], "art": ["2", "2-compute"], "vtab": ["9"], "positions": ["8"], "optimiser": ["7"],
           "models": ["1"], "settings": ["3", "4"], "curves": []}  # fmt: skip
DRAWN: dict[str, Callable] = {
    "data": charts.data_size_chart, "compute": charts.compute_chart, "art": charts.state_of_the_art_chart,
    "vtab": charts.vtab_chart, "positions": charts.position_embeddings_chart, "optimiser": charts.optimisers_chart,
}  # fmt: skip


def _show_paper_table(name: str) -> None:
    """A table as the paper prints it, cell by cell; columns that are no model's or data set's name are put into words."""
    given = tables.paper_table_rows(name)
    columns = [column for column in given[0] if column != "table"]
    st.dataframe(
        {text.get(f"column {column}", column): [row[column] for row in given] for column in columns},
        hide_index=True,
        alt=text["table alt"].format(table=given[0]["table"]),
    )


dataset = ""
if part in DATASETS:
    names = {name: charts.dataset_title(name) for name in DATASETS[part]}
    dataset = query_controls.select_menu(text["dataset"], names, f"dataset_{part}", width=240, index=list(names).index("ImageNet"))
if part in DRAWN:
    title, details = chart_sentences.chart_finding(part, dataset, text)
    drawn = DRAWN[part](dataset, mode) if dataset else DRAWN[part](mode=mode)
    touch = remember_click(clicked_model.CLICKED) if part in ("data", "compute") else None
    with chart:
        show_drawing(
            replace(drawn, title=title), f"paper_{part}", text[f"alt {part}"], touch, fills_screen=lecture_mode.is_lecture()
        )
        show_explanation_fold("\n\n".join([details, f"{text['intro']} {text[f'how {part}']}"]), text[f"limits {part}"])
    if touch:
        clicked_model.show_clicked_model(text)
else:
    st.subheader(text[f"title {part}"], anchor=False)
    if part == "curves":
        for number in ("4", "8", "9", "12", "13"):
            st.markdown(f"**{text['figure'].format(number=number)}** {text[f'curve {number}']}")
    show_explanation_fold("" if part == "curves" else text[f"about {part}"], text.get(f"limits {part}", ""))
for number in PRINTED[part]:
    name = text["as printed"].format(number=number.partition("-")[0], holds=text[f"holds {number}"])
    with st.expander(name, expanded=part in ("models", "settings")):
        _show_paper_table(number)
st.caption(text["source"])
