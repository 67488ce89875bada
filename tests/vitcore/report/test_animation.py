"""The animation: a frame a layer on one colour scale, small enough to send, and the last frame is the rollout."""

import io
from itertools import pairwise

import numpy as np
import pytest
from PIL import Image

import vitcore
from vitcore.figures.relevance import rollout_per_layer_top
from vitcore.figures.theme_colours import SEQUENTIAL, ColourScale
from vitcore.report.animations.encode_within_size import MAX_BYTES, REST_MS, SIDES_PX
from vitcore.report.animations.frame_sheet import split_text_by_font
from vitcore.report.animations.rollout_animation import rollout_animation, rollout_end_frame
from vitcore.report.animations.step_animation import AnimationStep, step_animation
from vitcore.report.report_numbers import rollout_per_layer
from vitcore.report.report_settings import ReportSettings, layer_range_words
from vitcore.translation import using_translation


def frames(data: bytes) -> list[Image.Image]:
    image = Image.open(io.BytesIO(data))
    found = []
    for place in range(image.n_frames):
        image.seek(place)
        image.load()
        found.append(image.convert("RGB").copy())
    return found


@pytest.mark.parametrize("kind", ["webp", "gif"])
def test_a_frame_a_layer(kind, shipped, rec):
    data = rollout_animation(shipped, rec, ReportSettings(), kind)
    assert len(data) <= MAX_BYTES
    image = Image.open(io.BytesIO(data))
    assert image.format == kind.upper() and image.n_frames == shipped.blocks and image.info["loop"] == 0
    drawn = [np.asarray(frame, np.int16) for frame in frames(data)]
    assert all(np.abs(a - b).max() > 20 for a, b in pairwise(drawn)), "two frames alike"
    image.seek(image.n_frames - 1)
    image.load()
    assert image.info["duration"] == REST_MS, "it rests at the end"


def test_frames_begin_with_the_first_layer_asked_and_the_still_is_the_last(shipped, rec):
    assert len(frames(rollout_animation(shipped, rec, ReportSettings(first_block=9)))) == 3
    assert (layer_range_words(9, 9), layer_range_words(9, 11)) == ("layer 9", "layers 9–11")
    last, whole = frames(rollout_animation(shipped, rec))[-1], rollout_end_frame(shipped, rec)
    assert whole.size == last.size
    assert np.abs(np.asarray(whole, np.int16) - np.asarray(last, np.int16)).mean() < 4, "WebP loses a little"


def test_one_scale_for_all_frames(rec):
    """Where two frames' amounts are the same so are their colours: the last frame is drawn with the first's scale."""
    found = rollout_per_layer(rec, ReportSettings())
    top = rollout_per_layer_top(found, rec.grid)
    assert top >= np.quantile(found, 0.95) and top <= max(found.max(), 2.5 / rec.grid.tokens)
    assert top == rollout_per_layer_top(found[-1:], rec.grid), "the last frame is the whole rollout, drawn as everywhere"


def test_it_shrinks_until_it_is_small_enough(shipped, rec):
    large = rollout_animation(shipped, rec, ReportSettings(), "gif")
    small = rollout_animation(shipped, rec, ReportSettings(), "gif", max_bytes=len(large) // 2)
    assert len(small) <= len(large) // 2
    assert Image.open(io.BytesIO(small)).width < Image.open(io.BytesIO(large)).width <= SIDES_PX[0]
    with pytest.raises(ValueError, match="webp or gif"):
        rollout_animation(shipped, rec, ReportSettings(), "mp4")


def test_a_large_model_s_animation_fits_and_a_wide_one_s_has_room_for_words(make_vit, noise):
    vit = make_vit(img_size=384, patch_size=16, embed_dim=24, depth=24, num_heads=3)
    data = rollout_animation(vit, vitcore.record(vit, noise(0, (1600, 1200))), ReportSettings(), "gif")
    assert len(data) <= MAX_BYTES and len(frames(data)) == 24
    vit = make_vit(img_size=(24, 48))
    wide, high = frames(rollout_animation(vit, vitcore.record(vit, noise())))[0].size
    assert wide == SIDES_PX[0] and high < 0.85 * wide, "as wide as the photo, with room for words"


@pytest.mark.parametrize("font", ["Inside ViT SC", "Inside ViT TC"])
def test_chinese_is_written_in_letters_that_are_there(font):
    words = "第 0–11 层" if font.endswith("SC") else "第 0–11 層"
    with using_translation({"Inside ViT SC": font}):
        pieces = split_text_by_font(words, 24)
    assert "".join(part for part, _ in pieces) == words and len(pieces) == 3
    for part, face in pieces:
        missing = bytes(face.getmask("\U0010fffe"))
        assert all(bytes(face.getmask(letter)) != missing for letter in part if letter != " ")


def test_any_steps_as_frames_with_their_scale():
    steps = [AnimationStep(np.full((40, 60, 3), 40 * i, np.uint8), f"step {i}", "panda: 3 %" if i else "") for i in range(3)]
    scale = ColourScale(colours=SEQUENTIAL, low=-1, high=1, unit="logits")
    plain, scaled = (frames(step_animation("Steps", steps, one)) for one in (None, scale))
    assert len(plain) == len(scaled) == 3
    middles = [np.asarray(one)[one.height // 3, one.width // 2].mean() for one in plain]
    assert middles == pytest.approx([0, 40, 80], abs=6), "each frame shows its picture"
    below = [np.asarray(one, np.int16)[-2 * 28 :] for one in plain]
    assert np.abs(below[1] - below[0]).max() > 100, "and what is said of it"
    coloured = [int((np.ptp(np.asarray(one, np.int16)[-90:], axis=2) > 60).sum()) for one in (plain[0], scaled[0])]
    assert coloured[1] > coloured[0] + 500, "a bar of its colours"
    for wrong in ([], [steps[0], AnimationStep(np.zeros((2, 2, 3), np.uint8), "")]):
        with pytest.raises(ValueError, match="one shape"):
            step_animation("x", wrong)
