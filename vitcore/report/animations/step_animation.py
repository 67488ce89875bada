"""Any picture step by step as an animation, GIF or WebP: a frame a step under one title, what it says, and how far it has come."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from vitcore.figures.theme_colours import ColourScale, Mode
from vitcore.report.animations.encode_within_size import MAX_BYTES, AnimationKind, encode_within_bytes
from vitcore.report.animations.frame_sheet import blank_animation_sheet, frame_on_sheet, resize_to_side


@dataclass(frozen=True, eq=False)
class AnimationStep:
    """A frame: its picture (H, W, 3), uint8, the step in a few words, and what is found at it, in a line."""

    pixels: NDArray[np.uint8]
    words: str
    sentence: str = ""


def step_animation(
    title: str, steps: Sequence[AnimationStep], scale: ColourScale | None = None, kind: AnimationKind = "gif", *,
    max_bytes: int = MAX_BYTES, mode: Mode = "light",
) -> bytes:  # fmt: skip
    """One frame a step, endlessly looping, at most `max_bytes`; pictures of one shape, with the `scale` of their colours below.

    Raises: ValueError, for no step, pictures of several shapes, and kinds that are not known.
    """
    if len({step.pixels.shape for step in steps}) != 1:
        raise ValueError("an animation is of one step or more, whose pictures have one shape")
    return encode_within_bytes(lambda side_px: _frames(title, steps, scale, side_px, mode), kind, max_bytes)


def _frames(title: str, steps: Sequence[AnimationStep], scale: ColourScale | None, side_px: int, mode: Mode) -> list[Image.Image]:
    pictures = [resize_to_side(Image.fromarray(step.pixels), side_px) for step in steps]
    sheet = blank_animation_sheet(pictures[0].size, side_px, title, scale, mode, more=any(step.sentence for step in steps))
    return [
        frame_on_sheet(sheet, picture, side_px, step.words, done, len(steps), mode, step.sentence, has_scale=scale is not None)
        for done, (step, picture) in enumerate(zip(steps, pictures, strict=True), start=1)
    ]
