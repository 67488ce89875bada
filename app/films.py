"""The pictures of one frame of a film: filters, positions, distances, attention on a photo, answers, and what was masked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vitcore import figures
from vitcore.analysis import filters as kernels
from vitcore.analysis import training
from vitcore.analysis.distance import uniform_distance_px
from vitcore.analysis.positions import correlation_with_distance, similarity
from vitcore.figures.training import Line

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from vitcore.train.frames import Film

SHOWN = 28  # components, as in the paper's Figure 7
BINS = 240  # points of a curve
TILES_PX = 450  # the similarity tiles are small here, and drawn twice a second
Figures = dict[str, "go.Figure"]


def weights(film: Film, frame: int, photo: int, mode: Any) -> Figures:
    """What the weights alone tell, and the mean distances over all photos of the film."""
    found: Figures = {}
    if "kernel" in film.arrays:
        basis = kernels.components(film.at("kernel", frame))
        found["filters"] = figures.filters(
            kernels.as_picture(basis.vectors[:SHOWN]), basis.variance, mode, "Embedding filters"
        )
    if "positions" in film.arrays:
        found["positions"] = _positions(film, frame, mode)
    far, grid = film.arrays["distance_px"], film.grid
    found["distance"] = figures.distance(
        film.at("distance_px", frame), grid, uniform_distance_px(grid), images=len(film.photos), mode=mode,
        most_px=float(far.max()),
    ).update_layout(height=400)  # fmt: skip
    return found


def _positions(film: Film, frame: int, mode: Any) -> go.Figure:
    table = film.at("positions", frame)
    cosine = similarity(table[len(table) - film.grid.patches :])
    told = f"correlation of cosine with distance {correlation_with_distance(cosine, film.grid):.2f}"
    return figures.positions(cosine, film.grid, mode, told, side_px=TILES_PX)


def photo(film: Film, frame: int, photo: int, mode: Any) -> Figures:
    """What the model makes of one photo."""
    found: Figures = {}
    seen, grid = film.photos[photo], film.grid
    if "predicted" in film.arrays:
        found |= _masked(film, frame, photo, mode)
    for name, title in (("rollout", "Attention rollout"), ("last_block", "Attention of the last layer")):
        if name in film.arrays:
            most = training.scale(film.arrays[name][:, photo])
            mask = film.at(name, frame)[photo]
            told = f"largest share {mask.max():.1%}; spread evenly, each patch has {1 / grid.patches:.1%}"
            found[name] = figures.gathered(mask, seen, grid, title, most, mode, told)
    if answers := film.top(frame, photo):
        found["answer"] = figures.predictions(answers, mode, "The likeliest classes")
    return found


def _masked(film: Film, frame: int, photo: int, mode: Any) -> Figures:
    seen, grid = film.photos[photo], film.grid
    fate, source, truth = (film.still[name][photo] for name in ("fate", "source", "truth"))
    said = film.arrays["predicted"][frame, photo]
    off = training.colour_error(said, truth, fate)
    share = (fate != training.UNTOUCHED).mean()
    given, guess, true = (
        training.corrupted(seen, fate, source, grid), training.painted(seen, fate, said, grid),
        training.painted(seen, fate, truth, grid),
    )  # fmt: skip
    return {
        "given": figures.masked(
            given, grid, f"What it is given: {share:.0%} corrupted", mode, hatched=fate == training.MASKED
        ),
        "predicted": figures.masked(guess, grid, f"What it predicts: off by {off:.0f} of 255", mode),
        "truth": figures.masked(true, grid, "What was there", mode),
    }


def curves(
    log: list[dict[str, Any]], mode: Any, at: int | None = None, last: int = 0, log_steps: bool = False
) -> Figures:
    """The run's curves, those that were measured: loss, accuracy, learning rate."""

    def line(name: str, field: str, kind: str = "line") -> Line:
        steps, values = training.curve(log, field)
        if kind != "dots":
            steps, values = training.binned(steps, values, BINS, log_steps)
        return Line(name, steps, values, kind)

    common: dict[str, Any] = {"mode": mode, "at": at, "last": last, "log_steps": log_steps}
    steps, loss = training.curve(log, "loss")
    found: Figures = {}
    if len(loss):
        mean = training.binned(steps, loss, BINS // 8, log_steps)
        lines = [
            line("training, each step", "loss", "raw"),
            Line("training, mean", *mean),
            line("validation", "val_loss", "dots"),
        ]
        found["loss"] = figures.curves(lines, f"Loss: {loss[-1]:.3g} at step {steps[-1]:,}", "loss (nats)", **common)
    right = [line("top 1", "top1", "dots"), line("top 5", "top5", "dots"), line("colours", "val_colours", "dots"),
             line("few-shot", "few_shot", "dots")]  # fmt: skip
    right = [one for one in right if len(one.steps)]
    if right:
        title = f"Held-out photos: {right[0].values[-1]:.0f} % right ({right[0].name})"
        found["accuracy"] = figures.curves(right, title, "right (%)", limits=(0, 102), **common)
    rate = line("learning rate", "lr")
    if len(rate.steps):
        found["rate"] = figures.curves([rate], f"Learning rate: {rate.values[-1]:.2g}", "learning rate", **common)
    return found
