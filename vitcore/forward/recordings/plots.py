"""A recording's pictures by name, as drawings, and drawn by matplotlib into a figure of one's own."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from vitcore.errors import check_choice
from vitcore.images import sharp_crop

if TYPE_CHECKING:
    from vitcore.figures import Drawing
    from vitcore.forward.recording import Recording


SETTINGS = {  # of each of `PICTURES`
    "rollout": ("start", "fusion", "discard_ratio", "residual", "first_block", "convention"), "distance": ("cls",),
    "predictions": ("count",),
}  # fmt: skip


def _draw_recording(rec: "Recording", picture: str, **settings: Any) -> "Drawing":
    """One of `PICTURES` of a recording: "rollout" (settings of `Recording.rollout`), "distance" (`cls`), "predictions" (`count`).

    Raises: ValueError, for a picture or a setting that there is not; whatever the numbers of the picture raise.
    """
    check_choice("a picture", picture, PICTURES)
    for name in settings:
        check_choice(f"a setting of {picture}", name, SETTINGS[picture])
    return PICTURES[picture](rec, **settings)


def plot_recording(rec: "Recording", picture: str = "rollout", ax: Any = None, **settings: Any) -> Any:
    """Draw "rollout", "distance" or "predictions" into matplotlib's axes (default: of a new figure), and give the axes.

    Settings are those of the picture: of rollout `start`, `fusion` and so on, as `Recording.rollout` has them; of distance `cls`;
    of predictions `count`. `vitcore.figures` draws with Plotly. Raises: ValueError, for another picture.
    """
    from vitcore.figures.painters.png_and_svg import draw_into_axes

    drawing = _draw_recording(rec, picture, **settings)
    if ax is None:
        from matplotlib import pyplot

        ax = pyplot.figure(layout="constrained").add_subplot()
    draw_into_axes(drawing, ax)
    return ax


def _rollout(rec: "Recording", start: int | None = None, fusion: str = "mean", **settings: float) -> "Drawing":
    from vitcore import figures

    patch = None if start is None or start < rec.grid.prefix else start - rec.grid.prefix
    of_class_token = start == 0 if start is not None else bool(rec.pooling_weights[:1].sum() == 1)
    return figures.rollout(
        rec.rollout(start, fusion, **settings), sharp_crop(rec.photo, rec.model_input), rec.grid, query_patch=patch,
        subtitle=None if of_class_token and rec.grid.prefix else "",
    )  # fmt: skip


def _distance(rec: "Recording", cls: str = "drop") -> "Drawing":
    from vitcore import figures
    from vitcore.analysis.attention_distance import MODES, uniform_distance_px

    check_choice("cls", cls, MODES)
    px = rec.distance_px if cls == "drop" else rec.distance_renormalised_px
    return figures.attention_distance(px, rec.grid, uniform_distance_px(rec.grid), cls, 1)


def _predictions(rec: "Recording", count: int = 5) -> "Drawing":
    from vitcore import figures

    return figures.predictions(rec.top_classes(count, translated=True))


PICTURES: dict[str, Callable[..., "Drawing"]] = {"rollout": _rollout, "distance": _distance, "predictions": _predictions}
