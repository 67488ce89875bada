"""Speed drawn as in the paper's Figure 12: images a second over batch sizes, each model beside the limit of the device."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from vitcore.figures.drawing import Axis, Drawing, Margin, Points
from vitcore.figures.theme_colours import CATEGORICAL, Mode
from vitcore.translation import say


class ThroughputCurve(NamedTuple):
    """A model: images a second (K,) at (K,) batch sizes, and what the device's matrix products would allow."""

    name: str
    batches: Sequence[int]
    images_per_s: Sequence[float]
    limit_images_per_s: float


def throughput(lines: Sequence[ThroughputCurve], device: str, training: bool = False, mode: Mode = "light") -> Drawing:
    """Images a second over the batch size, both on logarithmic axes; dashed lines are the limits."""
    marks = []
    batches = sorted({batch for line in lines for batch in line.batches})
    for i, line in enumerate(lines):
        colour = CATEGORICAL[i % len(CATEGORICAL)]
        told = say("{name}, batch of {batch}: {rate} images/s", name=line.name, batch="%{x}", rate="%{y:.3g}")
        marks.append(Points(x=list(line.batches), y=list(line.images_per_s), name=line.name, colour=colour, line_px=2.4,
                            marker_px=9, hover=told))  # fmt: skip
        most = say("{name}: limit {rate} images/s", name=line.name, rate=f"{line.limit_images_per_s:.3g}")
        marks.append(Points(x=[batches[0], batches[-1]], y=[line.limit_images_per_s] * 2, colour=colour, line_px=1.5, dash="dash",
                            in_legend=False, hover=most))  # fmt: skip
    rates = [rate for line in lines for rate in (*line.images_per_s, line.limit_images_per_s)]
    return Drawing(
        title=say("Training speed") if training else say("Inference speed"), subtitle=device, mode=mode, height_px=440, marks=marks,
        x=Axis(title=say("images in a batch"), log=True, ticks=batches, tick_labels=[str(b) for b in batches],
               range=_log_range(batches)),
        y=Axis(title=say("images a second"), log=True, range=_log_range(rates)), legend="below",
        margin=Margin(left=70, below=104, above=12),
    )  # fmt: skip


def _log_range(values: Sequence[float]) -> tuple[float, float]:
    """The range of a logarithmic axis that holds all values, with some room at both ends."""
    return math.log10(min(values) / 1.3), math.log10(max(values) * 1.3)
