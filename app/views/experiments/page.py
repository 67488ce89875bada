"""The paper's experiments in small: our runs and the paper's numbers side by side, and what each tested sentence came to."""

import streamlit as st

from app import texts
from app.components.figure import picture_container, picture_menus_container, show_explanation_fold
from app.shell import query_controls
from app.views.experiments import result_charts, verdict_section
from vitcore.experiments import results_csv
from vitcore.experiments.experiment import MEASURES
from vitcore.translation import say

text = texts.prose("experiments")

from vitcore.experiments.catalogue import EXPERIMENTS  # noqa: E402

titles_in_all_languages = [
    {name: texts.translation_table(lang).get(one.title, one.title) for name, one in EXPERIMENTS.items()} for lang in texts.LANGUAGES
]
names = {name: say(one.title) for name, one in EXPERIMENTS.items()}
with picture_menus_container():
    chosen = EXPERIMENTS[query_controls.select_menu(text["experiment"], names, "experiment", titles_in_all_languages, width=320)]
charts = picture_container()
menus = st.container(horizontal=True, vertical_alignment="bottom")
by_origin = results_csv.own_and_shipped_results(chosen.name)
if not by_origin:
    st.info(text["none yet"], icon=":material/science:")
    st.code(f"vitcore experiment {chosen.name} --quick", language="bash")
    st.stop()
kind = next(iter(by_origin))
if len(by_origin) > 1:
    with menus:
        kind = query_controls.button_row(text, "results", list(by_origin))
results = by_origin[kind]
if isinstance(results, str):
    st.warning(texts.escape_markdown(results), icon=":material/history:")
    st.stop()
measure = chosen.measure
titles = {name: say(MEASURES[name]) for name in chosen.measures if name != chosen.x_measure}
if len(titles) > 1:
    with menus:
        measure = query_controls.select_menu(text["measure"], titles, f"measure_{chosen.name}", width=320)
ours, theirs = charts.columns(2, gap="large")
with ours:
    result_charts.show_run_chart(chosen, results, measure, text)
with theirs:
    result_charts.show_paper_numbers(chosen, text)
verdict_section.show_verdicts(chosen, results, text)
show_explanation_fold(verdict_section.finding_and_method_text(chosen, text), say(chosen.untested))
result_charts.show_clicked_run(text)
result_charts.show_training_pictures(results, text)
verdict_section.show_protocol(chosen, results, text)
