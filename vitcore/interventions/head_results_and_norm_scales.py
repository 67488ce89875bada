"""Activations that are computed of others: what norms divide by, what each head adds, and those of no layer: embeddings, last norm.

Shapes: B images, N patches, T tokens (those before the patches included), D width, H heads, d width of a head.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from vitcore.interventions.activation_sites import ActivationSite, find_site, has_part, heads_per_call, no_such_activation_error
from vitcore.models.embeddings import position_table
from vitcore.models.model_cards import ModelError
from vitcore.models.vit import Vit

CLOSE = 1e-4  # of the largest number, by which float32 sums in another order differ; of coarser numbers two roundings
READ_FOR = {"pos_embed": ("embed", "embedded")}  # what is read besides
PARTS = {"embed": ("patch_embed", "out"), "ln_final": ("norm", "out"), "ln_final_scale": ("norm", "in")}


def is_sum_of_parts(vit: Vit, summed: Tensor, whole: Tensor) -> bool:
    """Whether the model made `whole` of these parts, as far as its precision tells."""
    close = max(CLOSE, 2 * torch.finfo(vit.dtype).eps)
    return float((summed - whole).abs().max()) <= close * float(whole.abs().max())


def find_site_of_model(vit: Vit, name: str) -> ActivationSite:
    """Where an activation of the whole model is; "embedded": the tokens with their positions. Raises: ModelError."""
    module = vit.module
    if name == "embedded":
        before = [part for part in ("norm_pre", "blocks.0") if has_part(module, part)]
        return ActivationSite((before[0],), "in")
    part, side = PARTS[name]
    if vit.structure.axes or not has_part(module, part) or isinstance(module.get_submodule(part), nn.Identity):
        raise _no_model_activation_error(vit, name)
    return ActivationSite((part,), "in" if side == "in" else "out")


def _no_model_activation_error(vit: Vit, name: str) -> ModelError:
    """The refusal of an activation of the whole model that it does not have apart from others."""
    return ModelError("{name} has no {activation} that can be identified.", name=vit.display_name, activation=name)


def deferred_model_activation(vit: Vit, name: str, hook_outputs: dict[Any, list[Tensor]]) -> Callable[[], Tensor]:
    """What gives an activation of the whole model. Raises: ModelError, for one that is not what its name says."""
    if name == "ln_final_scale":
        return deferred_norm_scale(vit.module.norm, hook_outputs[name, None][0], _no_model_activation_error(vit, name))
    if name == "ln_final":
        return partial(_same, hook_outputs[name, None][0])
    patches = hook_outputs["embed", None][0]
    patches = patches.flatten(1, 2) if patches.ndim == 4 else patches  # (B, rows, cols, D)
    if patches.shape[1] != vit.grid.patches:
        raise _no_model_activation_error(vit, name)
    if name == "embed":
        return partial(_same, patches)
    table, embedded, prefix = position_table(vit), hook_outputs["embedded", None][0], vit.grid.prefix
    if table is None or embedded.shape[1] != vit.grid.tokens:
        raise _no_model_activation_error(vit, name)
    positions = torch.zeros_like(embedded)
    positions[:, vit.grid.tokens - len(table) :] = table.to(embedded.device)
    if not is_sum_of_parts(vit, patches + positions[:, prefix:], embedded[:, prefix:]):
        raise _no_model_activation_error(vit, name)
    return partial(_same, positions)


def deferred_norm_scale(norm: Any, x: Tensor, refusal: ModelError) -> Callable[[], Tensor]:
    """What gives √(variance + ε) of a LayerNorm's input, (B, T, 1), or √(mean square + ε) of an RMSNorm's; else the refusal."""
    eps, centred = getattr(norm, "eps", None), isinstance(norm, nn.LayerNorm)
    if eps is None or not (centred or "rmsnorm" in type(norm).__name__.lower()):
        raise refusal
    return lambda: ((x.var(-1, unbiased=False, keepdim=True) if centred else x.square().mean(-1, keepdim=True)) + eps).sqrt()


def deferred_head_results(vit: Vit, layer: int, z: Tensor) -> Callable[[], Tensor]:
    """What gives the part of each head in what a layer's projection makes of z (B, T, H, d): (B, T, H, D), without its bias."""
    projections = [vit.module.get_submodule(part) for part in find_site(vit, "z", layer).parts]
    if not all(isinstance(one, nn.Linear) for one in projections):
        raise no_such_activation_error(vit, "result", layer)

    def compute() -> Tensor:
        heads = z.split(heads_per_call(vit), 2)  # of each projection
        columns = [one.weight.detach().float()[:, : some[0, 0].numel()] for one, some in zip(projections, heads, strict=True)]
        each = zip(heads, columns, strict=True)
        return torch.cat([torch.einsum("bthd,whd->bthw", some, w.unflatten(1, some.shape[2:])) for some, w in each], 2)

    return compute


def _same(value: Tensor) -> Tensor:
    return value
