"""The paper's tables on their page: each has a name of its own, columns have words, and a finding says what it cost."""

import pytest
from visitor import App

from app import texts
from app.views.paper import chart_sentences
from vitcore.paper import charts, tables
from vitcore.translation import using_translation

NAMES = {column for number in ("5", "6", "7", "9") for column in tables.paper_table_rows(number)[0] if column[0].isupper()}


def test_the_best_of_table_2_with_its_cost():
    words = texts.prose("paper", "en")
    title, said = chart_sentences.chart_finding("art", "ImageNet", words)
    assert title.startswith("ViT-H/14 is best with 88.55 %") and "2,500 TPUv3-core-days" in title
    assert "680 TPUv3-core-days for ViT-L/16 and 9,900 for BiT-L: 15 times as much" in said
    titles, on_data = zip(
        *(chart_sentences.chart_finding("data", name, words) for name in ("ImageNet", "Oxford-IIIT Pets")), strict=True
    )
    assert "Table 2 has 88.55 % for the same ViT-H/14" in on_data[0] and "(88.04 %)" in on_data[0]
    assert "Table 2" not in on_data[1], "both tables say 97.56 %"
    assert all(words["finding data few"][:40] in said for said in on_data)
    assert titles[0] == words["title data overtakes"], "ViT-L/16 is behind ViT-B/16 on ImageNet, ahead on JFT-300M"
    flowers, _ = chart_sentences.chart_finding("art", "Oxford Flowers-102", words)
    assert flowers.startswith("ViT-L/16 is best with 99.74 %") and "cost 680 " in flowers


@pytest.mark.parametrize("lang", ["en", "zh-CN"])
@pytest.mark.parametrize("part", ["data", "compute", "art", "vtab", "positions", "optimiser"])
def test_a_finding_is_the_title_of_its_chart(part, lang):
    app = App("paper", part=part, lang=lang).fine()
    with using_translation(texts.translation_table(lang)):
        title, details = chart_sentences.chart_finding(part, "ImageNet", texts.prose("paper", lang))
    assert f"**{title}**" in app.sentences("markdown")
    assert any(details in said for said in app.sentences("caption")) and app.chart(texts.prose("paper", lang)[f"alt {part}"])


@pytest.mark.parametrize("lang", texts.LANGUAGES)
def test_every_column_has_words(lang):
    text = texts.prose("paper", lang)
    columns = {column for number in tables.TABLE_NAMES for column in tables.paper_table_rows(number)[0]}
    assert {column for column in columns - {"table"} if f"column {column}" not in text} == NAMES
    holds = [text[f"holds {number}"] for number in tables.TABLE_NAMES]
    assert len(set(holds)) == len(holds)


def test_tables_of_one_part_are_told_apart():
    app = App("paper", part="art").fine()
    names = [one.label for one in app.at.expander if one.label.startswith("Table")]
    assert names == ["Table 2 as printed: accuracy", "Table 2 as printed: cost of pre-training"]
    accuracy, cost = (list(frame.value.columns) for frame in app.at.dataframe)
    assert accuracy == ["data set", "model", "pre-trained on", "accuracy (%)", "standard deviation"]
    assert cost == ["model", "pre-trained on", "cost (TPUv3-core-days)"]


def test_what_the_pointer_is_told_has_short_lines():
    """A line of 60 characters is cut off where the chart is narrow."""
    told = [line for dots in charts.state_of_the_art_chart().to_plotly().data for said in dots.text for line in said.split("<br>")]
    assert "ImageNet + JFT-300M unlabelled" in told and max(map(len, told)) <= 32
