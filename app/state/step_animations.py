"""Animations of what a page shows step by step, made when a visitor takes one along: parts switched off, patches deleted, layers.

They are made of keys (model, photo, what is chosen), so that a page that waits holds no model and no recording.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.state.memory import memory_cache
from app.state.models import loaded_models
from app.state.recordings import cached_interventions, cached_recordings, covered_photos, patch_token_bytes_for_browser
from vitcore.figures.heat_overlay import colours_on_photo, fine_detail, heat_colour_scale, heat_on_photo, scale_top
from vitcore.figures.theme_colours import ColourScale, Mode
from vitcore.report.animations.step_animation import AnimationStep, step_animation
from vitcore.report.report_settings import layer_range_words
from vitcore.translation import decimal, decimal_or_dash, percent

if TYPE_CHECKING:
    from vitcore.faithfulness.method_ranking import PhotoDeletion
    from vitcore.forward.recording import Recording
    from vitcore.models.vit import Vit

STRONGEST_HEADS = 12  # that go one after another
COVERING_STEPS = 8
STEERING_STEPS = 8


class SwitchSteps(NamedTuple):
    """What is off at each step, as text for an address, the part that this step is about, and what kind of steps they are."""

    codes: list[str]
    parts: list[str]
    kind: str  # "parts", one after another as they are chosen; "heads", the strongest first; "layers", one layer's attention each


def switch_steps(names: Sequence[str], switchable_names: Sequence[str], drops: NDArray[np.float32] | None) -> SwitchSteps:
    """The parts that are off, one after another; else the strongest heads where all were tried; else each layer's attention."""
    between = cached_interventions.BETWEEN
    if names or drops is not None:
        parts = list(names) or _strongest(drops)
        return SwitchSteps([between.join(parts[:n]) for n in range(len(parts) + 1)], ["", *parts], "parts" if names else "heads")
    parts = [name for name in switchable_names if name.endswith(".attn")]
    return SwitchSteps(["", *parts], ["", *parts], "layers")


def _strongest(drops: Any) -> list[str]:
    order = (-drops).ravel().argsort(kind="stable")[:STRONGEST_HEADS]
    return ["L{}H{}".format(*divmod(int(one), drops.shape[1])) for one in order]


def switch_animation(
    model: str, key: str, steps: SwitchSteps, replacement: str, map_name: str, mask: bool, words: Mapping[str, str], mode: Mode
) -> bytes:
    """A map on the photo as parts are switched off, on one scale, with the answer; `words`: its title and each part's name."""
    vit, rec = cached_recordings.recording_from_key(model, key, "mean")
    passes = [cached_interventions.switched_pass(rec, code, replacement, mask, vit) for code in steps.codes]
    pictures, scale = maps_on_photo(rec, [getattr(one, map_name) for one in passes])
    frames = [
        AnimationStep(picture, words[part], _answer(rec, one.logits))
        for picture, part, one in zip(pictures, steps.parts, passes, strict=True)
    ]
    return step_animation(words["title"], frames, scale, mode=mode)


def maps_on_photo(rec: Recording, maps: Sequence[NDArray]) -> tuple[list[NDArray[np.uint8]], ColourScale]:
    """Maps (rows, cols) of shares on the photo, on one colour scale."""
    from vitcore.report.report_pictures import heat_over_photo

    grid, every = rec.grid, np.stack(maps)
    top = scale_top(every, grid.even_share)
    scale = heat_colour_scale(every, top, grid.even_share)
    return heat_over_photo(cached_recordings.input_picture(rec)[0], every, top, grid), scale


def patching_animation(model: str, key: str, squares: NDArray[np.float32], title: str, unit: str, top: float, mode: Mode) -> bytes:
    """What each square of patches does, layer by layer, in red and blue on the photo; `squares` (L, rows, cols)."""
    rec = cached_recordings.recording_from_key(model, key, "mean")[1]
    detail = fine_detail(cached_recordings.input_picture(rec)[0], rec.grid)
    frames = [
        AnimationStep(np.asarray(heat_on_photo(one, detail, top, True, mode)), layer_range_words(layer, layer))
        for layer, one in enumerate(squares)
    ]
    return step_animation(title, frames, heat_colour_scale(squares, top, signed_unit=unit, mode=mode), mode=mode)


