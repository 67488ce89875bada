"""The screen of Watch it learn: which snapshot is shown, playing, and the pictures of that snapshot side by side.

Everything that changes with the snapshot is in one fragment, so that playing runs nothing else of the page again.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import streamlit as st

from app import texts
from app.components.chart.chart import chart, steady
from app.components.figure import explain, npz
from app.components.lecture.lecture import wide
from app.components.listing.listing import listing
from app.furniture import controls, model_card
from app.state import runs
from vitcore.file_names import file_name
from vitcore.translation import decimal, percent, say

if TYPE_CHECKING:
    from vitcore.train.film_files import Film

PACE_S = 0.5  # two snapshots a second
LOOK_S = 2.0  # between two looks at a run that is being trained
ROWS = (("filters", "positions", "distance"), ("given", "predicted", "truth"), ("rollout", "last_block", "answer"))


def card(name: str, film: Film, text: texts.Prose) -> None:
    """What it learned from, for how long, and how well it does; for a model that ships, why its card has another number."""
    lines = [text["card data"].format(data=say(film.data))] if film.data else []
    lines.append(text["card steps"].format(steps=int(film.steps[-1])))
    if known := film.accuracy():
        told = text["card accuracy shared" if film.shared else "card accuracy"]
        of = text["card classes"].format(count=film.class_count) if film.class_count else ""
        lines.append(told.format(step=known.step, right=known.right, photos=_held_out(film, text), of=of))
        if others := model_card.measured(name):
            lines.append(text["card other"].format(top1=others[0]["top1"], photos=others[0]["photos"]))
    st.caption(text.joined(lines))


def _held_out(film: Film, text: texts.Prose) -> str:
    """The photos that it is measured on, and how many, where that is known."""
    known = film.accuracy()
    return text["held out of"].format(count=known.photos) if known and known.photos else text["held out"]


def show(name: str, photo: int, live: bool, text: texts.Prose) -> None:
    """The slider and the pictures of a film; `live`: of a run that may add to it."""
    every = PACE_S if playing() else LOOK_S if live else None
    with steady("screen"):
        st.fragment(_screen, run_every=every)(name, photo, text)


def playing() -> bool:
    """Whether the film runs."""
    return bool(st.session_state.get("_playing"))


def play_button(steps: list[int]) -> None:
    """Play, from the beginning if the film is at its end; or pause. The whole page runs again: its screen's pace is another."""

    def toggle() -> None:
        st.session_state["_playing"] = not playing()
        if playing() and st.session_state.get("frame") in (None, steps[-1]):
            st.session_state["frame"] = steps[0]
            st.session_state["_sent"] = [steps[-1], steps[0]]
        st.session_state["_turned"] = time.monotonic()

    text = texts.prose("learn")
    label, icon = (text["pause"], ":material/pause:") if playing() else (text["play"], ":material/play_arrow:")
    if st.button(
        label, icon=icon, key="play", on_click=toggle, type="primary", width=wide(120), disabled=len(steps) < 2
    ):
        st.rerun()


def _screen(name: str, photo: int, text: texts.Prose) -> None:
    key, film = runs.film(name)
    steps = film.steps.tolist()
    bar = st.container(horizontal=True, vertical_alignment="bottom", key="film_bar")
    with bar:  # on a phone it stays with the pictures
        play_button(steps)
        if _turn(steps):
            st.session_state["_playing"] = False
            st.rerun()
        step = st.select_slider(text["step"], steps, key="frame", bind="query-params") if len(steps) > 1 else steps[0]
    frame, mode = steps.index(step), controls.theme()
    specs = {part: runs.drawn(key, part, frame, photo, mode, texts.language(), film) for part in ("weights", "photo")}
    shown = specs["weights"] | specs["photo"]
    _findings(film, frame, runs.firsts(f"{key}:{steps[-1]}", film), text)
    for row in ROWS:
        names = [one for one in row if one in shown]
        for place, one in zip(st.columns(3) if names else [], names, strict=False):
            with place, st.container(border=True, height="stretch"):
                chart(shown[one], key=f"film_{one}", alt=text[f"{one} alt"])
                explain(text[one])
    _curves(key, film, step, mode, text)
    st.download_button(text["numbers"], lambda: npz(_arrays(film, frame)), file_name("npz", f"film-step-{step}", film.title),
                       "application/octet-stream", icon=":material/download:", on_click="ignore")  # fmt: skip
    if film.command:
        st.caption(text["made like" if model_card.in_steps(name) else "made"])
        listing(film.command, key="command")


