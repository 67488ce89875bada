"""How fast the model is on this device (Figure 12): measured when asked, in a process of its own, watched and stopped from here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from app import mode
from app.components.chart.chart import steady
from app.components.figure import figure
from app.components.lecture.lecture import wide
from app.furniture import controls
from app.state.model_ref import ModelRef
from app.state.own.model import OWN
from app.state.speed import measuring
from app.texts import Prose
from app.views.card import speed_findings
from vitcore.translation import percent

if TYPE_CHECKING:
    from vitcore.models.load_model import Vit

LARGEST = (8, 16, 32, 64, 128, 256, 512)  # batch sizes go up to one of these
ON_CPU, ON_GPU = 16, 256


def show(vit: Vit, text: Prose) -> None:
    """The choices, the button, what is under way, and what was measured last."""
    st.markdown(text["speed about"])
    training = controls.choice(text, "pass", ["inference", "training"]) == "training"
    if not mode.allows("measurements"):
        st.info(f"{mode.why('measurements')} {text['at home']}", icon=":material/lock:")
        if (name := ModelRef.parse(vit.name).name) != OWN:
            st.code(f"python -m vitcore profile {name}{' --training' if training else ''}", language="sh")
        return
    live = measuring.under_way()
    if live is None:
        _ask(vit, training, text)
    else:
        with steady("measuring"):
            st.fragment(_progress, run_every=1.0)(text)
    if problem := st.session_state.pop("_speed_problem", ""):
        st.error(controls.verbatim(problem), icon=":material/error:")
    last = measuring.of(vit, training)
    if last is None:
        st.caption(text["not measured"].format(model=controls.verbatim(vit.card.title)))
    elif not last.live:
        measured(last, training, text)


def _ask(vit: Vit, training: bool, text: Prose) -> None:
    """Up to which batch, into how much memory, and the button."""
    import torch

    gpu = torch.cuda.is_available()
    most_gb = torch.cuda.get_device_properties(0).total_memory / 2**30 if gpu else 1.0
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.select_slider(
            text["up to"], LARGEST, ON_GPU if gpu else ON_CPU, key="largest", bind="query-params", width=wide(300)
        )
        st.number_input(text["memory gb"], 0.0, 1024.0, round(most_gb, 1), 0.5, key="memory_gb", bind="query-params",
                        help=text["memory gb help"], width=wide(220))  # fmt: skip
        st.button(
            text["measure"],
            type="primary",
            icon=":material/speed:",
            key="measure",
            on_click=_start,
            args=(vit, training),
        )


def _start(vit: Vit, training: bool) -> None:
    most, gb = st.session_state["largest"], st.session_state["memory_gb"]
    sizes = [2**i for i in range(most.bit_length())]
    try:
        measuring.start(vit, training, sizes, float(gb))
    except (mode.OffError, OSError) as error:
        st.session_state["_speed_problem"] = str(error)


def _stop() -> None:
    try:
        measuring.stop()
    except mode.OffError as error:
        st.session_state["_speed_problem"] = str(error)


def _progress(text: Prose) -> None:
    """What is timed now; when it ends, the page is drawn anew."""
    one = measuring.under_way()
    if one is None:
        st.rerun()
    facts = {"model": controls.verbatim(one.title), "batch": one.batch, "done": one.done, "sizes": one.sizes}
    if one.looking_gb:
        said = text["looking"].format(gb=f"{one.looking_gb:g}", **facts)
    else:
        said = text.fill("timing", **facts) if one.batch else text["beginning"].format(**facts)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.progress(one.done / one.sizes, said, width="stretch")
        st.button(text["stop"], icon=":material/stop:", key="stop_measuring", on_click=_stop)


def measured(one: measuring.Measuring, training: bool, text: Prose) -> None:
    """What was found, in sentences, as a chart and as a table."""
    if one.stopped:
        st.caption(f":material/stop_circle: {text['stopped']}")
    if one.problem:
        st.warning(controls.verbatim(one.problem), icon=":material/error:")
    if one.profile is None or one.device is None or not one.profile.speeds:
        return
    from vitcore import figures

    profile, speeds = one.profile, one.profile.speeds
    st.markdown(speed_findings.of(profile, one.title, text))
    line = figures.SpeedLine(one.title, [s.batch for s in speeds], [s.images_per_s for s in speeds],
                             profile.limit_images_per_s)  # fmt: skip
    figure(figures.speed([line], one.device.line, training, controls.theme()), "speed", text["speed alt"], text["speed how"],
           text["speed limits"], of=(one.title,), batch=np.array(line.batches), images_per_s=np.array(line.images_per_s),
           memory_mb=np.array([np.nan if s.memory_mb is None else s.memory_mb for s in speeds]),
           limit_images_per_s=np.array([profile.limit_images_per_s]))  # fmt: skip
    st.dataframe(
        {text["batch"]: line.batches, text["rate"]: [f"{s.images_per_s:.4g}" for s in speeds],
         text["of limit"]: [percent(s.images_per_s / profile.limit_images_per_s, 0) for s in speeds],
         text["memory"]: ["–" if s.memory_mb is None else f"{s.memory_mb:.0f}" for s in speeds]},
        hide_index=True, alt=text["speed table"],
    )  # fmt: skip
