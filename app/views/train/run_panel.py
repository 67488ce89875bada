"""A training watched: its state, numbers and curves, read anew every second while it runs, and buttons to stop and go on."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import streamlit as st

from app import permissions, texts
from app.components import light_or_dark
from app.components.chart.chart import chart, chart_spec, undimmed_container
from app.components.copyable_text.copyable_text import copyable_text
from app.components.figure import show_explanation_fold
from app.components.page_style.page_style import scale_to_page_px
from app.menu import page_target
from app.state.training import run_status, training_processes
from app.widgets.button_until_done import button_holding_press

BADGES: dict[str, tuple[Any, str]] = {
    "starting": ("blue", ":material/hourglass_top:"), "running": ("green", ":material/play_circle:"),
    "stopping": ("orange", ":material/hourglass_bottom:"), "stopped": ("orange", ":material/pause_circle:"),
    "finished": ("green", ":material/check_circle:"), "failed": ("red", ":material/error:"),
    "broken off": ("red", ":material/link_off:"),
}  # fmt: skip
MAX_PROBLEMS = 8
NEW_RUN = "a new one"  # no run can have this name, in any language


def show_run_panel(run_id: str, text: texts.Prose) -> None:
    """The panel of a run; while it runs only this part of the page runs again."""
    run = run_status.run_status(run_id)
    if run is not None:
        with undimmed_container("watched"):
            st.fragment(_panel, run_every=1.0 if run.is_live else None)(run_id, run.is_live, text)


def _panel(run_id: str, live: bool, text: texts.Prose) -> None:
    run = run_status.run_status(run_id)
    if run is None or run.is_live != live:
        st.rerun()  # it began or ended, or somebody took the folder away: the page has other buttons now
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        colour, icon = BADGES.get(run.state, ("gray", ":material/help:"))
        st.badge(text.get(f"state {run.state}", run.state), icon=icon, color=colour)
        with st.container(horizontal=True, width="content"):
            _run_buttons(run, text)
    st.progress(
        min(run.step / max(run.steps, 1), 1.0),
        text["progress"].format(step=run.step, steps=run.steps, about=_run_description(run, text)),
    )
    if problem := st.session_state.pop("_run_problem", None):
        st.error(texts.escape_markdown(problem), icon=":material/error:")
    _run_metrics(run, text)
    if not permissions.is_allowed("paths"):  # what processes say may hold the names of folders
        run = replace(run, message="", problems=())
    if run.message:
        st.error(texts.escape_markdown(run.message), icon=":material/error:")
    if permissions.is_allowed("paths") and run.state in ("failed", "broken off"):
        if printed := training_processes.printed_output(run_id):
            st.caption(text["printed"])
            copyable_text(printed, key="printed")
    _curves(run, text)
    if run.problems:
        with st.expander(text.fill("left out", count=len(run.problems)), icon=":material/broken_image:"):
            for problem in run.problems[:MAX_PROBLEMS]:
                st.caption(texts.escape_markdown(problem))
    _run_links(run, text)


def _run_description(run: run_status.RunStatus, text: texts.Prose) -> str:
    return texts.escape_markdown(" · ".join(word for word in (_task(run, text), _source(run, text)) if word))


def _task(run: run_status.RunStatus, text: texts.Prose) -> str:
    return text.get(f"task {run.task}", run.task)


def _source(run: run_status.RunStatus, text: texts.Prose) -> str:
    """Where a run's photos are; of a folder only in local mode."""
    known = run.source in ("samples", "cifar10", "cifar100") or run.source.startswith(("hf:", "drawn"))
    return text.get(f"from {run.source}", run.source) if known or permissions.is_allowed("paths") else ""


def _run_buttons(run: run_status.RunStatus, text: texts.Prose) -> None:
    if not permissions.is_allowed("trainings"):
        return
    if run.is_live and run.is_filmed_elsewhere:
        return
    if run.is_live:
        st.button(
            text["stop"], icon=":material/stop:", key="stop", on_click=_do_with_run, args=(training_processes.stop_run, run.id),
            disabled=run.state != "running", help=text["stop help"],
        )  # fmt: skip
    elif run.state != "finished" and run.resumable:
        st.button(
            text["resume"], icon=":material/play_arrow:", key="resume", on_click=_do_with_run,
            args=(training_processes.resume_run, run.id),
        )  # fmt: skip
    if not run.is_live:
        with button_holding_press(text["delete"], "delete", key="delete", icon=":material/delete:") as is_pressed:
            if is_pressed:
                _delete_dialog(run.id, text)


