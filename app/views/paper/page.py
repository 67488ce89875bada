"""The paper's tables as charts: Figures 2, 3 and 5, what they say, and a click on a model opens it on your photo."""

import streamlit as st

from app import texts
from app.components import page_theme
from app.components.figure import aside, explain, lead, plot
from app.shell import query_controls
from app.views.paper import chart_sentences, clicked_model

text = texts.prose("paper")
aside(text["intro"])
part = query_controls.button_row(
    text, "part", ["data", "compute", "art", "vtab", "positions", "optimiser", "models", "settings", "curves"]
)

from vitcore.paper import charts, tables  # noqa: E402

mode = page_theme.current()
DATASETS = {
    "data": list(dict.fromkeys(row["dataset"] for row in tables.table_rows("5"))),
    "compute": ["mean", *tables.FIVE_DATASETS, "ImageNet ReaL"],
    "art": list(dict.fromkeys(row["dataset"] for row in tables.table_rows("2"))),
}
PRINTED = {"data": ["5"], "compute": ["6"], "art": ["2", "2-compute"], "vtab": ["9"], "positions": ["8"], "optimiser": ["7"],
           "models": ["1"], "settings": ["3", "4"], "curves": []}  # fmt: skip
DRAWN = {"data": charts.data_size_chart, "compute": charts.compute_chart, "art": charts.state_of_the_art_chart}
ALONE = {"vtab": charts.vtab_chart, "positions": charts.position_embeddings_chart, "optimiser": charts.optimisers_chart}


def table(name: str) -> None:
    """A table as the paper prints it, cell by cell; columns that are no model's or data set's name are put into words."""
    given = tables.table_rows(name)
    columns = [column for column in given[0] if column != "table"]
    st.dataframe(
        {text.get(f"column {column}", column): [row[column] for row in given] for column in columns},
        hide_index=True,
        alt=text["table alt"].format(table=given[0]["table"]),
    )


st.subheader(text[f"title {part}"], anchor=False)
if part in DRAWN:
    names = {name: charts.dataset_title(name) for name in DATASETS[part]}
    dataset = query_controls.select_menu(text["dataset"], names, f"dataset_{part}", width=280, index=list(names).index("ImageNet"))
    aside(chart_sentences.chart_sentence(part, dataset, text), key="aside_found")
    touch = None if part == "art" else clicked_model.remember_model
    with lead():
        plot(DRAWN[part](dataset, mode), f"paper_{part}", text[f"alt {part}"], touch)
    explain(text[f"how {part}"], text[f"limits {part}"])
    if part != "art":
        clicked_model.show_model(text)
elif part in ALONE:
    aside(chart_sentences.chart_sentence(part, "", text), key="aside_found")
    with lead():
        plot(ALONE[part](mode), f"paper_{part}", text[f"alt {part}"])
    explain(text[f"how {part}"], text[f"limits {part}"])
elif part == "curves":
    for number in ("4", "8", "9", "12", "13"):
        st.markdown(f"**{text['figure'].format(number=number)}** {text[f'curve {number}']}")
    explain("", text["limits curves"])
else:
    st.markdown(text[f"about {part}"])
for number in PRINTED[part]:
    name = text["as printed"].format(number=number.partition("-")[0], holds=text[f"holds {number}"])
    with st.expander(name, expanded=part in ("models", "settings")):
        table(number)
st.caption(text["source curves" if part == "curves" else "source"])
