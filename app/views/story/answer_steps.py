"""Steps 8 and 9 of the story: the answer as it is made block after block, and the answer."""

import math
from typing import Any

import streamlit as st

from app import texts
from app.components.figure import show_drawing
from app.components.layer_pictures.layer_pictures import layer_pictures
from app.components.vectors.vectors import vector_row, vectors
from app.shell import photo_ids_and_titles
from app.state.recordings import cached_block_activations, cached_outliers
from app.views.story.story_step import StoryStep, StoryVisit
from app.widgets import guess_question, outlier_masking
from vitcore.figures.story_steps import logit_lens, logits_and_probabilities
from vitcore.outlier_sentences import outlier_sentence
from vitcore.translation import translated_labels


def _draw_depth(story: StoryVisit) -> None:
    share = cached_block_activations.logit_lens_probabilities(story.recording, story.vit)
    tiles, known, marked = [], guess_question.has_guessed("depth"), set[int]()
    read = outlier_masking.recording_masked_if_on(story)
    for block, (image, marks) in enumerate(cached_block_activations.attention_pictures_per_layer(read)):
        marked |= {*marks}
        words = ""
        if share is not None and known:
            best = int(share[block + 1].argmax())
            words = f"{translated_labels(story.vit.labels)[best]} {100 * share[block + 1, best]:.0f}\u00a0%"
        name = story.fill_text("layer named", number=block)
        alt = story.texts.join_sentences((story.fill_text("depth alt", number=block), outlier_sentence(marks, story.grid)))
        tiles.append({"image": image, "name": name, "words": words, "alt": alt})
    st.markdown(f"##### {story.fill_text('depth title')}")
    layer_pictures(tiles, key="story_depth", label=story.fill_text("depth title"))
    count = len(cached_outliers.find_outlier_tokens(story.recording).patches)
    outlier_masking.show_note_and_switch(outlier_masking.map_outliers_of_patches(sorted(marked), count, story.grid), "depth")
    if known:
        _draw_logit_lens(story)


def _lens_below_answer(story: StoryVisit) -> None:
    """For who opens the answer without a guess, in it."""
    if not guess_question.has_guessed("depth"):
        _draw_logit_lens(story)


def _draw_logit_lens(story: StoryVisit) -> None:
    share = cached_block_activations.logit_lens_probabilities(story.recording, story.vit)
    if share is not None:
        labels = translated_labels(story.vit.labels)
        show_drawing(logit_lens(share, labels, story.mode, output=story.vit.output), "story_lens", story.texts["lens alt"])


def _depth_kind(story: StoryVisit) -> str:
    return "" if story.vit.labels else " headless"


def _ask_leading_class(story: StoryVisit) -> tuple[dict[str, Any], int]:
    leading = cached_block_activations.logit_lens_leaders(story.recording, story.vit)
    if leading is None:
        return {}, 0
    (first, last, since), blocks, labels = leading, story.vit.blocks, translated_labels(story.vit.labels)
    pictured = story.texts["pictured"].format(layer=since - 1) if since else ""  # the pictures count layers from 0
    facts = {"label": texts.escape_markdown(labels[last]), "first": texts.escape_markdown(labels[first])}
    return facts | {"since": since, "pictured": pictured}, 0 if since <= 1 else 1 if since <= blocks - 2 else 2


def _draw_answer(story: StoryVisit) -> None:
    if story.vit.labels:
        rec, labels = story.recording, translated_labels(story.vit.labels)
        drawn = logits_and_probabilities(rec.logits, rec.probabilities, labels, story.mode, output=rec.output)
        show_drawing(drawn, "story_answer", story.texts["answer alt"])
        photo_ids_and_titles.show_imagenet_name([label for label, _ in story.recording.top_classes(translated=True)])
        return
    many = story.fill_text("of many", count=story.recording.logits.size)
    row = vector_row(story.texts["pooled"], "y", story.recording.logits, unit=many, sign="")
    vectors([row], key="story_pooled", label=story.texts["pooled"], flat=True)


def _ask_probability_ratio(story: StoryVisit) -> tuple[dict[str, Any], int]:
    if len(story.vit.labels) < 2:
        return {}, 1
    second, first = sorted(story.recording.logits.tolist())[-2:]
    times = math.exp(gap := round(first - second, 2))  # of the gap as it is shown, so that anybody may check it
    return {"gap": gap, "times": f"{float(f'{times:.3g}'):,.{max(0, 2 - int(math.log10(times)))}f}"}, 1


def _readout_kind(story: StoryVisit) -> str:
    if not story.vit.labels:
        return " headless"
    if story.vit.output == "sigmoid":
        return " independent"
    return {"class token": "", "class and distillation tokens": " distilled"}.get(story.vit.pooling, " pooled")


def _readout_equation(story: StoryVisit) -> str:
    if story.vit.pooling == "class token":
        return r"y_\ell = \mathrm{LN}(z_\ell^0), \quad \ell = 0 \dots L" + "\n" + r"y = y_L \quad (4)"
    return r"y_\ell = \mathrm{pool}(\mathrm{LN}(z_\ell)), \quad \ell = 0 \dots L"


def _softmax_equation(story: StoryVisit) -> str:
    if story.vit.output == "sigmoid":
        return r"p_i = \frac{1}{1 + e^{-y_i}}"
    if story.vit.labels:
        return r"p_i = \frac{e^{\,y_i}}{\sum_j e^{\,y_j}}"
    return rf"y \in \mathbb{{R}}^{{{story.recording.logits.size}}}"


ANSWER_STEPS = (
    StoryStep("depth", _readout_equation, _draw_depth, _ask_leading_class, _depth_kind, draw_below_answer=_lens_below_answer),
    StoryStep("answer", _softmax_equation, _draw_answer, _ask_probability_ratio, _readout_kind),
)