def _do_with_run(action: Callable[[str], str], run_id: str) -> None:
    """Have something done with a run, and remember what went wrong."""
    try:
        problem = action(run_id)
    except permissions.NotAllowedError as error:
        problem = str(error)
    st.session_state["_run_problem"] = problem


def _delete_dialog(run_id: str, text: texts.Prose) -> None:
    """Ask before a run is deleted."""

    def delete_and_leave() -> None:
        _do_with_run(training_processes.delete_run, run_id)
        if not st.session_state["_run_problem"]:
            st.session_state["run"] = NEW_RUN

    def dialog() -> None:
        st.markdown(text["delete question"].format(run=texts.escape_markdown(run_id)))
        with st.container(horizontal=True):
            if st.button(text["delete yes"], icon=":material/delete:", key="delete_yes", type="primary", on_click=delete_and_leave):
                st.rerun()
            if st.button(text["delete no"], key="delete_no"):
                st.rerun()

    st.dialog(text["delete title"])(dialog)()


def _run_metrics(run: run_status.RunStatus, text: texts.Prose) -> None:
    loss, right, rate = run.last_value("loss"), run.last_value("top1", "val_colours"), run.last_value("lr")
    top = text["top 1 shared" if run.validates_on_training_photos else "top 1"]
    metrics = {
        text["loss"]: "–" if loss is None else f"{loss:.3f}",
        text["colours right"] if run.task == "masked" else top: "–" if right is None else f"{right:.1f} %",
        text["learning rate"]: "–" if rate is None else f"{rate:.2e}",
        text["images a second"]: f"{run.images_per_s:.3g}" if run.images_per_s else "–",
    }
    if run.is_live:
        metrics[text["time left"]] = "–" if run.seconds_left is None else run_status.readable_time(run.seconds_left)
    with st.grid(min_column_width=scale_to_page_px(130)):
        for label, value in metrics.items():
            st.metric(label, value)


def _curves(run: run_status.RunStatus, text: texts.Prose) -> None:
    if not run.records:
        return
    from app.state.training import film_figures

    drawn = film_figures.curve_figures(
        run.records, light_or_dark.current_theme(), last=run.step, on_training_photos=run.validates_on_training_photos
    )
    for place, name in zip(st.columns(len(drawn)), drawn, strict=True):
        with place:
            chart(chart_spec(drawn[name]), key=f"watch_{name}", alt=texts.prose("learn")[f"{name} alt"])
    points = text["points shared" if run.validates_on_training_photos else "points"]
    measured = run.last_value("top1", "val_loss", "few_shot") is not None
    show_explanation_fold(f"{text['how']} {points}" if measured else text["how"], text["limits"])


def _run_links(run: run_status.RunStatus, text: texts.Prose) -> None:
    with st.container(horizontal=True):
        if run.has_film:
            st.page_link(page_target("learn"), label=text["watch link"], icon=":material/movie:",
                         query_params={"film": f"runs/{run.id}"})  # fmt: skip
        if run.has_model:
            st.page_link(page_target("overview"), label=text["model link"], icon=":material/visibility:",
                         query_params={"model": f"runs/{run.id}"})  # fmt: skip


def show_runs_table(text: texts.Prose) -> None:
    """Every run, newest first; the row that is chosen is watched."""
    listed = [run for run in map(run_status.run_status, run_status.run_ids()) if run]
    if not listed:
        return
    rows: dict[str, list[Any]] = {
        "run": [run.id for run in listed], "state": [text.get(f"state {run.state}", run.state) for run in listed],
        "done": [run.step / max(run.steps, 1) for run in listed],
        "steps": [text["steps"].format(step=run.step, steps=run.steps) for run in listed],
        "learns": [_task(run, text) for run in listed], "loss": [run.last_value("loss") for run in listed],
        "right": [run.last_value("top1", "val_colours") for run in listed], "photos": [_source(run, text) for run in listed],
    }  # fmt: skip
    columns: dict[str, Any] = {name: text[f"column {name}"] for name in rows} | {
        "done": st.column_config.ProgressColumn(text["column done"], format="percent", min_value=0, max_value=1),
        "loss": st.column_config.NumberColumn(text["column loss"], format="%.3f"),
        "right": st.column_config.NumberColumn(text["column right"], format="%.1f"),
    }

    def choose() -> None:
        if chosen := st.session_state["all_runs"].selection.rows:
            st.session_state["run"] = rows["run"][chosen[0]]

    st.dataframe(rows, hide_index=True, column_config=columns, on_select=choose, selection_mode="single-row", key="all_runs",
                 alt=text["table alt"])  # fmt: skip
