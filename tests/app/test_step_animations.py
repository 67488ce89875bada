"""Animations that pages offer: what is off at each step, and files of as many frames as there are steps, made of keys alone."""

import io

import numpy as np
from PIL import Image

from app.state import step_animations
from app.state.photos import sample_photos
from app.state.recordings import cached_interventions, cached_recordings, patch_token_bytes_for_browser
from vitcore.faithfulness.method_ranking import photo_deletion
from vitcore.faithfulness.stability import CHANGES


def count_frames(data: bytes) -> int:
    image = Image.open(io.BytesIO(data))
    assert image.format == "GIF"
    return image.n_frames


def test_what_is_off_at_each_step():
    known = ["L0H0", "L0H1", "L0.attn", "L1H0", "L1H1", "L1.attn", "L1.mlp"]
    drops = np.float32([[0.1, 0.4], [0.2, -1]])
    assert step_animations.switch_steps(["L1.mlp", "L0H1"], known, drops) == (
        ["", "L1.mlp", "L1.mlp-L0H1"], ["", "L1.mlp", "L0H1"], "parts",
    )  # fmt: skip
    heads = step_animations.switch_steps([], known, drops)
    assert heads.parts == ["", "L0H1", "L1H0", "L0H0", "L1H1"] and heads.codes[2] == "L0H1-L1H0" and heads.kind == "heads"
    assert step_animations.switch_steps([], known, None) == (["", "L0.attn", "L1.attn"], ["", "L0.attn", "L1.attn"], "layers")


def test_a_frame_for_each_step_of_every_page(kinds, offer):
    vit = kinds["registers"]
    offer(registers=vit)
    key = sample_photos.sample_digest("cat")
    rec = cached_recordings.recording_from_key("registers", key, "mean")[1]
    steps = step_animations.switch_steps([], [one.name for one in cached_interventions.switchable_components(vit, "zero")], None)
    words = dict.fromkeys(steps.parts, "x") | {"title": "t", "unit": "%", "step": "{share}"}
    made = step_animations.switch_animation("registers", key, steps, "zero", "rollout", False, words, "light")
    assert count_frames(made) == 1 + vit.blocks
    found = photo_deletion(vit, rec, ("rollout",), random_orders=0, fill="mean")
    for insertion in (False, True):
        made = step_animations.deletion_animation("registers", key, found, "rollout", insertion, words, "dark")
        assert count_frames(made) == len(found.curves["rollout"].shares)
    words = {"title": "t", "trained": "t", "step": "{part}", "found": "{value}", **dict.fromkeys(("photo", *CHANGES), "x")}
    made = step_animations.randomised_weights_animation("registers", key, "rollout", words, "light")
    assert count_frames(made) == vit.blocks + 3, "none, the classifier, each layer, all"
    assert count_frames(step_animations.changed_photo_animation("registers", key, "rollout", words, "dark")) == 1 + len(CHANGES)
    code = step_animations._code([0, 3], rec)
    made = step_animations.covering_animation("registers", key, code, "mean", {"title": "t", "step": "{count}"}, "light")
    assert count_frames(made) == 3, "nothing, one patch, both"
    macaw = sample_photos.sample_digest("macaw")
    steered = step_animations.steering_animation("registers", key, macaw, 1, 300, "t", "light")
    assert count_frames(steered) == 1 + step_animations.STEERING_STEPS
    for view, method in (("colours", "kmeans"), ("foreground", "kmeans"), ("segments", "kmeans"), ("segments", "normalised_cut")):
        shown = patch_token_bytes_for_browser.TokenView("residual", False, True, view, 0.0, method, 3)
        assert count_frames(step_animations.token_animation("registers", key, macaw, shown, "t", "light")) == vit.blocks
    shown = shown._replace(patch=2)
    made = step_animations.token_animation("registers", key, macaw, shown, "t", "light", "{name} {low} {high}", ["a", "b"])
    assert count_frames(made) == vit.blocks
    squares = np.random.default_rng(0).normal(size=(vit.blocks, vit.grid.rows, vit.grid.cols)).astype(np.float32)
    assert count_frames(step_animations.patching_animation("registers", key, squares, "t", "u", 1.0, "light")) == vit.blocks
