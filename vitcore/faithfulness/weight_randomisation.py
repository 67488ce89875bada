"""The sanity check of maps (Adebayo et al., arXiv 1810.03292): weights randomised from the classifier down, maps drawn again.

A map that stays as it was while the model forgets what it learned shows the photo, not what the model learned of it.
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from vitcore.analysis.relevance import rank_correlation
from vitcore.faithfulness.covered_patches import Progress, no_progress
from vitcore.faithfulness.method_maps import map_title
from vitcore.models.vit import Vit
from vitcore.translation import say

UNCHANGED = 0.5  # rank correlation with a random model's map, or more: the map is called unchanged


@dataclass(frozen=True, eq=False, kw_only=True)
class RandomisationTest:
    """How alike a map stays as weights are randomised from the classifier down."""

    parts: tuple[str, ...]  # what was randomised last: "head", then "blocks.11" … "blocks.0", then "embedding"
    correlations: NDArray[np.float64]  # (len(parts),): Spearman's, with the map of the trained model; NaN where a map is flat

    @property
    def depends_on_weights(self) -> bool:
        """Whether the map of the wholly random model is another than the trained one's."""
        return bool(np.isnan(self.correlations[-1]) or abs(self.correlations[-1]) < UNCHANGED)


def randomisation_test(vit: Vit, draw: Callable[[Vit], NDArray], seed: int = 0) -> RandomisationTest:
    """Rank correlation of `draw(vit)` (rows, cols) with itself, as parts of the model lose their weights one after the other.

    Each tensor's values are shuffled, so that their distribution stays (drawn from `seed`). The class that `draw` asks about
    must be fixed beforehand: a random model has another likeliest one. The model itself stays as it is.
    """
    return randomisation_tests(vit, lambda model: {"map": draw(model)}, seed)["map"]


def randomisation_tests(
    vit: Vit, draw: Callable[[Vit], Mapping[str, NDArray]], seed: int = 0, on_progress: Progress = no_progress
) -> dict[str, RandomisationTest]:
    """Randomisation tests of several maps (rows, cols) by name, on the same random weights."""
    true, generator = draw(vit), np.random.default_rng(seed)
    module = copy.deepcopy(vit.module)
    found: dict[str, list[float]] = {name: [] for name in true}
    parts = _parts_from_the_head(module)
    for done, part in enumerate(parts, start=1):
        for tensor in parts[part]:
            _shuffle(tensor, generator)
        for name, drawn in draw(replace(vit, module=module)).items():
            found[name].append(rank_correlation(drawn, true[name]))
        on_progress(done, len(parts))
    return {name: RandomisationTest(parts=tuple(parts), correlations=np.array(values)) for name, values in found.items()}


def mean_randomisation_tests(tests: Sequence[Mapping[str, RandomisationTest]]) -> dict[str, RandomisationTest]:
    """Mean correlations over photos by method, of tests of one model; a photo whose map is flat is left out."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # NaN alone stays NaN
        return {
            name: RandomisationTest(parts=one.parts, correlations=np.nanmean([each[name].correlations for each in tests], 0))
            for name, one in tests[0].items()
        }


def unchanged_maps_sentence(tests: Mapping[str, RandomisationTest]) -> str:
    """Which maps hardly depend on the weights, named; or that all do."""
    same = [name for name, test in tests.items() if not test.depends_on_weights]
    if not same:
        return say("Every map changes when all weights are random.")
    return say("Unchanged by random weights (rank correlation of {bar} or more): {names}.", bar=f"{UNCHANGED:.1f}",
               names=", ".join(map_title(name) for name in same))  # fmt: skip


def _parts_from_the_head(module: Any) -> dict[str, list[nn.Parameter]]:
    """A model's parameters: those after the blocks ("head"), each block's from the last to the first, then the rest."""
    named = dict(module.named_parameters())
    blocks = {name.split(".")[1] for name in named if name.startswith("blocks.")}
    early = ("patch_embed", "cls_token", "reg_token", "dist_token", "pos_embed", "norm_pre", "rope")
    parts: dict[str, list[nn.Parameter]] = {"head": []}
    parts |= {f"blocks.{i}": [] for i in sorted(map(int, blocks), reverse=True)}
    parts["embedding"] = []
    for name, tensor in named.items():
        first, second, *_ = f"{name}.".split(".")
        embeds = first in early or name in getattr(module, "early_parameters", ())
        parts[f"blocks.{second}" if first == "blocks" else "embedding" if embeds else "head"].append(tensor)
    return {name: tensors for name, tensors in parts.items() if tensors}


@torch.no_grad()
def _shuffle(tensor: nn.Parameter, generator: np.random.Generator) -> None:
    order = torch.from_numpy(generator.permutation(tensor.numel()))
    tensor.copy_(tensor.flatten()[order].view_as(tensor))
