"""Each sentence that was tested with its verdict as a stamp, the effect, and the paper's size; then how that was made."""

from functools import partial
from typing import Literal

import streamlit as st

from app import texts
from app.components.figure import download_button
from app.components.page_style.page_style import scale_to_page_px
from app.texts import Prose
from vitcore.experiments.experiment import Experiment
from vitcore.experiments.results_csv import ExperimentResults
from vitcore.translation import say

Colour = Literal["green", "red", "gray"]
BADGES: dict[str, tuple[Colour, str]] = {
    "as large": ("green", "check_circle"), "other size": ("green", "expand"), "same": ("green", "north_east"),
    "opposite": ("red", "cancel"), "open": ("gray", "help"), "untestable": ("gray", "block"),
}  # fmt: skip


def show_verdicts(experiment: Experiment, results: ExperimentResults, text: Prose) -> None:
    """What was tested, claim by claim, each with its verdict as a stamp; the effect and the paper's size are folded."""
    from vitcore.experiments import verdict_sentences
    from vitcore.experiments.catalogue import judge_claims

    with st.grid(min_column_width=scale_to_page_px(280)):
        for place, (claim, verdict) in enumerate(judge_claims(experiment, results)):
            with st.container(border=True, gap="small", height="stretch"):
                st.markdown(f"**{say(claim.sentence)}**")
                colour, icon = BADGES[verdict.verdict]
                with st.container(horizontal=True, vertical_alignment="center"):
                    st.badge(verdict_sentences.verdict_name(verdict), icon=f":material/{icon}:", color=colour)
                    with st.popover(text["effect"], icon=":material/info:", type="tertiary", key=f"effect_{place}"):
                        if effect := verdict_sentences.effect_text(claim, verdict):
                            st.markdown(effect)
                        said = (
                            verdict_sentences.paper_effect_text(claim),
                            verdict_sentences.open_reason_sentence(claim, verdict, results),
                        )
                        st.caption(text.join_sentences(said))
    if near := verdict_sentences.ceiling_sentence(experiment, results):
        st.caption(near)


def finding_and_method_text(experiment: Experiment, text: Prose) -> str:
    """The paper's finding, what was measured, and what the experiments are made of, with its command."""
    finding = f"**{text['paper says']}** {say(experiment.finding)}"
    return "\n\n".join([finding, say(experiment.measured), text["bars"], text["intro"]])


def show_protocol(experiment: Experiment, results: ExperimentResults, text: Prose) -> None:
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
        rows = partial(results_to_csv, facts, [*results.trials, *results.rows])
        download_button(text["csv"], rows, "csv", ("experiment", experiment.name), key="experiment_csv", icon=":material/download:")
