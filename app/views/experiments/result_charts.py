"""Charts of an experiment: our runs, what the paper itself prints of the same thing, and the pictures that were learned from."""

from collections.abc import Callable
from dataclasses import replace

import streamlit as st

from app.components import light_or_dark
from app.components.figure import remember_click, show_drawing
from app.menu import page_target
from app.shell.page_switch import request_page
from app.state.training import run_status, training_preview
from app.texts import Prose
from vitcore import figures
from vitcore.experiments.experiment import Experiment
from vitcore.experiments.results_csv import ExperimentResults
from vitcore.paper import charts
from vitcore.translation import say

CLICKED = "_experiment_run"  # the run that was clicked last; a mean over seeds belongs to none
HEIGHT_PX = 500  # of both charts, side by side


def _paper_section_figure_or_table(experiment: Experiment) -> str:
    """Where in the paper the finding is."""
    kind, number = experiment.where
    return say(kind, number=number)


def show_training_pictures(results: ExperimentResults, text: Prose) -> None:
    """Some of the drawn pictures that were learned from, class by class."""
    data = results.facts["data"]
    if not training_preview.is_synthetic_source(data):
        return
    with st.expander(text["drawn"], icon=":material/draw:"):
        st.markdown(text["fair"])
        examples, titles = training_preview.draw_synthetic_examples(data), training_preview.synthetic_class_titles(data)
        show_drawing(figures.synthetic_pictures(*examples, titles, mode=light_or_dark.current_theme()), "drawn", text["drawn alt"])


def show_run_chart(experiment: Experiment, results: ExperimentResults, measure: str, text: Prose) -> None:
    """A measure of our runs, a curve each; a dot that is touched opens its run."""
    from vitcore.experiments.experiment_chart import chart_from_results

    drawn = chart_from_results(experiment, results, measure, light_or_dark.current_theme())
    title = say(experiment.title)
    show_drawing(replace(drawn, title=text["ours"].format(title=title), height_px=HEIGHT_PX), f"experiment_{experiment.name}",
         text["alt"].format(title=title), remember_click(CLICKED))  # fmt: skip


def show_paper_numbers(experiment: Experiment, text: Prose) -> None:
    """The paper's numbers; where it prints none, its finding in words."""
    if not experiment.table:
        st.markdown(f"**{text['paper says']}** {say(experiment.finding)}")
        st.caption(text["no numbers"].format(where=_paper_section_figure_or_table(experiment)))
        return
    drawn: dict[str, Callable] = {
        "positions": charts.position_embeddings_chart, "data": charts.data_size_chart, "optimiser": charts.optimisers_chart,
        "compute": charts.compute_chart,
    }  # fmt: skip
    fig = drawn[experiment.table](mode=light_or_dark.current_theme())
    show_drawing(replace(fig, title=text["theirs"].format(title=fig.title), height_px=HEIGHT_PX), f"paper_{experiment.table}",
         text["paper alt"].format(where=_paper_section_figure_or_table(experiment)))  # fmt: skip
    st.page_link(page_target("paper"), label=text["more of the paper"], icon=":material/menu_book:",
                 query_params={"part": experiment.table})  # fmt: skip


PAGE_ICONS = {"filters": ":material/blur_on:", "positions": ":material/grid_on:", "distance": ":material/straighten:",
         "rollout": ":material/center_focus_strong:"}  # fmt: skip


def show_clicked_run(text: Prose) -> None:
    """The run that was clicked, and the pages that look inside its model."""
    run = st.session_state.get(CLICKED)
    if not run:
        st.caption(text["click"])
        return
    with st.container(border=True):
        st.markdown(text["run"].format(run=run))
        if run_status.run_model_folder(f"runs/{run}") is None:
            st.caption(text["run not here"])
            return
        model = {"model": f"runs/{run}"}
        with st.container(horizontal=True):
            for slug, icon in PAGE_ICONS.items():
                st.button(
                    text[f"open {slug}"], key=f"open_{slug}", icon=icon, on_click=request_page, args=(slug, model), kwargs=model
                )
