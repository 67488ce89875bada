"""Averages over many photos: mean attention distances, one photo after another, and they can be stopped on the way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import streamlit as st

from app.state.many_photos.stoppable import Stoppable
from app.state.session import digest_of

if TYPE_CHECKING:
    from vitcore.models.load_model import Vit


@dataclass(eq=False)
class Average(Stoppable):
    """Means over photos, in progress or done: `total` is (3, L, H), distances dropped and renormalised, share on prefix tokens.

    `squares` (L, H) sums the squares of the renormalised distances.
    """

    photos: int
    images: int = 0
    total: Any = 0
    squares: Any = 0
    problems: list[str] = field(default_factory=list)

    @property
    def px(self) -> Any:
        """(3, L, H) means over the photos so far: dropped, renormalised, share on prefix tokens."""
        return self.total / max(self.images, 1)

    @property
    def spread_px(self) -> Any:
        """(L, H) standard deviation over the photos so far of each head's renormalised distance."""
        import numpy as np

        return np.sqrt(np.maximum(self.squares / max(self.images, 1) - self.px[1] ** 2, 0))


def average(model: Vit, photos: list[tuple[str, bytes]]) -> Average:
    """This visitor's average over these photos, as far as it has got."""
    key = (model.name, tuple(digest_of(data) for _, data in photos))
    kept = st.session_state.setdefault("_averages", {})
    if key not in kept:
        kept.clear()  # one at a time: it is an array and a list of sentences
        kept[key] = Average(len(photos))
    return kept[key]


def go_on(model: Vit, photos: list[tuple[str, bytes]], mean: Average) -> Iterator[int]:
    """Add one photo after another to `mean`; yields how many are done."""
    import numpy as np

    from vitcore.forward.recording import record
    from vitcore.images import PhotoError, open_photo

    mean.turn = mine = mean.turn + 1
    for place, (name, data) in enumerate(photos[mean.done :], start=mean.done + 1):
        px, problem = None, None
        try:
            rec = record(model, open_photo(data, name), fusions=())
            px = np.stack([rec.distance_px, rec.distance_renormalised_px, rec.prefix_attention_share]).astype(
                np.float64
            )
        except PhotoError as error:
            problem = str(error)
        with mean.lock:
            if mean.turn != mine:  # stopped while this photo was looked at, or the page looks at it again
                return
            if px is not None:
                mean.total, mean.squares, mean.images = mean.total + px, mean.squares + px[1] ** 2, mean.images + 1
            else:
                mean.problems.append(str(problem))
            mean.done = place
        yield place
