"""Attention distances of all heads, of one photo or averaged, and what they say: nearest, farthest, sinks, what changes most."""

from dataclasses import dataclass

from numpy.typing import NDArray

from vitcore.analysis.attention_distance import (
    NearestAndFarthestHead,
    farthest_head,
    heads_beyond_even_attention,
    local_heads,
    most_changed_head,
    nearest_and_farthest_head,
    sink_heads,
    uniform_distance_px,
)
from vitcore.analysis.head_descriptions import LOCAL_REACH
from vitcore.grid import Grid

LayerAndHead = tuple[int, int]


@dataclass(frozen=True, eq=False)
class DistanceTable:
    """(L, H) distances with the tokens before the patches dropped, and renormalised; the share on those; the spread over photos."""

    dropped: NDArray
    renormalised: NDArray
    share: NDArray
    spread: NDArray | None  # None for one photo
    grid: Grid

    @property
    def uniform_px(self) -> float:
        """The distance of a head that attends to every patch alike."""
        return uniform_distance_px(self.grid)

    @property
    def local_share(self) -> float:
        """What part of that a head that is called local reaches at most."""
        return LOCAL_REACH

    def shown(self, cls: str) -> NDArray:
        """The distances (L, H) that the chart shows; `cls`: what is dropped, or renormalised."""
        return self.renormalised if cls == "renormalise" else self.dropped

    def depth_means(self, cls: str) -> tuple[float, float]:
        """The mean distance of all heads in the first layer and in the last, in pixels; `cls`: as for `shown`."""
        means = self.shown(cls).mean(axis=1)
        return float(means[0]), float(means[-1])

    def reach(self, block: int) -> tuple[NearestAndFarthestHead, NearestAndFarthestHead]:
        return nearest_and_farthest_head(self.dropped, block), nearest_and_farthest_head(self.renormalised, block)

    def near_heads(self) -> list[LayerAndHead]:
        """The heads that look no farther than a local one, by block."""
        return local_heads(self.renormalised, self.local_share * self.uniform_px)

    def far_heads(self, cls: str) -> tuple[list[LayerAndHead], LayerAndHead]:
        """The heads that look farther than even attention, and the one that looks farthest of all; `cls`: as for `shown`."""
        return heads_beyond_even_attention(self.shown(cls), self.uniform_px), farthest_head(self.shown(cls))

    def sink_heads(self) -> list[LayerAndHead]:
        """The heads that give most to the tokens before the patches, the most first."""
        return sink_heads(self.share)

    def most_changing_head(self) -> LayerAndHead | None:
        """The head whose distance varies most over photos."""
        return None if self.spread is None else most_changed_head(self.renormalised, self.renormalised + self.spread)