def _findings(film: Film, frame: int, firsts: dict[str, int | None], text: texts.Prose) -> None:
    """What is there at this snapshot, and what is not, in sentences."""
    from vitcore.analysis.attention_distance import most_changed_head
    from vitcore.analysis.training_film import emerged_structure

    signs = emerged_structure(film.arrays, frame, film.grid)
    facts: list[tuple[str, bool, float | None, dict[str, Any]]] = [
        ("filters", signs.filters, signs.smooth, {"smooth": percent(signs.smooth or 0, 0)}),
        ("positions", signs.positions, signs.correlation, {"correlation": decimal(signs.correlation or 0, 2)}),
        ("heads", signs.heads, signs.near, {"near": percent(signs.near or 0, 0), "far": percent(signs.far or 0, 0)}),
    ]
    lines = []
    for name, there, known, numbers in facts:
        if known is not None:
            mark = ":material/check_circle:" if there else ":material/radio_button_unchecked:"
            told = text[f"{name} yes" if there else f"{name} no"]
            lines.append(f"{mark} {told.format(**numbers)}")
    if frame:
        begun, now = film.at("distance_px", 0), film.at("distance_px", frame)
        block, head = most_changed_head(begun, now)
        lines.append(":material/swap_vert: " + text["head changed"].format(
            block=block, head=head, first=f"{begun[block, head]:.1f}", now=f"{now[block, head]:.1f}"))  # fmt: skip
    else:  # as many lines as later, so that nothing jumps while it plays
        lines.append(":material/swap_vert: " + text["head unchanged"])
    whens = [
        text[f"{name} never"] if firsts[name] is None else text[f"{name} first"].format(step=firsts[name])
        for name, _, known, _ in facts if known is not None
    ]  # fmt: skip
    if whens:  # the same in every snapshot
        lines.append(f":material/flag: {text['first there'].format(all=', '.join(whens))}")
    st.markdown("  \n".join(lines))


def _turn(steps: list[int]) -> bool:
    """Choose the snapshot before the slider is drawn: the last at first and while it grows, the next while playing.

    True once the page has answered that it shows the last one, so that playing ends. A page that is behind asks with a
    step it was sent earlier: `_sent` has those it has not answered with yet, and none of them is the visitor's choice.
    """
    state = st.session_state
    now, before, sent = state.get("frame"), state.get("_last_step"), state.get("_sent", [])
    state["_last_step"] = steps[-1]
    answered = now in sent[-1:]
    if now is None:
        if "frame" not in st.query_params:  # else the slider takes it from there
            state["frame"] = steps[-1]
    elif now in sent:
        state["frame"] = sent[-1]
    elif now not in steps or (now == before and not playing()):
        state["frame"] = steps[-1]
    state["_sent"] = sent if now in sent and not answered else [state.get("frame")]
    if not playing():
        state["_sent"] = []
        return False
    place = steps.index(state["frame"]) if state.get("frame") in steps else 0
    if answered and place == len(steps) - 1:
        return True
    if time.monotonic() - state.get("_turned", 0) >= 0.8 * PACE_S:
        place = min(place + 1, len(steps) - 1)
        state["_turned"] = time.monotonic()
    state["frame"] = steps[place]
    state["_sent"] = [*state["_sent"], steps[place]]
    return False


def _curves(key: str, film: Film, step: int, mode: Any, text: texts.Prose) -> None:
    if not film.log:
        return
    from vitcore.figures.training_curves import FIRST
    from vitcore.train.film_files import terms_come

    drawn = runs.drawn_curves(key, len(film.log), int(film.steps[-1]), mode, texts.language(), film.log)
    specs = {one: drawn[one] for one in ("loss", "accuracy") if one in drawn}
    if not specs:
        return
    for place, one in zip(st.columns(len(specs)), specs, strict=True):
        with place, st.container(border=True, height="stretch"):
            chart(specs[one], key=f"film_{one}", alt=text[f"{one} alt"], at=max(step, FIRST))
    measured = any("val_loss" in record or "top1" in record for record in film.log)
    points = text["points shared" if film.shared else "points"].format(photos=_held_out(film, text)) if measured else ""
    later = ", ".join(f"{step:,}" for step in terms_come(film.log)) if film.task == "layers" else ""
    changing = text["curves layers"].format(steps=later) if later else ""
    explain(text.joined((text["curves"], points, changing)), text["limits"])


def _arrays(film: Film, frame: int) -> dict[str, Any]:
    return {"step": film.steps[frame]} | {name: values[frame] for name, values in film.arrays.items()}
