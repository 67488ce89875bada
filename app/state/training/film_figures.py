"""The pictures of one frame of a film: filters, positions, distances, attention on a photo, answers, and what was masked."""

from dataclasses import replace
from typing import Any

import numpy as np

from app import texts
from vitcore import figures
from vitcore.analysis import filters as kernels
from vitcore.analysis import training_film
from vitcore.analysis.attention_distance import uniform_distance_px
from vitcore.analysis.position_embeddings import correlation_with_distance, position_similarity
from vitcore.figures.charts.training_figures import TrainingCurve
from vitcore.figures.drawing import Drawing
from vitcore.figures.heat_overlay import MIN_TOP_IN_EVEN_SHARES
from vitcore.train.film_files import Film
from vitcore.translation import decimal, percent

COMPONENTS_SHOWN = 28  # components, as in the paper's Figure 7
CURVE_POINTS = 240  # points of a curve
TILES_PX = 450  # the similarity tiles are small here, and drawn twice a second
RIGHT = {"top 1": "top1", "top 5": "top5", "colours": "val_colours", "few-shot": "few_shot"}  # what measures how much is right
Figures = dict[str, "Drawing"]


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
    """What the model makes of one photo."""
    drawn: Figures = {}
    pixels, grid, text = film.photos[photo], film.grid, texts.prose("learn")
    if "predicted" in film.arrays:
        drawn |= _masked_figures(film, frame, photo, mode)
    for name in ("rollout", "last_block"):
        if name in film.arrays:
            even = grid.even_share
            most = max(training_film.shares_scale_top(film.arrays[name][:, photo]), MIN_TOP_IN_EVEN_SHARES * even)
            mask = film.array_at(name, frame)[photo]
            drawn[name] = figures.attention_on_photo(mask, pixels, grid, text[f"{name} title"], most, mode, even_share=even)
    if answers := film.top(frame, photo, translated=True):
        drawn["answer"] = figures.predictions(answers, mode, text["answer title"])
    return drawn


def _masked_figures(film: Film, frame: int, photo: int, mode: Any) -> Figures:
    pixels, grid = film.photos[photo], film.grid
    fate, source, truth = (film.shared_arrays[name][photo] for name in ("fate", "source", "truth"))
    said = film.arrays["predicted"][frame, photo]
    off = training_film.colour_error(said, truth, fate)
    share, text = (fate != training_film.UNTOUCHED).mean(), texts.prose("learn")
    given, guess, true = (
        training_film.paint_corruption(pixels, fate, source, grid), training_film.paint_patches(pixels, fate, said, grid),
        training_film.paint_patches(pixels, fate, truth, grid),
    )  # fmt: skip
    return {
        "given": figures.masked_photo(
            given, grid, text["given title"].format(share=percent(share, 0)), mode, hatched=fate == training_film.MASKED
        ),
        "predicted": figures.masked_photo(guess, grid, text["predicted title"].format(off=off), mode),
        "truth": figures.masked_photo(true, grid, text["truth title"], mode),
    }


def curve_titles(log: list[dict[str, Any]], at: int | None = None) -> dict[str, str]:
    """Titles of the run's curves: what was measured last at step `at` (None: the run's last), or first after it, and when."""
    text = texts.prose("learn")

    def titled(key: str, field: str, **facts: str) -> dict[str, str]:
        steps, values = training_film.log_curve(log, field)
        if not len(steps):
            return {}
        place = len(steps) - 1 if at is None else max(int(np.searchsorted(steps, at, "right")) - 1, 0)
        return {key: text[f"{key} title"].format(value=values[place], step=int(steps[place]), **facts)}

    name = next((name for name, field in RIGHT.items() if len(training_film.log_curve(log, field)[0])), "top 1")
    return titled("loss", "loss") | titled("accuracy", RIGHT[name], name=text[name]) | titled("rate", "lr")


def curve_figures(log: list[dict[str, Any]], mode: Any, last: int = 0, log_steps: bool = False) -> Figures:
    """The run's curves, those that were measured: loss, accuracy, learning rate."""

    text = texts.prose("learn")

    def line(name: str, field: str, kind: str = "line") -> TrainingCurve:
        steps, values = training_film.log_curve(log, field)
        if kind != "dots":
            steps, values = training_film.bin_curve(steps, values, CURVE_POINTS, log_steps)
        return TrainingCurve(name, steps, values, kind)

    common: dict[str, Any] = {"mode": mode, "last": last, "log_steps": log_steps}
    titles = curve_titles(log)
    steps, loss = training_film.log_curve(log, "loss")
    drawn: Figures = {}
    if len(loss):
        mean = training_film.bin_curve(steps, loss, CURVE_POINTS // 8, log_steps)
        lines = [
            line(text["each step"], "loss", "raw"),
            TrainingCurve(text["mean"], *mean),
            line(text["validation"], "val_loss", "dots"),
        ]
        drawn["loss"] = figures.training_curves(lines, titles["loss"], text["loss unit"], **common)
    right = [line(text[name], field, "dots") for name, field in RIGHT.items()]
    right = [one for one in right if len(one.steps)]
    if right:
        drawn["accuracy"] = figures.training_curves(right, titles["accuracy"], text["right unit"], limits=(0, 102), **common)
    rate = line(text["learning rate"], "lr")
    if len(rate.steps):
        drawn["rate"] = figures.training_curves([rate], titles["rate"], rate.name, **common)
    return drawn
