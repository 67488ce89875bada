"""The covered photo to take along: the rollout that is left, drawn on what the model is shown, and the numbers before and after."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from app.components.figure import downloads
from app.state import step_animations
from app.state.recordings import covered_photos
from app.views.cover import cover_message
from app.widgets import outlier_masking
from vitcore import figures

if TYPE_CHECKING:
    from app.views.cover.cover_view import CoverVisit


def download_button(visit: CoverVisit) -> None:
    """Nothing where this model can't do without what is covered."""
    covered = cover_message.pass_or_problem(visit)
    if isinstance(covered, str):
        return
    rec, grid, text, mode = visit.recording, visit.grid, visit.texts, visit.mode
    shown = outlier_masking.recording_to_show(visit)
    pixels, rollout = covered_photos.covered_pixels(rec, visit.covered, visit.fill), covered.rollout
    title = outlier_masking.masked_title(text["download title"].format(readout=visit.readout), outlier_masking.is_on())
    unit, words = text["percent of all"], {"title": text["film title"], "step": text["film step"]}
    moving = partial(step_animations.cover_animation, visit.vit.name, visit.photo.key, visit.covered, visit.fill, words, mode)
    downloads(
        lambda: figures.relevance(100 * rollout, pixels, grid, title, unit, mode=mode, even_share=100 * grid.even_share),
        "cover", cover_message.told(visit, covered), subjects=visit.subjects, file_stem="covered patches",
        covered=covered_photos.decode_patches(visit.covered, grid), logits_before=rec.logits, logits_after=covered.logits,
        rollout_before=shown.rollout(), rollout_after=rollout, class_attention_before=shown.pooled_attention(visit.vit.blocks - 1),
        class_attention_after=covered.class_attention, animation=moving if visit.covered else None,
    )  # fmt: skip
