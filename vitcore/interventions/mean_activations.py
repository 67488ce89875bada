"""Activations averaged over photos, token by token: what mean ablation puts in the place of a component's own output.

Mean ablation takes away what an activation says of this photo and leaves what it says of all of them (Wang et al., arXiv
2211.00593 §2.1). Shapes: T tokens (those before the patches included), D width, H heads, d width of a head.
"""

from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import Any

from torch import Tensor

from vitcore.forward.layer_indices import Layers, layer_indices
from vitcore.forward.recordings.model_inputs import iterate_model_inputs
from vitcore.images import InputKind
from vitcore.interventions.activation_sites import check_activations_defined, keys_from_names, parse_key
from vitcore.interventions.activations import Activations, run_keeping_activations
from vitcore.models.vit import Vit

MEAN_NAMES = ("k", "v", "z", "attn_out", "mlp_out")  # that `switch_off` can put the mean of in their place


def mean_activations(
    vit: Vit, photos: Any, names: Collection[str] = MEAN_NAMES, layers: Layers | None = None,
    progress: Callable[[int, int], None] | None = None, *, inputs: InputKind | None = None,
) -> Activations:  # fmt: skip
    """The mean over photos of activations, each of the shape that one photo's has (1, …); a photo is held in memory at a time.

    Photos, names, layers, `inputs` and errors are as of `vitcore.cache`; `progress` is called with how many photos are done, and
    of how many. What comes back can be given to `switch_off`, to `head_ablation` and to `edit(vit).patch`.
    """
    check_activations_defined(vit)
    asked = keys_from_names(names, layer_indices(layers, vit.blocks), vit.blocks)
    count, each = iterate_model_inputs(vit, photos, inputs)
    sums: dict[str, Tensor] = {}
    logits: Tensor | None = None
    for done, x in enumerate(each, start=1):
        kept = run_keeping_activations(vit, x, asked)
        logits = kept.logits if logits is None else logits + kept.logits
        for key in kept:
            sums[key] = kept[key] if key not in sums else sums[key] + kept[key]
        if progress is not None:
            progress(done, count)
    assert logits is not None
    values = {parse_key(key): partial(_same, total / count) for key, total in sums.items()}
    return Activations(vit.name, logits / count, vit.blocks, values)


def _same(value: Tensor) -> Tensor:
    return value


def has_activations(mean: Activations, names: Iterable[str], layers: Iterable[int]) -> bool:
    """Whether these activations of these layers were kept."""
    return all((name, layer) in mean for layer in layers for name in names)
