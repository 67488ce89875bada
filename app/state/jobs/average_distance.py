"""Averages over many photos: mean attention distances, one photo after another, and they can be stopped on the way."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import streamlit as st

from app.state.jobs.stoppable_job import StoppableJob
from app.state.photos.sample_photos import photo_digest
from vitcore.images import PhotoError, open_photo
from vitcore.models.vit import Vit


@dataclass(eq=False)
class AverageDistance(StoppableJob):
    """Means over photos, in progress or done: `sums_px` is (3, L, H), distances dropped and renormalised, share on prefix tokens.

    `squares_px` (L, H) sums the squares of the renormalised distances.
    """

    photo_count: int
    averaged_count: int = 0
    sums_px: Any = 0
    squares_px: Any = 0
    problems: list[str] = field(default_factory=list)

    @property
    def mean_px(self) -> Any:
        """(3, L, H) means over the photos so far: dropped, renormalised, share on prefix tokens."""
        return self.sums_px / max(self.averaged_count, 1)

    @property
    def spread_px(self) -> Any:
        """(L, H) standard deviation over the photos so far of each head's renormalised distance."""
        return np.sqrt(np.maximum(self.squares_px / max(self.averaged_count, 1) - self.mean_px[1] ** 2, 0))


def current_average(model: Vit, photos: list[tuple[str, bytes]]) -> AverageDistance:
    """This visitor's average over these photos, as far as it has got."""
    key = (model.name, tuple(photo_digest(data) for _, data in photos))
    kept = st.session_state.setdefault("_averages", {})
    if key not in kept:
        kept.clear()  # one at a time: it is an array and a list of sentences
        kept[key] = AverageDistance(len(photos))
    return kept[key]


def average_over_photos(model: Vit, photos: list[tuple[str, bytes]], job: AverageDistance) -> Iterator[int]:
    """Add one photo after another to `job`; yields how many are done."""
    from vitcore.forward.recording import record

    job.run_number = run_number = job.run_number + 1
    for place, (name, data) in enumerate(photos[job.done_count :], start=job.done_count + 1):
        px, problem = None, None
        try:
            rec = record(model, open_photo(data, name, model.bands), fusions=())
            px = np.stack([rec.distance_px, rec.distance_renormalised_px, rec.prefix_attention_share]).astype(np.float64)
        except PhotoError as error:
            problem = str(error)
        with job.lock:
            if job.run_number != run_number:  # stopped while this photo was looked at, or the page looks at it again
                return
            if px is not None:
                job.sums_px, job.squares_px = job.sums_px + px, job.squares_px + px[1] ** 2
                job.averaged_count += 1
            else:
                job.problems.append(str(problem))
            job.done_count = place
        yield place
