"""The pictures of one frame of a film: filters, positions, distances, attention on a photo, answers, and what was masked."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app import texts
from vitcore import figures
from vitcore.analysis import filters as kernels
from vitcore.analysis import training_curves_and_masks
from vitcore.analysis.attention_distance import uniform_distance_px
from vitcore.analysis.position_embeddings import correlation_with_distance, position_similarity
from vitcore.figures.charts.training_figures import TrainingCurve
from vitcore.figures.drawing import Drawing
from vitcore.figures.heat_overlay import heat_colour_scale
from vitcore.figures.relevance import rollout_per_layer_top
from vitcore.train.film_files import Film
from vitcore.translation import decimal, percent

COMPONENTS_SHOWN = 28  # components, as in the paper's Figure 7
CURVE_POINTS = 240  # points of a curve
TILES_PX = 450  # the similarity tiles are small here, and drawn twice a second
RIGHT = {"top 1": "top1", "top 5": "top5", "colours": "val_colours", "few-shot": "few_shot"}  # what measures how much is right
Figures = dict[str, Drawing]
Curves = dict[str, tuple[NDArray, NDArray]]  # steps and values, by the field of the log


def weight_figures(film: Film, frame: int, photo: int, mode: Any) -> Figures:
    """What the weights alone tell, and the mean distances over all photos of the film."""
    drawn: Figures = {}
    if "kernel" in film.arrays:
        basis = kernels.principal_components(film.array_at("kernel", frame))
        drawn["filters"] = figures.filters(
            kernels.components_as_picture(basis.vectors[:COMPONENTS_SHOWN]),
            basis.variance,
            mode,
            texts.prose("learn")["filters title"],
        )
    if "positions" in film.arrays:
        drawn["positions"] = _position_figure(film, frame, mode)
    far, grid = film.arrays["distance_px"], film.grid
    distance = figures.attention_distance(
        film.array_at("distance_px", frame), grid, uniform_distance_px(grid), images=len(film.photos), mode=mode,
        max_px=float(far.max()),
    )  # fmt: skip
    drawn["distance"] = replace(distance, height_px=400)
    return drawn


def _position_figure(film: Film, frame: int, mode: Any) -> Drawing:
    table = film.array_at("positions", frame)
    cosine = position_similarity(table[len(table) - film.grid.patches :])
    told = texts.prose("learn")["correlation"].format(value=decimal(correlation_with_distance(cosine, film.grid), 2))
    return figures.position_similarity(cosine, film.grid, mode, told, side_px=TILES_PX)


def photo_figures(film: Film, frame: int, photo: int, mode: Any) -> Figures:
    drawn: Figures = {}
    pixels, grid, text = film.photos[photo], film.grid, texts.prose("learn")
    if "predicted" in film.arrays:
        drawn |= _masked_figures(film, frame, photo, mode)
    for name in ("rollout", "last_block"):
        if name in film.arrays:
            mask, maps, title = film.array_at(name, frame)[photo], film.arrays[name][:, photo], text[f"{name} title"]
            top, even = rollout_per_layer_top(maps, grid), grid.even_share
            shown = figures.attention_on_photo(mask, pixels, grid, title, top, mode, even_share=even)
            drawn[name] = replace(shown, colour_scale=heat_colour_scale(maps, top, even, tell_largest=False))  # of all frames
    if answers := film.top(frame, photo, translated=True):
        drawn["answer"] = figures.predictions(answers, mode, text["answer title"])
    return drawn


def _masked_figures(film: Film, frame: int, photo: int, mode: Any) -> Figures:
    pixels, grid = film.photos[photo], film.grid
    fate, source, truth = (film.shared_arrays[name][photo] for name in ("fate", "source", "truth"))
    said = film.arrays["predicted"][frame, photo]
    off = training_curves_and_masks.colour_error(said, truth, fate)
    share, text = (fate != training_curves_and_masks.UNTOUCHED).mean(), texts.prose("learn")
    given, guess, true = (
        training_curves_and_masks.paint_corruption(pixels, fate, source, grid),
        training_curves_and_masks.paint_corrupted_patches(pixels, fate, said, grid),
        training_curves_and_masks.paint_corrupted_patches(pixels, fate, truth, grid),
    )
    return {
        "given": figures.masked_photo(
            given, grid, text["given title"].format(share=percent(share, 0)), mode, hatched=fate == training_curves_and_masks.MASKED
        ),
        "predicted": figures.masked_photo(guess, grid, text["predicted title"].format(off=off), mode),
        "truth": figures.masked_photo(true, grid, text["truth title"], mode),
    }


def curve_titles(log: list[dict[str, Any]], at: int | None = None) -> dict[str, str]:
    """Titles of the run's curves: what was measured last at step `at` (None: the run's last), or first after it, and when."""
    return _titles(_log_curves(log), at)


def _log_curves(log: list[dict[str, Any]]) -> Curves:
    return {field: training_curves_and_masks.curve_from_log(log, field) for field in ("loss", "val_loss", "lr", *RIGHT.values())}


def _titles(curves: Curves, at: int | None = None) -> dict[str, str]:
    text, titles = texts.prose("learn"), {}
    name = next((name for name, field in RIGHT.items() if len(curves[field][0])), "top 1")
    for key, field in {"loss": "loss", "accuracy": RIGHT[name], "rate": "lr"}.items():
        steps, values = curves[field]
        if len(steps):
            place = len(steps) - 1 if at is None else max(int(np.searchsorted(steps, at, "right")) - 1, 0)
            titles[key] = text[f"{key} title"].format(value=values[place], step=int(steps[place]), name=text[name])
    return titles


def curve_figures(
    log: list[dict[str, Any]], mode: Any, last: int = 0, log_steps: bool = False, on_training_photos: bool = False
) -> Figures:
    """The run's curves, those that were measured: loss, accuracy, learning rate. The loss's dots tell which photos they are of."""
    text, curves = texts.prose("learn"), _log_curves(log)

    def line(name: str, field: str, kind: str = "line", points: int = CURVE_POINTS) -> TrainingCurve:
        curve = (
            curves[field] if kind == "dots" else training_curves_and_masks.average_curve_in_bins(*curves[field], points, log_steps)
        )
        return TrainingCurve(name, *curve, kind)

    mean = line(text["mean"], "loss", points=CURVE_POINTS // 8)
    measured = line(text["validation shared" if on_training_photos else "validation"], "val_loss", "dots")
    lines = {
        "loss": [line(text["each step"], "loss", "raw"), mean, measured],
        "accuracy": [line(text[name], field, "dots") for name, field in RIGHT.items()],
        "rate": [line(text["learning rate"], "lr")],
    }
    units = {"loss": text["loss unit"], "accuracy": text["right unit"], "rate": text["learning rate"]}
    limits = {"accuracy": (0, 102)}
    return {
        key: figures.training_curves(lines[key], title, units[key], mode, None, last, log_steps, limits=limits.get(key))
        for key, title in _titles(curves).items()
    }
