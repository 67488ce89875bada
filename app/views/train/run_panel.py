"""A training watched: its state, numbers and curves, read anew every second while it runs, and buttons to stop and go on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import streamlit as st

from app import mode, texts
from app.components.chart.chart import chart, plain, steady
from app.components.figure import explain
from app.components.listing.listing import listing
from app.furniture import controls
from app.state import processes, runs
from vitcore.translation import retell

BADGES: dict[str, tuple[Any, str]] = {
    "starting": ("blue", ":material/hourglass_top:"), "running": ("green", ":material/play_circle:"),
    "stopping": ("orange", ":material/hourglass_bottom:"), "stopped": ("orange", ":material/pause_circle:"),
    "finished": ("green", ":material/check_circle:"), "failed": ("red", ":material/error:"),
    "broken off": ("red", ":material/link_off:"),
}  # fmt: skip
MOST_PROBLEMS = 8
NEW = "a new one"  # no run can have this name, in any language


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
        colour, icon = BADGES.get(seen.state, ("gray", ":material/help:"))
        st.badge(text.get(f"state {seen.state}", seen.state), icon=icon, color=colour)
        with st.container(horizontal=True, width="content"):
            _buttons(seen, text)
    st.progress(
        min(seen.step / max(seen.steps, 1), 1.0),
        text["progress"].format(step=seen.step, steps=seen.steps, about=_does(seen, text)),
    )
    if problem := st.session_state.pop("_run_problem", None):
        st.error(controls.verbatim(problem), icon=":material/error:")
    _numbers(seen, text)
    if not mode.allows("paths"):  # what processes say may hold the names of folders
        seen = replace(seen, message="", problems=())
    if seen.message:
        st.error(controls.verbatim(retell(seen.message)), icon=":material/error:")
    if mode.allows("paths") and seen.state in ("failed", "broken off") and (printed := processes.output(run_id)):
        st.caption(text["printed"])
        listing(printed, key="printed")
    _curves(seen, text)
    if seen.problems:
        with st.expander(text["left out"].format(count=len(seen.problems)), icon=":material/broken_image:"):
            for problem in seen.problems[:MOST_PROBLEMS]:
                st.caption(controls.verbatim(retell(problem)))
    _links(seen, text)


def _does(seen: runs.Watched, text: dict[str, str]) -> str:
    told = [
        text["task"].format(task=seen.task) if seen.task else "",
        text["from"].format(source=source) if (source := _source(seen)) else "",
    ]
    return controls.verbatim(" · ".join(word for word in told if word))


def _source(seen: runs.Watched) -> str:
    """Where a run's photos are; of a folder only in local mode."""
    known = seen.source in ("samples", "cifar10", "cifar100") or seen.source.startswith("hf:")
    return seen.source if known or mode.allows("paths") else ""


def _buttons(seen: runs.Watched, text: dict[str, str]) -> None:
    if not mode.allows("trainings"):
        return
    if seen.live:
        st.button(text["stop"], icon=":material/stop:", key="stop", on_click=_ask, args=(processes.stop, seen.id),
                  disabled=seen.state != "running", help=text["stop help"])  # fmt: skip
    elif seen.state != "finished" and seen.resumable:
        st.button(
            text["resume"], icon=":material/play_arrow:", key="resume", on_click=_ask, args=(processes.resume, seen.id)
        )
    if not seen.live and st.button(text["delete"], icon=":material/delete:", key="delete"):
        _delete(seen.id, text)


def _ask(act: Callable[[str], str], run_id: str) -> None:
    """Have something done with a run, and remember what went wrong."""
    try:
        problem = act(run_id)
    except mode.OffError as error:
        problem = str(error)
    st.session_state["_run_problem"] = problem


def _delete(run_id: str, text: dict[str, str]) -> None:
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


def _numbers(seen: runs.Watched, text: dict[str, str]) -> None:
    loss, right, rate, left = seen.last("loss"), seen.last("top1", "val_colours"), seen.last("lr"), seen.seconds_left
    told = {
        text["loss"]: "–" if loss is None else f"{loss:.3f}",
        text["colours right"] if seen.task == "masked" else text["top 1"]: "–" if right is None else f"{right:.1f} %",
        text["learning rate"]: "–" if rate is None else f"{rate:.2e}",
        text["images a second"]: f"{seen.images_per_s:.3g}" if seen.images_per_s else "–",
    }  # fmt: skip
    if seen.live:
        told[text["time left"]] = "–" if left is None else controls.span(left)
    with st.grid(min_column_width=130):
        for label, value in told.items():
            st.metric(label, value)


def _curves(seen: runs.Watched, text: dict[str, str]) -> None:
    if not seen.records:
        return
    from app.state import film_frame

    drawn = film_frame.curves(seen.records, controls.theme(), last=seen.step)
    for place, name in zip(st.columns(len(drawn)), drawn, strict=True):
        with place:
            chart(plain(drawn[name]), key=f"watch_{name}", alt=texts.prose("learn")[f"{name} alt"])
    explain(text["how"], text["limits"])


def _links(seen: runs.Watched, text: dict[str, str]) -> None:
    with st.container(horizontal=True):
        if seen.has_film:
            st.page_link("views/learn/page.py", label=text["watch link"], icon=":material/movie:",
                         query_params={"film": f"runs/{seen.id}"})  # fmt: skip
        if seen.has_model:
            st.page_link("views/overview/page.py", label=text["model link"], icon=":material/visibility:",
                         query_params={"model": f"runs/{seen.id}"})  # fmt: skip


def table(text: dict[str, str]) -> None:
    """Every run, newest first; the row that is chosen is watched."""
    seen = [run for run in map(runs.watch, runs.ids()) if run]
    if not seen:
        return
    rows: dict[str, list[Any]] = {
        "run": [run.id for run in seen], "state": [text.get(f"state {run.state}", run.state) for run in seen],
        "done": [run.step / max(run.steps, 1) for run in seen],
        "steps": [text["steps"].format(step=run.step, steps=run.steps) for run in seen],
        "learns": [run.task for run in seen], "loss": [run.last("loss") for run in seen],
        "right": [run.last("top1", "val_colours") for run in seen], "photos": [_source(run) for run in seen],
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
