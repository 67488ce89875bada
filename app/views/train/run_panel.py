"""A training watched: its state, numbers and curves, read anew every second while it runs, and buttons to stop and go on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import streamlit as st

from app import mode, texts
from app.components.chart.chart import chart, plain, steady
from app.components.figure import explain
from app.components.lecture.lecture import wide
from app.components.listing.listing import listing
from app.furniture import controls
from app.state import processes, runs

BADGES: dict[str, tuple[Any, str]] = {
    "starting": ("blue", ":material/hourglass_top:"), "running": ("green", ":material/play_circle:"),
    "stopping": ("orange", ":material/hourglass_bottom:"), "stopped": ("orange", ":material/pause_circle:"),
    "finished": ("green", ":material/check_circle:"), "failed": ("red", ":material/error:"),
    "broken off": ("red", ":material/link_off:"),
}  # fmt: skip
MOST_PROBLEMS = 8
NEW = "a new one"  # no run can have this name, in any language


def watched(run_id: str, text: texts.Prose) -> None:
    """The panel of a run; while it runs only this part of the page runs again."""
    run = runs.watch(run_id)
    if run is not None:
        with steady("watched"):
            st.fragment(_panel, run_every=1.0 if run.live else None)(run_id, run.live, text)


def _panel(run_id: str, live: bool, text: texts.Prose) -> None:
    run = runs.watch(run_id)
    if run is None or run.live != live:
        st.rerun()  # it began or ended, or somebody took the folder away: the page has other buttons now
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        colour, icon = BADGES.get(run.state, ("gray", ":material/help:"))
        st.badge(text.get(f"state {run.state}", run.state), icon=icon, color=colour)
        with st.container(horizontal=True, width="content"):
            _buttons(run, text)
    st.progress(
        min(run.step / max(run.steps, 1), 1.0),
        text["progress"].format(step=run.step, steps=run.steps, about=_does(run, text)),
    )
    if problem := st.session_state.pop("_run_problem", None):
        st.error(controls.verbatim(problem), icon=":material/error:")
    _numbers(run, text)
    if not mode.allows("paths"):  # what processes say may hold the names of folders
        run = replace(run, message="", problems=())
    if run.message:
        st.error(controls.verbatim(run.message), icon=":material/error:")
    if mode.allows("paths") and run.state in ("failed", "broken off") and (printed := processes.output(run_id)):
        st.caption(text["printed"])
        listing(printed, key="printed")
    _curves(run, text)
    if run.problems:
        with st.expander(text.fill("left out", count=len(run.problems)), icon=":material/broken_image:"):
            for problem in run.problems[:MOST_PROBLEMS]:
                st.caption(controls.verbatim(problem))
    _links(run, text)


def _does(run: runs.Watched, text: texts.Prose) -> str:
    told = [
        text["task"].format(task=run.task) if run.task else "",
        text["from"].format(source=source) if (source := _source(run)) else "",
    ]
    return controls.verbatim(" · ".join(word for word in told if word))


def _source(run: runs.Watched) -> str:
    """Where a run's photos are; of a folder only in local mode."""
    known = run.source in ("samples", "cifar10", "cifar100") or run.source.startswith(("hf:", "drawn"))
    return run.source if known or mode.allows("paths") else ""


def _buttons(run: runs.Watched, text: texts.Prose) -> None:
    if not mode.allows("trainings"):
        return
    if run.live and run.filmed:
        return
    if run.live:
        st.button(text["stop"], icon=":material/stop:", key="stop", on_click=_ask, args=(processes.stop, run.id),
                  disabled=run.state != "running", help=text["stop help"])  # fmt: skip
    elif run.state != "finished" and run.resumable:
        st.button(
            text["resume"], icon=":material/play_arrow:", key="resume", on_click=_ask, args=(processes.resume, run.id)
        )
    if not run.live and st.button(text["delete"], icon=":material/delete:", key="delete"):
        _delete(run.id, text)


def _ask(act: Callable[[str], str], run_id: str) -> None:
    """Have something done with a run, and remember what went wrong."""
    try:
        problem = act(run_id)
    except mode.OffError as error:
        problem = str(error)
    st.session_state["_run_problem"] = problem


def _delete(run_id: str, text: texts.Prose) -> None:
    """Ask before a run is deleted."""

    def gone() -> None:
        _ask(processes.delete, run_id)
        if not st.session_state["_run_problem"]:
            st.session_state["run"] = NEW

    def ask() -> None:
        st.markdown(text["delete question"].format(run=controls.verbatim(run_id)))
        with st.container(horizontal=True):
            if st.button(text["delete yes"], icon=":material/delete:", key="delete_yes", type="primary", on_click=gone):
                st.rerun()
            if st.button(text["delete no"], key="delete_no"):
                st.rerun()

    st.dialog(text["delete title"])(ask)()


def _numbers(run: runs.Watched, text: texts.Prose) -> None:
    loss, right, rate, left = run.last("loss"), run.last("top1", "val_colours"), run.last("lr"), run.seconds_left
    top = text["top 1 shared" if run.shared else "top 1"]
    told = {
        text["loss"]: "–" if loss is None else f"{loss:.3f}",
        text["colours right"] if run.task == "masked" else top: "–" if right is None else f"{right:.1f} %",
        text["learning rate"]: "–" if rate is None else f"{rate:.2e}",
        text["images a second"]: f"{run.images_per_s:.3g}" if run.images_per_s else "–",
    }  # fmt: skip
    if run.live:
        told[text["time left"]] = "–" if left is None else controls.span(left)
    with st.grid(min_column_width=wide(130)):
        for label, value in told.items():
            st.metric(label, value)


def _curves(run: runs.Watched, text: texts.Prose) -> None:
    if not run.records:
        return
    from app.state import film_frame

    drawn = film_frame.curves(run.records, controls.theme(), last=run.step)
    for place, name in zip(st.columns(len(drawn)), drawn, strict=True):
        with place:
            chart(plain(drawn[name]), key=f"watch_{name}", alt=texts.prose("learn")[f"{name} alt"])
    points = (
        text["points shared" if run.shared else "points"]
        if run.last("top1", "val_loss", "few_shot") is not None
        else ""
    )
    explain(f"{text['how']} {points}".strip(), text["limits"])


def _links(run: runs.Watched, text: texts.Prose) -> None:
    with st.container(horizontal=True):
        if run.has_film:
            st.page_link("views/learn/page.py", label=text["watch link"], icon=":material/movie:",
                         query_params={"film": f"runs/{run.id}"})  # fmt: skip
        if run.has_model:
            st.page_link("views/overview/page.py", label=text["model link"], icon=":material/visibility:",
                         query_params={"model": f"runs/{run.id}"})  # fmt: skip


def table(text: texts.Prose) -> None:
    """Every run, newest first; the row that is chosen is watched."""
    listed = [run for run in map(runs.watch, runs.ids()) if run]
    if not listed:
        return
    rows: dict[str, list[Any]] = {
        "run": [run.id for run in listed], "state": [text.get(f"state {run.state}", run.state) for run in listed],
        "done": [run.step / max(run.steps, 1) for run in listed],
        "steps": [text["steps"].format(step=run.step, steps=run.steps) for run in listed],
        "learns": [run.task for run in listed], "loss": [run.last("loss") for run in listed],
        "right": [run.last("top1", "val_colours") for run in listed], "photos": [_source(run) for run in listed],
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
