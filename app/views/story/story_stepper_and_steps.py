"""The story: nine steps from pixels to an answer, and the page each is shown on."""

from dataclasses import replace

import streamlit as st

from app.components.figure import show_explanation_fold
from app.components.stepper.stepper import stepper
from app.menu import page_target
from app.shell import query_controls, shared_selection
from app.state.visit.visit import Visit
from app.texts import Prose
from app.views.story import answer_steps, block_step, pixel_steps, token_steps
from app.views.story.story_step import StoryStep, StoryVisit
from app.widgets import guess_question
from vitcore.models.vit import Vit

STORY_STEPS: tuple[StoryStep, ...] = (
    *pixel_steps.PIXEL_STEPS, *token_steps.TOKEN_STEPS, block_step.INSIDE_BLOCK, *answer_steps.ANSWER_STEPS,
)  # fmt: skip
BLOCK_STEP = 1 + next(place for place, step in enumerate(STORY_STEPS) if step.key == "block")


def show_story_stepper(text: Prose, step: int) -> None:
    """The stepper of the story: its steps, and the current one."""
    names = [text[f"{row.key} name"] for row in STORY_STEPS]
    spoken = [text["spoken"].format(step=i, count=len(names), name=name) for i, name in enumerate(names, 1)]
    stepper(
        names, spoken, step, key="steps", target="step", label=text["steps"], back_label=text["before"], next_label=text["after"],
        clicker=bool(st.session_state.get("lecture")),
    )  # fmt: skip


def step_number_input(text: Prose) -> int:
    """Which step it is, from 1; kept in the address. The stepper is what is touched: this one is not seen (`page_style.css`)."""
    if not 1 <= (st.session_state.get("step") or 1) <= len(STORY_STEPS):
        st.session_state["step"] = 1
    return int(st.number_input(text["step"], 1, len(STORY_STEPS), key="step", bind="query-params"))


def _layer_and_head_inputs(text: Prose, vit: Vit) -> tuple[int, int]:
    """The layer and the head (from 0) that are looked into."""
    layer = query_controls.layer_slider(text["layer"], vit, vit.blocks // 2, width=180)
    return layer, query_controls.slider(text["head"], shared_selection.HEAD, 0, vit.heads - 1, 0, width=180)


def show_story_step(visit: Visit, number: int) -> None:
    """A step: its words, equation and question on the left, its picture on the right, its settings below that.

    In a lecture the words have more room and the question comes first: it is asked before the stepper hides it.
    """
    step, layer, head = STORY_STEPS[number - 1], 0, 0
    lecture = bool(st.session_state.get("lecture"))
    with st.container(key="a_step"):
        left, right = st.columns([3, 4] if lecture and number != BLOCK_STEP else [1, 2], gap="large")
    picture_place = right.container()
    with right.container(horizontal=True, vertical_alignment="bottom"):
        patch = query_controls.patch_input(visit.texts["patch"], visit.grid, width=130)
        if number == BLOCK_STEP:
            layer, head = _layer_and_head_inputs(visit.texts, visit.vit)
        story = replace(visit, patch=patch, layer=layer, head=head).extend(StoryVisit)
        how, limits = (story.fill_text(key) if (key := step.text_key(story, part)) else "" for part in ("how", "limits"))
        show_explanation_fold(story.texts.join_sentences((how, step.more_to_read(story) if step.more_to_read else "")), limits)
    with left:
        st.header(f"{number} · {story.texts[f'{step.key} name']}", anchor=False)
        st.markdown(story.fill_text(step.text_key(story) or step.key))
        question_place = st.container()
        with st.container(gap=None):
            for line in step.equation(story).split("\n"):  # KaTeX cuts off what it aligns, by a pixel or two
                st.latex(line)
        if step.draw_below_text:
            step.draw_below_text(story)
        with question_place if lecture else st.container():
            _question(story, step)
        if lecture:
            with st.expander(story.texts["notes title"], icon=":material/co_present:", key=f"notes_{step.key}"):
                st.markdown(story.fill_text(step.text_key(story, "notes") or ""))
        if number == len(STORY_STEPS):
            _next_pages(story)
    with picture_place:
        step.draw_picture(story)


def _next_pages(story: StoryVisit) -> None:
    """Where to go after the last step: the pinned patch in the explorer, and what the answer was gathered from."""
    with st.container(horizontal=True):
        for page, key, given in (
            ("attention", "to explorer", {shared_selection.PATCH: str(story.patch)}),
            ("rollout", "to lab", {}),
        ):
            st.page_link(page_target(page), label=story.fill_text(key), icon=":material/arrow_forward:", query_params=given)


def _question(story: StoryVisit, step: StoryStep) -> None:
    """A question to think about before the answer is shown; a guess is said to be right or not in the answer."""
    text, (facts, right) = story.texts, step.question_facts(story)
    with st.container(border=True):
        st.markdown(f"**{text['predict']}** {story.fill_text(step.text_key(story, 'question') or '', **facts)}")
        options = story.fill_text(step.text_key(story, "options") or "", **facts).split(" | ")
        said = story.fill_text(step.text_key(story, "answer") or "", **facts)
        with guess_question.guess_before_answer(step.key, options, right, said):
            if step.draw_below_answer:
                step.draw_below_answer(story)
