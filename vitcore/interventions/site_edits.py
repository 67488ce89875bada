"""Changes of what goes into or comes out of parts of a model: a copy with hooks, on the same weights.

Shapes: B images, T tokens, t of them that change, n columns.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from vitcore.interventions.activation_sites import ActivationSite
from vitcore.module_swaps import with_hooks

Tokens = list[int] | slice
# What is chosen (B, t, n) and all tokens of it (B, T, n), and the share that one part has of a sum: what replaces what is chosen.
Change = Callable[[Tensor, Tensor, float], Tensor]


@dataclass(frozen=True, eq=False)
class SiteEdit:
    """A change at a site, of some tokens and columns."""

    site: ActivationSite
    tokens: Tokens
    columns: slice
    change: Change

    def __call__(self, x: Tensor) -> Tensor:
        """(B, T, n) with the change made."""
        whole, edited = x[..., self.columns], x.clone()
        edited[:, self.tokens, self.columns] = self.change(whole[:, self.tokens], whole, 1 / len(self.site.parts))
        return edited


def broadcastable_values(values: Any, count: int, width: int) -> Tensor:
    """Values that fit (B, `count`, `width`), tokens and width, as a tensor. Raises: ValueError."""
    try:
        given = torch.as_tensor(values)
    except (RuntimeError, ValueError, TypeError):  # no numbers, or rows of several lengths
        raise ValueError(f"values are a tensor, an array or a number, not a {type(values).__name__} of something else") from None
    rows = [1, 1, *given.shape][-2:]
    if given.ndim > 3 or rows[0] not in (1, count) or rows[1] not in (1, width) or given.is_complex():
        raise ValueError(
            f"values are of a shape that ({count}, {width}), tokens and width, takes up, not {tuple(given.shape)} {given.dtype}"
        )
    if not bool(given.isfinite().all()):
        raise ValueError("values hold some that are not numbers (NaN or infinite)")
    return given if given.requires_grad else given.clone()


def values_for_images(values: Tensor, activation: Tensor) -> Tensor:
    """Values for as many images as run, in their precision and on their device. Raises: ValueError."""
    if values.ndim == 3 and len(values) not in (1, len(activation)):
        raise ValueError(f"an edit has values for {len(values)} images, and {len(activation)} are run")
    return values.to(activation)


def with_site_edits(module: Any, edits: Iterable[SiteEdit]) -> Any:
    """A copy of a model with these edits, at each part one after another."""
    by_part: dict[tuple[str, str], list[SiteEdit]] = {}
    for one in edits:
        for part in one.site.parts:
            by_part.setdefault((one.site.side, part), []).append(one)
    before = {part: partial(_edit_input, mine) for (side, part), mine in by_part.items() if side == "in"}
    after = {part: partial(_edit_output, mine) for (side, part), mine in by_part.items() if side == "out"}
    return with_hooks(with_hooks(module, "in", **before), "out", **after)


def _edit_input(edits: list[SiteEdit], part: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    return _edited(edits, inputs[0]), *inputs[1:]


def _edit_output(edits: list[SiteEdit], part: nn.Module, inputs: tuple[Any, ...], output: Tensor) -> Tensor:
    return _edited(edits, output)


def _edited(edits: list[SiteEdit], x: Tensor) -> Tensor:
    for one in edits:
        x = one(x)
    return x
