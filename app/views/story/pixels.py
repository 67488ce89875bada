"""Steps 1 to 3 of the story: the pixels, the patches they are cut into, and one patch laid out as a row of numbers."""

from __future__ import annotations

from typing import Any

import streamlit as st

from app.components.lecture.lecture import size
from app.components.picture.picture import picture
from app.components.vectors.vectors import vector, vectors
from app.state import insights
from app.views.story.step import Scene, Step, chart


def hybrid(scene: Scene) -> str:
    """Hybrids cut feature maps, not pixels."""
    return " hybrid" if scene.vit.hybrid else ""


def _touch(scene: Scene, key: str, gutter_px: float = 0) -> None:
    grid = scene.rec.grid
    picture(
        scene.address, grid.rows, grid.cols, grid.step_px, key=key, label=scene.text["photo"], target="patch",
        selected=scene.patch, gutter_px=gutter_px, lines=bool(gutter_px),
    )  # fmt: skip


def _pixels(scene: Scene) -> None:
    from vitcore.figures.story_steps import channels

    photo, beside = st.columns([4, 1], gap="small")
    with photo:
        _touch(scene, "story_pixels")
    with beside, st.container(horizontal=True):
        for name, shown in zip(("red", "green", "blue"), channels(scene.rec.model_input.pixels), strict=True):
            st.image(shown, scene.text[name], width=round(104 * size().scale), alt=scene.text[f"{name} channel"])


def _count_pixels(scene: Scene) -> tuple[dict[str, Any], int]:
    wide, high = scene.photo.image.size
    return {"own_wide": wide, "own_high": high, "own_all": f"{3 * wide * high:,}"}, 1


def _cut_off(scene: Scene) -> None:
    """Which part of the photo it is: the rest of the story is about that alone."""
    from vitcore.images import crop_sentence

    st.markdown(crop_sentence(scene.photo.image, scene.rec.model_input))


def _patches(scene: Scene) -> None:
    _touch(scene, "story_patches", max(scene.rec.grid.step_px) / 8)


def _count_patches(scene: Scene) -> tuple[dict[str, Any], int]:
    return {"more": 4 * scene.rec.grid.patches}, 1


def _flattened(scene: Scene) -> None:
    if scene.vit.hybrid:
        projected = insights.projected(scene.rec, scene.patch, scene.vit)
        if projected is None:
            st.info(scene.text["other projection"])
            return
        name, count = scene.text["features"], scene.say("of many", count=projected.x_p.size)
        vectors([vector(name, "x_{p}", projected.x_p.ravel(), unit=count)], key="story_features", label=name, flat=True)
        return
    from vitcore.figures.story_steps import flattened

    patch, given = scene.cuts[scene.patch], scene.given
    chart(flattened(patch, given, scene.mode), "story_flattened", scene.say("flattened alt"))


def same_width(scene: Scene) -> None:
    """Where a patch and its embedding are as many numbers: nothing makes them so."""
    projected = insights.projected(scene.rec, scene.patch, scene.vit)
    if projected is None or scene.vit.hybrid:
        return
    if projected.x_p.size == scene.facts["numbers"] == scene.facts["width"]:
        st.caption(scene.say("same width"))


def _below(scene: Scene) -> tuple[dict[str, Any], int]:
    return {"further": 3 * scene.rec.grid.step_px[1]}, 2


def _size(scene: Scene) -> str:
    high, wide = scene.rec.grid.image_px
    return rf"x \in \mathbb{{R}}^{{H \times W \times C}} = \mathbb{{R}}^{{{high} \times {wide} \times 3}}"


def _division(scene: Scene) -> str:
    grid = scene.rec.grid
    (high, wide), (side, across) = grid.image_px, grid.step_px
    return rf"N = \frac{{HW}}{{P^2}} = \frac{{{high} \cdot {wide}}}{{{side} \cdot {across}}} = {grid.patches}"


def _rows(scene: Scene) -> str:
    projected = insights.projected(scene.rec, scene.patch, scene.vit)
    numbers = scene.facts["numbers"] if projected is None else projected.x_p.size
    rows = rf"x_p \in \mathbb{{R}}^{{N \times (P^2 C)}} = \mathbb{{R}}^{{{scene.rec.grid.patches} \times {numbers}}}"
    return rows if scene.vit.hybrid else rows + "\n" + r"x = \frac{v / 255 - \mu}{\sigma}"


STEPS = (
    Step("pixels", _size, _pixels, _count_pixels, beside=_cut_off),
    Step("patches", _division, _patches, _count_patches, hybrid),
    Step("flattened", _rows, _flattened, _below, hybrid, beside=same_width),
)
