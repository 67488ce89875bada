"""The paper's finding beside what our runs say of it, claim by claim, computed; and how they were made."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from app.furniture import controls
from app.texts import Prose
from vitcore.names import file_name
from vitcore.translation import decimal, say

if TYPE_CHECKING:
    from vitcore.analysis.verdicts import Judgement
    from vitcore.experiments.experiment import Claim, Experiment
    from vitcore.experiments.rows import Results

ICONS = {"agrees": ":material/check_circle:", "disagrees": ":material/cancel:", "open": ":material/help:"}


def show(experiment: Experiment, results: Results, text: Prose) -> None:
    """The finding, the verdict, and each claim with its numbers."""
    from vitcore.experiments.catalogue import judged, overall

    verdicts = judged(experiment, results)
    whole = overall(verdicts)
    box = {"agrees": st.success, "disagrees": st.error, "open": st.info}[whole]
    st.markdown(f"**{text['paper says']}** {say(experiment.finding)}")
    box(text.fill(f"ours {whole}", seeds=len(results.seeds())), icon=ICONS[whole])
    st.markdown("\n".join(f"- {_told(claim, judgement, text)}" for claim, judgement in verdicts))


def _told(claim: Claim, told: Judgement, text: Prose) -> str:
    from vitcore.analysis.verdicts import MOST_SEEDS, SURE

    words = f"{say(claim.words)} **{text[f'verdict {told.verdict}']}**"
    if not told.low > float("-inf"):
        return f"{words} {text['one seed']}"
    mean, low, high = (decimal(number, 2, plus=True) for number in (told.mean, told.low, told.high))
    numbers = text["numbers"].format(mean=mean, low=low, high=high, unit=say(claim.unit), sure=SURE)
    if told.verdict != "open":
        return f"{words} {numbers}"
    more = (
        text.fill("would tell", count=told.seeds)
        if told.seeds
        else text["would not tell"].format(count=f"{MOST_SEEDS:,}")
    )
    return f"{words} {numbers} {more}"


def made(experiment: Experiment, results: Results, text: Prose) -> None:
    """The command that makes the runs again, what they were made on, and their rows."""
    from vitcore.experiments.rows import text_of

    facts = results.facts
    with st.expander(text["again"], icon=":material/terminal:"):
        st.code(facts["command"], language="bash")
        about = text["made on"].format(cpu=facts["hardware"]["cpu"], cores=facts["hardware"]["cores"],
                                       torch=facts["versions"]["torch"], data=facts["data"])  # fmt: skip
        st.caption(controls.verbatim(about))
        st.markdown(text["fair"])
        st.download_button(text["csv"], text_of(facts, results.rows), file_name("csv", "experiment", experiment.name), "text/csv",
                           key="experiment_csv", on_click="ignore", icon=":material/download:")  # fmt: skip
