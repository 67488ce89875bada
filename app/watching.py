"""A training watched: its state, numbers and curves, read anew every second while it runs, and buttons to stop and go on."""

from __future__ import annotations

from typing import Any

import streamlit as st

from app import controls, processes, runs
from app.components.chart import chart, plain, steady
from app.components.figure import explain

BADGES: dict[str, tuple[str, Any, str]] = {
    "starting": ("Starting", "blue", ":material/hourglass_top:"), "running": ("Running", "green", ":material/play_circle:"),
    "stopping": ("Stopping: it saves first", "orange", ":material/hourglass_bottom:"),
    "stopped": ("Stopped", "orange", ":material/pause_circle:"), "finished": ("Finished", "green", ":material/check_circle:"),
    "failed": ("Failed", "red", ":material/error:"), "broken off": ("Broken off", "red", ":material/link_off:"),
}  # fmt: skip
MOST_PROBLEMS = 8


def watched(run_id: str, text: dict[str, str]) -> None:
    """The panel of a run; while it runs only this part of the page runs again."""
    seen = runs.watch(run_id)
    if seen is not None:
        with steady("watched"):
            st.fragment(_panel, run_every=1.0 if seen.live else None)(run_id, seen.live, text)


def _panel(run_id: str, live: bool, text: dict[str, str]) -> None:
    seen = runs.watch(run_id)
    if seen is None or seen.live != live:
        st.rerun()  # it began or ended, or somebody took the folder away: the page has other buttons now
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        label, colour, icon = BADGES.get(seen.state, (seen.state, "gray", ":material/help:"))
        st.badge(label, icon=icon, color=colour)
        with st.container(horizontal=True, width="content"):
            _buttons(seen)
    st.progress(min(seen.step / max(seen.steps, 1), 1.0), f"Step {seen.step:,} of {seen.steps:,} · {_does(seen)}")
    _numbers(seen)
    if seen.message:
        st.error(controls.verbatim(seen.message), icon=":material/error:")
    if seen.state in ("failed", "broken off") and (printed := processes.output(run_id)):
        st.caption(text["printed"])
        st.code(printed, language=None, wrap_lines=True)
    _curves(seen, text)
    if seen.problems:
        with st.expander(f"{len(seen.problems)} photos were left out", icon=":material/broken_image:"):
            for problem in seen.problems[:MOST_PROBLEMS]:
                st.caption(controls.verbatim(problem))
    _links(seen)


def _does(seen: runs.Watched) -> str:
    told = [f"task {seen.task}" if seen.task else "", f"photos {seen.source}" if seen.source else ""]
    return controls.verbatim(" · ".join(word for word in told if word))


def _buttons(seen: runs.Watched) -> None:
    if seen.live:
        st.button("Stop", icon=":material/stop:", key="stop", on_click=processes.stop, args=(seen.id,),
                  disabled=seen.state != "running", help="It saves, and can go on later.")  # fmt: skip
    elif seen.state != "finished" and seen.resumable:
        st.button("Resume", icon=":material/play_arrow:", key="resume", on_click=_resume, args=(seen.id,))


def _resume(run_id: str) -> None:
    processes.resume(run_id)
    st.rerun()


def _numbers(seen: runs.Watched) -> None:
    loss, right, rate, left = seen.last("loss"), seen.last("top1", "val_colours"), seen.last("lr"), seen.seconds_left
    told = {
        "Loss": "–" if loss is None else f"{loss:.3f}",
        "Colours right" if seen.task == "masked" else "Top 1, held out": "–" if right is None else f"{right:.1f} %",
        "Learning rate": "–" if rate is None else f"{rate:.2e}",
        "Images a second": f"{seen.images_per_s:.3g}" if seen.images_per_s else "–",
    }  # fmt: skip
    if seen.live:
        told["Time left"] = "–" if left is None else controls.span(left)
    with st.grid(min_column_width=130):
        for label, value in told.items():
            st.metric(label, value)


def _curves(seen: runs.Watched, text: dict[str, str]) -> None:
    if not seen.records:
        return
    from app import films

    drawn = films.curves(seen.records, controls.theme(), last=seen.step)
    for place, name in zip(st.columns(len(drawn)), drawn, strict=True):
        with place:
            chart(plain(drawn[name]), key=f"watch_{name}", alt=name.capitalize())
    explain(text["how"], text["limits"])


def _links(seen: runs.Watched) -> None:
    with st.container(horizontal=True):
        if seen.has_film:
            st.page_link("views/learn.py", label="Watch it learn", icon=":material/movie:",
                         query_params={"film": f"runs/{seen.id}"})  # fmt: skip
        if seen.has_model:
            st.page_link("views/overview.py", label="Open its model in the app", icon=":material/visibility:",
                         query_params={"model": f"runs/{seen.id}"})  # fmt: skip


def table() -> None:
    """Every run, newest first; the row that is chosen is watched."""
    seen = [run for run in map(runs.watch, runs.ids()) if run]
    if not seen:
        return
    rows: dict[str, list[Any]] = {
        "run": [run.id for run in seen], "state": [run.state for run in seen],
        "done": [run.step / max(run.steps, 1) for run in seen], "steps": [f"{run.step:,} of {run.steps:,}" for run in seen],
        "learns": [run.task for run in seen], "loss": [run.last("loss") for run in seen],
        "right": [run.last("top1", "val_colours") for run in seen], "photos": [run.source for run in seen],
    }  # fmt: skip
    columns = {
        "done": st.column_config.ProgressColumn(format="percent", min_value=0, max_value=1),
        "loss": st.column_config.NumberColumn(format="%.3f"), "right": st.column_config.NumberColumn("right, %", format="%.1f"),
    }  # fmt: skip

    def choose() -> None:
        if chosen := st.session_state["all_runs"].selection.rows:
            st.session_state["run"] = rows["run"][chosen[0]]

    st.dataframe(rows, hide_index=True, column_config=columns, on_select=choose, selection_mode="single-row", key="all_runs",
                 alt="All runs with state, steps, loss and accuracy")  # fmt: skip