def steering_animation(
    model: str, key: str, towards_key: str, layer: int, farthest: int, title: str, mode: Mode
) -> bytes:  # fmt: skip
    """The rollout on the photo as it is steered towards another, by its key, in steps up to `farthest` per cent."""
    vit, rec = cached_recordings.recording_from_key(model, key, "mean")
    other = cached_recordings.recording_from_key(model, towards_key, "mean")[1]
    scales = [round(farthest * step / STEERING_STEPS) for step in range(STEERING_STEPS + 1)]
    passes = [cached_interventions.steered_pass(rec, other, layer, scale, vit) for scale in scales]
    pictures, bar = maps_on_photo(rec, [one.rollout for one in passes])
    frames = [
        AnimationStep(picture, f"{scale} %", _answer(rec, one.logits))
        for picture, scale, one in zip(pictures, scales, passes, strict=True)
    ]
    return step_animation(title, frames, bar, mode=mode)


def deletion_animation(
    model: str, key: str, photo_deletion: PhotoDeletion, method: str, insertion: bool, words: Mapping[str, str], mode: Mode
) -> bytes:
    """Patches of the photo deleted in the order of a method's map, or inserted, with the probability that is left at each step."""
    from vitcore.faithfulness.deletion import patch_order
    from vitcore.faithfulness.method_maps import method_maps

    vit, rec = cached_recordings.recording_from_key(model, key, "mean")
    curve, grid = photo_deletion.curves[method], rec.grid
    order = patch_order(method_maps(vit, rec, (method,), curve.target)[method])
    values = curve.weakest_first[::-1] if insertion else curve.strongest_first
    shares = 1 - curve.shares[::-1] if insertion else curve.shares
    frames = []
    for share, value in zip(shares, values, strict=True):
        count = round(share * grid.patches)
        gone = order[count:] if insertion else order[:count]
        pixels = covered_photos.covered_pixels(rec, _code(gone, rec), photo_deletion.fill)
        frames.append(
            AnimationStep(pixels, words["step"].format(share=percent(share, 0)), f"{photo_deletion.label}: {percent(value)}")
        )
    return step_animation(words["title"], frames, mode=mode)


def randomised_weights_animation(model: str, key: str, name: str, words: Mapping[str, str], mode: Mode) -> bytes:
    """A photo's map for its likeliest class as weights become random, from the classifier down, with its rank correlations."""
    from vitcore.faithfulness.map_test_results_as_charts import randomised_part_title
    from vitcore.faithfulness.method_maps import maps_by_model
    from vitcore.faithfulness.weight_randomisation import randomisation_tests

    vit, rec = cached_recordings.recording_from_key(model, key, "mean")
    draw, maps = maps_by_model(rec, (name,), int(rec.logits.argmax())), list[NDArray]()

    def keep(drawn_by: Vit) -> dict[str, NDArray]:
        found = draw(drawn_by)
        maps.append(found[name])
        return {**found}

    size = loaded_models.model_size(vit)
    with memory_cache.CACHE.reserve(size.gradient_bytes + size.weights_bytes):
        test = randomisation_tests(vit, keep)[name]
    pictures, scale = maps_on_photo(rec, maps)
    steps = [words["trained"], *(words["step"].format(part=randomised_part_title(part)) for part in test.parts)]
    frames = [
        AnimationStep(picture, step, words["found"].format(value=decimal_or_dash(value, 2)))
        for picture, step, value in zip(pictures, steps, [1.0, *test.correlations], strict=True)
    ]
    return step_animation(words["title"], frames, scale, mode=mode)


def changed_photo_animation(model: str, key: str, name: str, words: Mapping[str, str], mode: Mode) -> bytes:
    """A map of the photo, and of the photo shifted, mirrored and as JPEG, each on its own picture, with its rank correlation.

    `words` names each of `stability.CHANGES`, "photo", the title and what is found.
    """
    from PIL import Image

    from vitcore.faithfulness.method_maps import method_maps
    from vitcore.faithfulness.stability import CHANGES, changed_recordings
    from vitcore.report.report_pictures import heat_over_photo

    vit, rec = cached_recordings.recording_from_key(model, key, "mean")
    target = int(rec.logits.argmax())
    with memory_cache.CACHE.reserve(loaded_models.model_size(vit).gradient_bytes):
        recordings = {"photo": rec, **dict(changed_recordings(vit, rec))}
        maps = np.stack([method_maps(vit, one, (name,), target)[name] for one in recordings.values()])
    values = [1.0, *(change.rank_correlation(drawn, maps[0]) for change, drawn in zip(CHANGES.values(), maps[1:], strict=True))]
    size, top = cached_recordings.input_picture(rec)[0].size, scale_top(maps, rec.grid.even_share)
    frames = [
        AnimationStep(
            heat_over_photo(Image.fromarray(one.model_input.pixels).resize(size), drawn[None], top, rec.grid)[0], words[change],
            words["found"].format(value=decimal_or_dash(value, 2)),
        )
        for (change, one), drawn, value in zip(recordings.items(), maps, values, strict=True)
    ]  # fmt: skip
    return step_animation(words["title"], frames, heat_colour_scale(maps, top, rec.grid.even_share), mode=mode)


