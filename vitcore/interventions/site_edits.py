"""Changes of what goes into or comes out of parts of a model: a copy with hooks, on the same weights.

Shapes: B images, T tokens, t of them that change, n columns.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from torch import Tensor, nn

from vitcore.interventions.activation_sites import Site
from vitcore.module_swaps import with_forward_hooks, with_forward_pre_hooks

Tokens = list[int] | slice
# What is chosen (B, t, n) and all tokens of it (B, T, n), and the share that one part has of a sum: what replaces what is chosen.
Change = Callable[[Tensor, Tensor, float], Tensor]


@dataclass(frozen=True, eq=False)
class SiteEdit:
    """A change at a site, of some tokens and columns."""

    site: Site
    tokens: Tokens
    columns: slice
    change: Change

    def __call__(self, x: Tensor) -> Tensor:
        """(B, T, n) with the change made."""
        whole, edited = x[..., self.columns], x.clone()
        edited[:, self.tokens, self.columns] = self.change(whole[:, self.tokens], whole, 1 / len(self.site.parts))
        return edited


def with_site_edits(module: Any, edits: Iterable[SiteEdit]) -> Any:
    """A copy of a model with these edits, at each part one after another."""
    by_part: dict[tuple[str, str], list[SiteEdit]] = {}
    for one in edits:
        for part in one.site.parts:
            by_part.setdefault((one.site.side, part), []).append(one)
    before = {part: partial(_edit_input, mine) for (side, part), mine in by_part.items() if side == "in"}
    after = {part: partial(_edit_output, mine) for (side, part), mine in by_part.items() if side == "out"}
    return with_forward_hooks(with_forward_pre_hooks(module, **before), **after)


def _edit_input(edits: list[SiteEdit], part: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    return _edited(edits, inputs[0]), *inputs[1:]


def _edit_output(edits: list[SiteEdit], part: nn.Module, inputs: tuple[Any, ...], output: Tensor) -> Tensor:
    return _edited(edits, output)


def _edited(edits: list[SiteEdit], x: Tensor) -> Tensor:
    for one in edits:
        x = one(x)
    return x
