"""Each sentence that was tested with its verdict as a stamp, the effect, and the paper's size; then how that was made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import streamlit as st

from app import texts
from app.texts import Prose
from vitcore.file_names import file_name
from vitcore.translation import say

if TYPE_CHECKING:
    from vitcore.experiments.experiment import Experiment
    from vitcore.experiments.results_csv import Results

Colour = Literal["green", "red", "gray"]
BADGES: dict[str, tuple[Colour, str]] = {
    "as large": ("green", "check_circle"),
    "other size": ("green", "expand"),
    "same": ("green", "north_east"),
    "opposite": ("red", "cancel"),
    "open": ("gray", "help"),
    "untestable": ("gray", "block"),
}


def show_verdicts(experiment: Experiment, results: Results, text: Prose) -> None:
    """What was tested, claim by claim, and the paper's finding beside it with what was not."""
    from vitcore.experiments import verdict_sentences
    from vitcore.experiments.catalogue import judge_claims

    for claim, verdict in judge_claims(experiment, results):
        with st.container(border=True, gap="small"):
            st.markdown(f"**{say(claim.sentence)}**")
            colour, icon = BADGES[verdict.verdict]
            st.badge(verdict_sentences.verdict_name(verdict), icon=f":material/{icon}:", color=colour)
            if effect := verdict_sentences.effect_text(claim, verdict):
                st.markdown(effect)
            st.caption(
                " ".join(
                    filter(
                        None,
                        (
                            verdict_sentences.paper_effect_text(claim),
                            verdict_sentences.open_reason_sentence(claim, verdict, results),
                        ),
                    )
                )
            )
    st.markdown(f"**{text['paper says']}** {say(experiment.finding)}")
    st.markdown(f"**{text['not tested']}** {say(experiment.untested)}")


def show_protocol(experiment: Experiment, results: Results, text: Prose) -> None:
    """The protocol, the command that makes the runs again, what they were made on, and their rows."""
    from vitcore.experiments import verdict_sentences
    from vitcore.experiments.results_csv import results_to_csv

    facts = results.facts
    with st.expander(text["again"], icon=":material/terminal:"):
        st.markdown(verdict_sentences.protocol_sentence(experiment, results))
        st.code(facts["command"], language="bash")
        about = text["made on"].format(cpu=facts["hardware"]["cpu"], cores=facts["hardware"]["cores"],
                                       torch=facts["versions"]["torch"], data=facts["data"])  # fmt: skip
        st.caption(texts.escape_markdown(about))
        st.download_button(text["csv"], results_to_csv(facts, [*results.trials, *results.rows]),
                           file_name("csv", "experiment", experiment.name), "text/csv", key="experiment_csv", on_click="ignore",
                           icon=":material/download:")  # fmt: skip
