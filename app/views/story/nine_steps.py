"""The story: nine steps from pixels to an answer, and the page each is shown on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from app import selection
from app.components.choices import choose
from app.components.lecture.lecture import wide
from app.components.steps.steps import steps
from app.furniture import controls, guess
from app.views.story import blocks, pixels, tokens
from app.views.story.step import Scene, Step

if TYPE_CHECKING:
    from app.texts import Prose
    from vitcore.models.load_model import Vit

STEPS: tuple[Step, ...] = (*pixels.STEPS, *tokens.STEPS, *blocks.STEPS)
BLOCK = 1 + next(place for place, step in enumerate(STEPS) if step.key == "block")


def navigation(text: Prose, step: int) -> None:
    """The stepper."""
    names = [text[f"{row.key} name"] for row in STEPS]
    spoken = [text["spoken"].format(step=i, count=len(names), name=name) for i, name in enumerate(names, 1)]
    steps(
        names, spoken, step, key="steps", target="step", label=text["steps"], before=text["before"], after=text["after"],
        clicker=bool(st.session_state.get("lecture")),
    )  # fmt: skip


def step_number(text: Prose) -> int:
    """Which step it is, from 1; kept in the address."""
    if not 1 <= (st.session_state.get("step") or 1) <= len(STEPS):
        st.session_state["step"] = 1
    return int(st.number_input(text["step"], 1, len(STEPS), key="step", bind="query-params", width=wide(130)))


def inside_of(text: Prose, vit: Vit) -> tuple[int, int]:
    """The layer and the head (from 0) that are looked into."""
    layer = controls.layer(text["layer"], vit, vit.blocks // 2, width=200)
    return layer, controls.slider(text["head"], selection.HEAD, 0, vit.heads - 1, 0, width=200)


def show(scene: Scene, number: int) -> None:
    """A step: its words, equation and question on the left, its picture on the right."""
    step = STEPS[number - 1]
    with st.container(key="a_step"):
        left, right = st.columns([2, 3], gap="large")
    with left:
        st.header(f"{number} · {scene.text[f'{step.key} name']}", anchor=False)
        st.markdown(scene.say(step.words(scene) or step.key))
        with st.container(gap=None):
            for line in step.equation(scene).split("\n"):  # KaTeX cuts off what it aligns, by a pixel or two
                st.latex(line)
        if step.beside:
            step.beside(scene)
        _question(scene, step)
        if st.session_state.get("lecture"):
            with st.expander(scene.text["notes title"], icon=":material/co_present:", key=f"notes_{step.key}"):
                st.markdown(scene.say(step.words(scene, "notes") or ""))
    with right:
        step.draw(scene)
        for part, title in (("how", "how title"), ("limits", "limits title")):
            if key := step.words(scene, part):
                st.caption(f"**{scene.text[title]}** {scene.say(key)}")
    if number < len(STEPS):  # at the end of what was read, where the stepper is out of sight
        name = scene.text["next"].format(name=scene.text[f"{STEPS[number].key} name"])
        st.button(name, icon=":material/arrow_forward:", key="next_step", on_click=choose, args=("step", number + 1))
    else:
        _onward(scene)


def _onward(scene: Scene) -> None:
    """Where to go after the last step: the pinned patch in the explorer, and what the answer was gathered from."""
    with st.container(horizontal=True):
        for page, key, given in (
            ("attention", "to explorer", {selection.PATCH: str(scene.patch)}),
            ("rollout", "to lab", {}),
        ):
            st.page_link(
                f"views/{page}/page.py", label=scene.say(key), icon=":material/arrow_forward:", query_params=given
            )


def _question(scene: Scene, step: Step) -> None:
    """A question to think about before the answer is shown; a guess is said to be right or not in the answer."""
    text, (facts, right) = scene.text, step.ask(scene)
    with st.container(border=True):
        st.markdown(f"**{text['predict']}** {scene.say(step.words(scene, 'question') or '', **facts)}")
        options = scene.say(step.words(scene, "options") or "", **facts).split(" | ")
        said = scene.say(step.words(scene, "answer") or "", **facts)
        with guess.answer(step.key, options, right, said):
            if step.shown_after:
                step.shown_after(scene)
