"""Rollout through the layers as a short animation, WebP or GIF: one frame a layer, one colour scale, a rest at the end."""

from numpy.typing import NDArray
from PIL import Image

from vitcore.figures.attention import resize_for_figure
from vitcore.figures.outlier_frames import frame_outliers_in_pixels
from vitcore.figures.relevance import rollout_per_layer_scale, rollout_per_layer_top
from vitcore.figures.theme_colours import Mode
from vitcore.forward.recording import Recording
from vitcore.images import sharp_crop
from vitcore.models.load_model import Vit
from vitcore.outlier_sentences import masked_outliers_sentence, outlier_sentence
from vitcore.report.animations.encode_within_size import MAX_BYTES, SIDES_PX, AnimationKind, encode_within_bytes
from vitcore.report.animations.frame_sheet import blank_animation_sheet, frame_on_sheet, resize_to_side
from vitcore.report.report_numbers import masked_outlier_patches, outlier_patches_in_map, rollout_per_layer
from vitcore.report.report_pictures import heat_over_photo
from vitcore.report.report_settings import DEFAULT_SETTINGS, ReportSettings, layer_range_words, query_token_words
from vitcore.translation import say


def rollout_animation(
    vit: Vit, rec: Recording, settings: ReportSettings = DEFAULT_SETTINGS, kind: AnimationKind = "webp", max_bytes: int = MAX_BYTES,
    mode: Mode = "light",
) -> bytes:  # fmt: skip
    """One frame for every block from `first_block` on, endlessly looping, at most `max_bytes`, on light or dark paper.

    Raises: ValueError, for settings the model can't have and kinds that are not known.
    """
    settings = settings.fit_to_model(rec.grid, vit.blocks, vit.heads)
    maps, photo = rollout_per_layer(rec, settings), resize_for_figure(sharp_crop(rec.photo, rec.model_input))
    return encode_within_bytes(lambda side_px: _frames(vit, rec, settings, maps, photo, side_px, mode), kind, max_bytes)


def rollout_end_frame(vit: Vit, rec: Recording, settings: ReportSettings = DEFAULT_SETTINGS, mode: Mode = "light") -> Image.Image:
    """The last frame, for where nothing moves."""
    maps, photo = rollout_per_layer(rec, settings), resize_for_figure(sharp_crop(rec.photo, rec.model_input))
    return _frames(vit, rec, settings, maps, photo, SIDES_PX[0], mode)[-1]


def _frames(
    vit: Vit, rec: Recording, settings: ReportSettings, maps: NDArray, photo: Image.Image, side_px: int, mode: Mode
) -> list[Image.Image]:
    """The frames: a title, the photo under its heat, the layers so far, the scale."""
    photo = resize_to_side(photo, side_px)
    top, first = rollout_per_layer_top(maps, rec.grid), settings.first_block
    marks = [outlier_patches_in_map(rec, amounts) for amounts in maps]
    masked = masked_outliers_sentence(len(masked_outlier_patches(rec, settings)))
    said = [masked or outlier_sentence(some, rec.grid) for some in marks]
    title = say("Rollout of {who}", who=query_token_words(vit, settings))
    sheet = blank_animation_sheet(photo.size, side_px, title, rollout_per_layer_scale(maps, rec.grid), mode, more=any(said))
    return [
        frame_on_sheet(
            sheet, Image.fromarray(frame_outliers_in_pixels(lit, marks[last], rec.grid)), side_px,
            layer_range_words(first, first + last), last + 1, len(maps), mode, said[last], sentence_size=0.68, sentence_ink="soft",
        )
        for last, lit in enumerate(heat_over_photo(photo, maps, top, rec.grid, settings.patch))
    ]  # fmt: skip
