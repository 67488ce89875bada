"""Step 7 of the story: inside one block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from app import texts
from app.components.picture.picture import map_scale_bar, picture
from app.components.vectors.vectors import attention_row, vector_row, vectors
from app.state.recordings import cached_outliers
from app.views.story.story_step import StoryStep, StoryVisit
from app.views.story.token_steps import token_name, token_name_in_sentence
from app.widgets import guess_question, outlier_masking
from vitcore.figures.heat_overlay import heat_colour_scale, heat_colours, scale_top
from vitcore.figures.theme_colours import pixels_to_data_uri
from vitcore.translation import percent

if TYPE_CHECKING:
    from numpy.typing import NDArray

TOKENS_SHOWN = 5  # tokens shown of those that are attended to most
RESIDUAL_STREAM = "z_{%s}"


def _block_kind(story: StoryVisit) -> str:
    return " other" if story.activations is None else ""


def _most_attended(story: StoryVisit, weights: NDArray) -> list[int]:
    """The others that the pinned token attends to most by its weights (T,); its own share is asked for."""
    order = [int(t) for t in (-weights).argsort()[: TOKENS_SHOWN + 1]]
    return [t for t in order if t != story.token][:TOKENS_SHOWN]


def _draw_attention(story: StoryVisit) -> None:
    """The photo lit by what the chosen head attends to; masked outlier tokens are left out of it, not of the numbers beside it."""
    grid = story.grid
    row = story.activations.weights[story.head]
    if outlier_masking.is_masking_applied(story):
        row = cached_outliers.mask_outlier_weights(story.recording, row)
    weights, most = row[grid.prefix :], [t - grid.prefix for t in _most_attended(story, row) if t >= grid.prefix]
    found = outlier_masking.outliers_in_map(story, weights)
    even, unit = grid.even_share, story.texts["attended unit"]
    top = scale_top(weights, even)
    shares: list[float | None] = [100 * share for share in weights.tolist()]
    if not guess_question.has_guessed("block"):
        shares[story.patch] = None  # what it keeps for itself is asked beside the picture
    st.markdown(f"##### {story.fill_text('attended title')}")
    picture(
        story.photo_url, grid.rows, grid.cols, grid.step_px, key="story_attended", label=story.fill_text("attended title"),
        target="patch", selected=story.patch, overlay=pixels_to_data_uri(heat_colours(grid.to_map(weights), top)),
        detail=story.detail_url,
        lines=False, values=shares, unit=unit, even_share=100 * even, strongest=most,
        marks=found.patches, marks_sentence=found.sentence,
    )  # fmt: skip
    map_scale_bar(heat_colour_scale(weights, top, even), "story_attended_scale")
    more = texts.prose("outliers")["numbers unmasked"] if found.masked else ""
    outlier_masking.show_note_and_switch(found._replace(sentence=story.texts.join_sentences((found.sentence, more))), "attended")


def _draw_block(story: StoryVisit) -> None:
    if story.activations is None:
        st.info(story.texts["other blocks"])
        return
    photo, rows = st.columns([2, 5])
    with photo:
        _draw_attention(story)
    with rows:
        st.markdown(f"##### {story.fill_text('block title')}")
        vectors(_attention_rows(story) + _mlp_rows(story), key="story_block", label=story.fill_text("block title"))


def _attention_rows(story: StoryVisit) -> list[dict[str, Any]]:
    x, h, text = story.activations, story.head, story.texts
    before, mid = RESIDUAL_STREAM % (story.layer), RESIDUAL_STREAM.replace("z", "z′") % (story.layer + 1)
    width, narrow = (story.fill_text("of many", count=n) for n in (x.x_in.size, x.q.shape[1]))
    return [
        vector_row(text["enters"], before, x.x_in, kind="stream", sign="", unit=width),
        vector_row(text["normed"], rf"\rm{{LN}}({before})", x.normed, kind="branch start", unit=width),
        vector_row(text["query"], r"q = \rm{LN}(z) W_{q}", x.q[h], unit=narrow),
        vector_row(text["key"], r"k = \rm{LN}(z) W_{k}", x.k[h], unit=narrow),
        vector_row(text["value"], r"v = \rm{LN}(z) W_{v}", x.v[h], unit=narrow),
        attention_row(
            text["weights"],
            r"A = \rm{softmax}(q Kᵀ / √d)",
            _attended_tokens(story),
            story.fill_text("most of many", shown=TOKENS_SHOWN, count=x.weights.shape[1]),
        ),
        vector_row(text["gathered"], r"A V", x.heads[h], unit=narrow),
        vector_row(text["attended"], r"\rm{MSA} = [A_{1}V_{1}; …] W", x.attended, unit=width),
        vector_row(
            text["first sum"], rf"{mid} = \rm{{MSA}}(\rm{{LN}}(z)) + z", x.after_attention, kind="sum", sign="+", unit=width
        ),
    ]


def _mlp_rows(story: StoryVisit) -> list[dict[str, Any]]:
    x, text = story.activations, story.texts
    mid, after = RESIDUAL_STREAM.replace("z", "z′") % (story.layer + 1), RESIDUAL_STREAM % (story.layer + 1)
    width = story.fill_text("of many", count=x.x_in.size)
    bend = r"\rm{GELU}" if "GELU" in type(getattr(story.vit.module.blocks[x.block].mlp, "act", x)).__name__ else "σ"
    rows = [vector_row(text["normed"], rf"\rm{{LN}}({mid})", x.normed2, kind="branch start", unit=width)]
    if x.hidden.size:
        rows.append(
            vector_row(text["hidden"], rf"{bend}(… W_{{1}})", x.hidden, unit=story.fill_text("of many", count=x.hidden.size))
        )
    return [
        *rows,
        vector_row(text["mlp"], rf"\rm{{MLP}} = {bend}(… W_{{1}}) W_{{2}}", x.mlp, unit=width),
        vector_row(text["second sum"], rf"{after} = \rm{{MLP}}(\rm{{LN}}(z′)) + z′", x.x_out, kind="sum", sign="+", unit=width),
    ]


def _attended_tokens(story: StoryVisit) -> list[dict[str, str]]:
    """The tokens attended to most: a picture or a letter, the weight, and the score it came from."""
    prefix, shown = story.grid.prefix, []
    for token in _most_attended(story, story.activations.weights[story.head]):
        weight = percent(float(story.activations.weights[story.head, token]))
        if token < prefix:
            name = token_name(story, story.prefix_names[token])
            shown.append({"sign": name[0].upper(), "weight": weight, "name": name})
        else:
            image = pixels_to_data_uri(story.patch_pixels[token - prefix])
            shown.append({"image": image, "weight": weight, "name": str(token - prefix)})
    return shown


def _ask_self_attention(story: StoryVisit) -> tuple[dict[str, Any], int]:
    if story.activations is None:
        return {}, 1
    weights = story.activations.weights[story.head]
    own, even = float(weights[story.token]), 1 / weights.size
    most = int(weights.argmax())
    who = story.fill_text("patch named", other=most - story.grid.prefix)
    if most < story.grid.prefix:
        who = token_name_in_sentence(story, story.prefix_names[most])
    right = 0 if own >= 0.5 else 1 if own > even else 2
    times = f"{own / even:.{0 if own >= 10 * even else 1}f}"
    beside = story.fill_text("more than even" if own > even else "less than even", times=times, even=percent(even))
    return {"own": percent(own), "beside": beside, "who": who, "most": percent(float(weights[most]))}, right


def _block_equations(_: StoryVisit) -> str:
    return (
        r"z'_\ell = \mathrm{MSA}(\mathrm{LN}(z_{\ell-1})) + z_{\ell-1} \quad (2)"
        "\n"
        r"z_\ell = \mathrm{MLP}(\mathrm{LN}(z'_\ell)) + z'_\ell \quad (3)"
    )


INSIDE_BLOCK = StoryStep("block", _block_equations, _draw_block, _ask_self_attention, _block_kind)