def covering_animation(model: str, key: str, code: str, fill: str, words: Mapping[str, str], mode: Mode) -> bytes:
    """The covered patches, those of the most rollout first, in a few steps, with the answer at each."""
    vit, rec = cached_recordings.recording_from_key(model, key, "mean")
    chosen = covered_photos.decode_patches(code, rec.grid).nonzero()[0]
    chosen = chosen[np.argsort(-rec.rollout().ravel()[chosen], kind="stable")]
    counts = sorted({round(len(chosen) * i / COVERING_STEPS) for i in range(COVERING_STEPS + 1)})
    frames = []
    for count in counts:
        part = _code(chosen[:count], rec)
        logits = covered_photos.covered_pass(rec, part, fill, False, vit).logits
        pixels = covered_photos.covered_pixels(rec, part, fill)
        frames.append(AnimationStep(pixels, words["step"].format(count=count), _answer(rec, logits)))
    return step_animation(words["title"], frames, mode=mode)


def token_animation(
    model: str, key: str, second_key: str, token_view: patch_token_bytes_for_browser.TokenView, title: str, mode: Mode,
    range_words: str = "", names: Sequence[str] = (),
) -> bytes:  # fmt: skip
    """The patch tokens of two photos side by side as the page shows them, layer by layer; both are named by their keys.

    `range_words`: for the ends of each photo's scale where similarity is shown, with {name}, {low} and {high}; its `names`.
    """
    vit, rec = cached_recordings.recording_from_key(model, key, "mean")
    both = rec, cached_recordings.recording_from_key(model, second_key, "mean")[1]
    grid, details = rec.grid, [fine_detail(cached_recordings.input_picture(one)[0].resize((448, 448)), rec.grid) for one in both]
    frames = []
    for layer in range(vit.blocks):
        colours = patch_token_bytes_for_browser.shown_colours(*both, token_view, layer)
        sides = [
            colours_on_photo(one.reshape(grid.rows, grid.cols, 3), detail) for one, detail in zip(colours, details, strict=True)
        ]
        said = list[str]()
        if (patch := token_view.patch) is not None:
            _, ends = patch_token_bytes_for_browser.cosines_and_ends(*both, token_view.kind, token_view.mask, patch, layer)
            said = cosine_range_words(range_words, names, ends)
        frames.append(AnimationStep(np.hstack(sides), layer_range_words(layer, layer), " · ".join(said)))
    return step_animation(title, frames, mode=mode)


def cosine_range_words(words: str, names: Sequence[str], ends: Sequence[tuple[float, float]]) -> list[str]:
    """Each photo's name with the ends of its scale, in `words` with {name}, {low} and {high}."""
    return [
        words.format(name=name, low=decimal(low, 2), high=decimal(high, 2)) for name, (low, high) in zip(names, ends, strict=True)
    ]


def _code(patches: Any, rec: Recording) -> str:
    mask = np.zeros(rec.grid.patches, bool)
    mask[patches] = True
    return covered_photos.encode_patches(mask, rec.grid)


def _answer(rec: Recording, logits: NDArray[np.float32]) -> str:
    """The likeliest class of the photo as it is, and its probability now; what has become likeliest, where it is another."""
    rows = covered_photos.answer_change_rows(rec, logits)
    if not rows:
        return ""
    was, now = max(rows, key=lambda row: row.before), max(rows, key=lambda row: row.after)
    told = f"{was.label}: {percent(was.after)}"
    return told if was is now else f"{told} · {now.label}: {percent(now.after)}"
