"""The paper's experiments in small: our curves over several seeds, what each tested sentence came to, and the paper beside it."""

import streamlit as st

from app import texts
from app.components import page_theme
from app.components.figure import aside, explain, lead, plot
from app.shell import query_controls
from app.views.experiments import clicked_run, paper_numbers, verdicts
from vitcore.experiments import results_csv
from vitcore.translation import say

clicked_run.open_requested_page()
text = texts.prose("experiments")
aside(text["intro"])

from vitcore.experiments.catalogue import EXPERIMENTS  # noqa: E402
from vitcore.experiments.experiment import MEASURES  # noqa: E402
from vitcore.experiments.experiment_chart import chart_from_results  # noqa: E402

titles_in_all_languages = [
    {name: texts.table(lang).get(one.title, one.title) for name, one in EXPERIMENTS.items()} for lang in texts.LANGUAGES
]
names = {name: say(one.title) for name, one in EXPERIMENTS.items()}
chosen = EXPERIMENTS[query_controls.select_menu(text["experiment"], names, "experiment", titles_in_all_languages, width=360)]
by_origin = results_csv.available_results(chosen.name)
st.subheader(text["heading"].format(title=say(chosen.title), where=paper_numbers.paper_reference(chosen)), anchor=False)
if not by_origin:
    st.info(text["none yet"], icon=":material/science:")
    st.code(f"vitcore experiment {chosen.name} --quick", language="bash")
    st.stop()
kind = next(iter(by_origin))
if len(by_origin) > 1:
    kind = query_controls.button_row(text, "results", list(by_origin))
results = by_origin[kind]
if isinstance(results, str):
    st.warning(texts.escape_markdown(results), icon=":material/history:")
    st.stop()
ours, theirs = lead().columns([3, 2], gap="large")
with ours:
    measure = chosen.measure
    titles = {name: say(MEASURES[name]) for name in chosen.measures if name != chosen.x_measure}
    if len(titles) > 1:
        measure = query_controls.select_menu(text["measure"], titles, f"measure_{chosen.name}", width=320)
    plot(chart_from_results(chosen, results, measure, page_theme.current()), f"experiment_{chosen.name}",
         text["alt"].format(title=say(chosen.title)), clicked_run.remember_run)  # fmt: skip
    explain(say(chosen.measured))
with theirs:
    verdicts.show_verdicts(chosen, results, text)
with st.expander(text["paper numbers"], icon=":material/menu_book:"):
    paper_numbers.show_paper_numbers(chosen, text)
paper_numbers.show_training_pictures(results, text)
clicked_run.show_clicked_run(text)
verdicts.show_protocol(chosen, results, text)
