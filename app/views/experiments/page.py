"""The paper's experiments in small: our curves over several seeds, what each tested sentence came to, and the paper beside it."""

import streamlit as st

from app import texts
from app.components.figure import aside, explain, lead, plot
from app.furniture import controls
from app.views.experiments import beside, run_of_a_dot, verdict
from vitcore.experiments import results_csv
from vitcore.translation import say

run_of_a_dot.go()
text = texts.prose("experiments")
aside(text["intro"])

from vitcore.experiments.catalogue import EXPERIMENTS  # noqa: E402
from vitcore.experiments.experiment import MEASURES  # noqa: E402
from vitcore.experiments.experiment_chart import chart  # noqa: E402

every = [
    {name: texts.table(lang).get(one.title, one.title) for name, one in EXPERIMENTS.items()} for lang in texts.LANGUAGES
]
names = {name: say(one.title) for name, one in EXPERIMENTS.items()}
chosen = EXPERIMENTS[controls.named(text["experiment"], names, "experiment", every, width=360)]
by_origin = results_csv.results(chosen.name)
st.subheader(text["heading"].format(title=say(chosen.title), where=beside.where(chosen)), anchor=False)
if not by_origin:
    st.info(text["none yet"], icon=":material/science:")
    st.code(f"vitcore experiment {chosen.name} --quick", language="bash")
    st.stop()
kind = next(iter(by_origin))
if len(by_origin) > 1:
    kind = controls.choice(text, "results", list(by_origin))
results = by_origin[kind]
if isinstance(results, str):
    st.warning(controls.verbatim(results), icon=":material/history:")
    st.stop()
ours, theirs = lead().columns([3, 2], gap="large")
with ours:
    measure = chosen.measure
    titles = {name: say(MEASURES[name]) for name in chosen.measures if name != chosen.x_measure}
    if len(titles) > 1:
        measure = controls.named(text["measure"], titles, f"measure_{chosen.name}", width=320)
    plot(chart(chosen, results, measure, controls.theme()), f"experiment_{chosen.name}",
         text["alt"].format(title=say(chosen.title)), run_of_a_dot.keep)  # fmt: skip
    explain(say(chosen.measured))
with theirs:
    verdict.show(chosen, results, text)
with st.expander(text["paper numbers"], icon=":material/menu_book:"):
    beside.show(chosen, text)
beside.pictures(results, text)
run_of_a_dot.show(text)
verdict.made(chosen, results, text)
