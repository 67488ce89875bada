"""Steps 1 to 3 of the story: the pixels, the patches they are cut into, and one patch laid out as a row of numbers."""

from typing import Any

import streamlit as st

from app.components.figure import show_drawing
from app.components.page_style.page_style import scale_to_page_px
from app.components.picture.picture import picture
from app.components.vectors.vectors import vector_row, vectors
from app.state.recordings import cached_block_activations
from app.views.story.story_step import StoryStep, StoryVisit
from vitcore.figures.story_steps import colour_channels, flattened_patch
from vitcore.images import crop_sentence


def _hybrid_text_key(story: StoryVisit) -> str:
    """Which text the step has: "hybrid" for models that cut feature maps, not pixels."""
    return " hybrid" if story.vit.hybrid else ""


def _clickable_photo(story: StoryVisit, key: str, gutter_px: float = 0) -> None:
    grid = story.grid
    picture(
        story.photo_url, grid.rows, grid.cols, grid.step_px, key=key, label=story.texts["photo"], target="patch",
        selected=story.patch, gutter_px=gutter_px, lines=bool(gutter_px),
    )  # fmt: skip


def _draw_pixels(story: StoryVisit) -> None:
    _clickable_photo(story, "story_pixels")


def _ask_pixel_count(story: StoryVisit) -> tuple[dict[str, Any], int]:
    wide, high = story.photo.image.size
    return {"own_wide": wide, "own_high": high, "own_all": f"{3 * wide * high:,}"}, 1


def _channels_and_crop(story: StoryVisit) -> None:
    """What the model gets: the colour channels of which part of the photo; the rest of the story is about that alone."""
    with st.container(horizontal=True, gap="small", key="channels", wrap=False):
        for name, shown in zip(("red", "green", "blue"), colour_channels(story.recording.model_input.pixels), strict=True):
            st.image(shown, story.texts[name], width=scale_to_page_px(80), alt=story.texts[f"{name} channel"])
    st.caption(crop_sentence(story.photo.image, story.recording.model_input))


def _draw_patches(story: StoryVisit) -> None:
    _clickable_photo(story, "story_patches", max(story.grid.step_px) / 8)


def _ask_patch_count(story: StoryVisit) -> tuple[dict[str, Any], int]:
    return {"more": 4 * story.grid.patches}, 1


def _draw_flattened(story: StoryVisit) -> None:
    if story.vit.hybrid:
        projected = cached_block_activations.project_patch(story.recording, story.patch, story.vit)
        if projected is None:
            st.info(story.texts["other projection"])
            return
        name, count = story.texts["features"], story.fill_text("of many", count=projected.x_p.size)
        vectors([vector_row(name, "x_{p}", projected.x_p.ravel(), unit=count)], key="story_features", label=name, flat=True)
        return
    patch, given = story.patch_pixels[story.patch], story.normalised_patch
    show_drawing(flattened_patch(patch, given, story.mode), "story_flattened", story.fill_text("flattened alt"))


def equal_width_sentence(story: StoryVisit) -> str:
    """Where a patch and its embedding are as many numbers: nothing makes them so."""
    projected = cached_block_activations.project_patch(story.recording, story.patch, story.vit)
    if projected is None or story.vit.hybrid or not projected.x_p.size == story.facts["numbers"] == story.facts["width"]:
        return ""
    return story.fill_text("same width")


def _ask_next_row(story: StoryVisit) -> tuple[dict[str, Any], int]:
    return {"further": 3 * story.grid.step_px[1]}, 2


def _size_equation(story: StoryVisit) -> str:
    high, wide = story.grid.image_px
    return rf"x \in \mathbb{{R}}^{{H \times W \times C}} = \mathbb{{R}}^{{{high} \times {wide} \times 3}}"


def _division_equation(story: StoryVisit) -> str:
    grid = story.grid
    (high, wide), (side, across) = grid.image_px, grid.step_px
    return rf"N = \frac{{HW}}{{P^2}} = \frac{{{high} \cdot {wide}}}{{{side} \cdot {across}}} = {grid.patches}"


def _rows_equation(story: StoryVisit) -> str:
    projected = cached_block_activations.project_patch(story.recording, story.patch, story.vit)
    numbers = story.facts["numbers"] if projected is None else projected.x_p.size
    rows = rf"x_p \in \mathbb{{R}}^{{N \times (P^2 C)}} = \mathbb{{R}}^{{{story.grid.patches} \times {numbers}}}"
    return rows if story.vit.hybrid else rows + "\n" + r"x = \frac{v / 255 - \mu}{\sigma}"


PIXEL_STEPS = (
    StoryStep("pixels", _size_equation, _draw_pixels, _ask_pixel_count, draw_below_text=_channels_and_crop),
    StoryStep("patches", _division_equation, _draw_patches, _ask_patch_count, _hybrid_text_key),
    StoryStep("flattened", _rows_equation, _draw_flattened, _ask_next_row, _hybrid_text_key, more_to_read=equal_width_sentence),
)
