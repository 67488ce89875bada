"""How fast the model is on this device (Figure 12): measured when asked, in a process of its own, watched and stopped from here."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import streamlit as st

from app import permissions, texts
from app.components import light_or_dark
from app.components.chart.chart import undimmed_container
from app.components.figure import figure
from app.components.page_style.page_style import scale_to_page_px
from app.shell import query_controls
from app.state.jobs import speed_measurement
from app.state.model_ref import ModelRef
from app.state.models.uploaded_model import MODEL_ID
from app.state.training import run_status
from app.texts import Prose, escape_markdown
from vitcore import figures
from vitcore.translation import percent

if TYPE_CHECKING:
    from vitcore.models.load_model import Vit
    from vitcore.profiling.throughput import ThroughputProfile

BATCH_LIMITS = (8, 16, 32, 64, 128, 256, 512)  # batch sizes go up to one of these
CPU_BATCH, GPU_BATCH = 16, 256  # what is proposed
NOTICEABLE_SPEEDUP = 1.1  # times as fast: less is within what a machine varies by


def show_speed(vit: Vit, text: Prose) -> None:
    """The choices, the button, what is under way, and what was measured last."""
    training = query_controls.button_row(text, "pass", ["inference", "training"]) == "training"
    if not permissions.is_allowed("measurements"):
        st.info(f"{permissions.why_not_allowed('measurements')} {text['at home']}", icon=":material/lock:")
        if (name := ModelRef.parse(vit.name).name) != MODEL_ID:
            st.code(f"python -m vitcore profile {name}{' --training' if training else ''}", language="sh")
        return
    running = speed_measurement.running_measurement()
    if running is None:
        _measure_form(vit, training, text)
    else:
        with undimmed_container("measuring"):
            st.fragment(_show_progress, run_every=1.0)(text, speed_measurement.last_measurement(vit, training))
    if problem := st.session_state.pop("_speed_problem", ""):
        st.error(texts.escape_markdown(problem), icon=":material/error:")
    last = speed_measurement.last_measurement(vit, training)
    if last is None:
        st.caption(text["not measured"].format(model=texts.escape_markdown(vit.card.title)))
    elif not last.is_running:
        _show_measurement(last, training, text)


def _measure_form(vit: Vit, training: bool, text: Prose) -> None:
    """Up to which batch, into how much memory, and the button."""
    proposed = GPU_BATCH if speed_measurement.has_gpu() else CPU_BATCH
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.select_slider(text["up to"], BATCH_LIMITS, proposed, key="largest", bind="query-params", width=scale_to_page_px(300))
        st.number_input(text["memory gb"], 0.0, 1024.0, 0.0, 0.5, key="memory_gb", bind="query-params",
                        help=text["memory gb help"], width=scale_to_page_px(220))  # fmt: skip
        st.button(
            text["measure"], type="primary", icon=":material/speed:", key="measure", on_click=_start_measurement,
            args=(vit, training), help=text["speed about"],
        )  # fmt: skip


def _start_measurement(vit: Vit, training: bool) -> None:
    most, gb = st.session_state["largest"], st.session_state["memory_gb"]
    sizes = [2**i for i in range(most.bit_length())]
    try:
        speed_measurement.start_measurement(vit, training, sizes, float(gb))
    except (permissions.NotAllowedError, OSError) as error:
        st.session_state["_speed_problem"] = str(error)


def _stop_measurement() -> None:
    try:
        speed_measurement.stop_measurement()
    except permissions.NotAllowedError as error:
        st.session_state["_speed_problem"] = str(error)


def _show_progress(text: Prose, last: speed_measurement.SpeedMeasurement | None) -> None:
    """What is timed now; when it ends, the page is drawn anew."""
    measurement = speed_measurement.running_measurement()
    if measurement is None:
        st.rerun()
    facts = {"model": texts.escape_markdown(measurement.title), "batch": measurement.batch}
    facts |= {"done": measurement.done_count, "sizes": len(measurement.sizes)}
    seconds = measurement.seconds_left
    left = "" if seconds is None else text["left"].format(time=run_status.readable_time(seconds))
    if measurement.search_memory_gb:
        sentence = text["looking"].format(gb=f"{measurement.search_memory_gb:g}", **facts)
    else:
        sentence = text.fill("timing", left=left, **facts) if measurement.batch else text["beginning"].format(**facts)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.progress(measurement.done_count / len(measurement.sizes), sentence, width="stretch")
        st.button(text["stop"], icon=":material/stop:", key="stop_measuring", on_click=_stop_measurement)
    if measurement is last and measurement.profile is not None:  # what is known so far; of another model, its own page says it
        _show_measurement(measurement, measurement.profile.training, text)


def _show_measurement(measurement: speed_measurement.SpeedMeasurement, training: bool, text: Prose) -> None:
    """What was found, in sentences, as a chart and as a table."""
    if measurement.stopped:
        st.caption(f":material/stop_circle: {text['stopped']}")
    if measurement.problem:
        st.warning(texts.escape_markdown(measurement.problem), icon=":material/error:")
    if measurement.profile is None or measurement.device is None or not measurement.profile.speeds:
        return
    profile, speeds = measurement.profile, measurement.profile.speeds
    st.markdown(speed_sentences(profile, measurement.title, text))
    line = figures.ThroughputCurve(measurement.title, [s.batch for s in speeds], [s.images_per_s for s in speeds],
                             profile.limit_images_per_s)  # fmt: skip
    figure(
        figures.throughput([line], measurement.device.description, training, light_or_dark.current_theme()),
        "speed",
        text["speed alt"],
        text["speed how"],
        text["speed limits"],
        subjects=(measurement.title,),
        batch=line.batches,
        images_per_s=line.images_per_s,
        memory_mb=[math.nan if s.memory_mb is None else s.memory_mb for s in speeds],
        limit_images_per_s=[profile.limit_images_per_s],
    )
    st.dataframe(
        {text["batch"]: line.batches, text["rate"]: [f"{s.images_per_s:.4g}" for s in speeds],
         text["of limit"]: [percent(s.images_per_s / profile.limit_images_per_s, 0) for s in speeds],
         text["memory"]: ["–" if s.memory_mb is None else f"{s.memory_mb:.0f}" for s in speeds]},
        hide_index=True, alt=text["speed table"],
    )  # fmt: skip


def speed_sentences(profile: ThroughputProfile, title: str, text: Prose) -> str:
    """The sentences, for a profile with one batch size or more."""
    speeds, limit = profile.speeds, profile.limit_images_per_s
    best = max(speeds, key=lambda one: one.images_per_s)
    sentences = [text.fill(
        "training finding" if profile.training else "finding", model=escape_markdown(title), rate=f"{best.images_per_s:.3g}",
        batch=best.batch, share=percent(best.images_per_s / limit, 0), limit=f"{limit:.3g}",
    )]  # fmt: skip
    if len(speeds) > 1:
        times = best.images_per_s / speeds[0].images_per_s
        key = "batches help" if times >= NOTICEABLE_SPEEDUP else "batches do not help"
        sentences.append(text[key].format(times=f"{times:.2g}", more=percent(times - 1, 0), batch=best.batch))
    known = [one for one in speeds if one.memory_mb is not None]
    if len(known) > 1:
        facts = {"low": f"{known[0].memory_mb:,.0f}", "high": f"{known[-1].memory_mb:,.0f}", "batch": known[-1].batch}
        sentences.append(text["memory finding"].format(**facts))
    if profile.too_large is not None:
        sentences.append(text["too large"].format(batch=profile.too_large))
    if profile.largest_batch is not None:
        key = "largest" if profile.largest_batch else "none fits"
        sentences.append(text[key].format(batch=profile.largest_batch, gb=f"{profile.memory_gb:g}"))
    return text.join_sentences(sentences)
