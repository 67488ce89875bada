"""Patch tokens of some photos: the residual stream, queries, keys, values or MLP output of any layers, of each photo one pass.

Shapes: S layers asked for, B photos, N patches, D width of a token (of queries, keys and values: that of all heads side by side,
as Amir et al. take them, arXiv 2112.05814 §3).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitcore.analysis.outlier_tokens import find_outlier_tokens
from vitcore.errors import check_choice
from vitcore.forward.layer_indices import Layers, layer_index, layer_indices
from vitcore.forward.recordings.model_inputs import to_model_inputs
from vitcore.grid import Grid
from vitcore.images import InputKind
from vitcore.interventions.activation_sites import check_activations_defined, is_index, keys_from_names
from vitcore.interventions.activations import run_keeping_activations
from vitcore.models.vit import Vit

STREAM = "resid_post"  # whose norms tell outlier tokens
KINDS = {  # what a token is taken as → the activation's name, as in `vitcore.cache`
    "residual": STREAM,  # as it leaves the block, before the norm after the last one
    "queries": "q",
    "keys": "k",
    "values": "v",
    "mlp_out": "mlp_out",
}
MAX_PHOTOS = 16  # that one PCA, or one set of segments, is shared by


@dataclass(frozen=True, eq=False, repr=False)
class PatchTokens:
    """Patch tokens without class token and registers, and the patches that are left out wherever something is fitted to them."""

    model: str
    kind: str  #: one of `KINDS`
    layers: tuple[int, ...]  #: S, ascending
    blocks: int  #: L, of the model
    values: NDArray[np.float32]  #: (S, B, N, D)
    left_out: NDArray[np.bool_]  #: (B, N): outlier tokens, where they were to be masked; else none
    grid: Grid

    def __repr__(self) -> str:
        _, photos, patches, width = self.values.shape
        layers = ", ".join(map(str, self.layers))
        return f"<PatchTokens: {self.kind} of {photos} by {self.model}, {patches} patches × {width}; layers {layers}>"

    def of_layer(self, layer: int | None = None) -> NDArray[np.float32]:
        """(B, N, D): of a layer of the model (default: the last that was kept); negative: from its last. Raises: ValueError."""
        return self.values[self.index(layer)]

    def index(self, layer: int | None) -> int:
        """Where a layer is among those kept (default: the last of them). Raises: ValueError, for one that was not."""
        if layer is None:
            return len(self.layers) - 1
        layer = layer_index(layer, self.blocks)
        if layer not in self.layers:
            raise ValueError(f"layer {layer} was not kept; kept are {', '.join(map(str, self.layers))}")
        return self.layers.index(layer)

    def check_photo(self, photo: Any, patch: Any = 0) -> None:
        """Raises: ValueError, for a photo or a patch that there is not."""
        _, photos, patches, _ = self.values.shape
        for name, given, count in (("photo", photo, photos), ("patch", patch, patches)):
            if not is_index(given) or not 0 <= given < count:
                raise ValueError(f"{name} is from 0 to {count - 1}, not {given!r}")


def check_tokens(tokens: Any) -> None:
    """Raises: TypeError, for what `patch_tokens` did not give."""
    if not isinstance(tokens, PatchTokens):
        raise TypeError(f"tokens are what vitcore.patch_tokens gives, not {type(tokens).__name__}")


def patch_tokens(
    vit: Vit,
    photos: Any,
    kind: str = "residual",
    layers: Layers | None = None,
    *,
    mask_outliers: bool = False,
    inputs: InputKind | None = None,
) -> PatchTokens:
    """Patch tokens of one photo, several (at most `MAX_PHOTOS`), or model inputs (B, 3, H, W), of these layers (default: all;
    as `record` takes `maps`); `inputs` as of `vitcore.cache`.

    Each photo is one pass, beside which nothing is changed (`vitcore.cache`). `mask_outliers`: the patches that are outlier tokens
    of their photo after some layer, by `analysis.outlier_tokens` (arXiv 2309.16588), are left out of every fit and every match.
    Raises: TypeError, for what is no Vit; ValueError, for kinds, layers and numbers of photos that there are not; PhotoError;
    ModelError, for a model without one attention over its patches in each block, or without what is asked for.
    """
    check_activations_defined(vit)
    check_choice("what tokens are taken as", kind, KINDS)
    chosen = list(layer_indices(layers, vit.blocks))
    if not chosen:
        raise ValueError("there is no layer among the layers")
    x = to_model_inputs(vit, photos, inputs)
    if len(x) > MAX_PHOTOS:
        raise ValueError(f"{len(x)} photos are more than {MAX_PHOTOS}, the most that tokens are compared over")
    each = [_one_photo(vit, x[i : i + 1], KINDS[kind], chosen, mask_outliers) for i in range(len(x))]
    values, left_out = zip(*each, strict=True)
    return PatchTokens(vit.name, kind, tuple(chosen), vit.blocks, np.stack(values, 1), np.stack(left_out), vit.grid)


def _one_photo(vit: Vit, x: Any, name: str, layers: list[int], mask: bool) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Tokens (S, N, D) of one model input, and which patches (N,) are to be left out."""
    prefix = vit.grid.prefix
    kept = run_keeping_activations(
        vit, x, keys_from_names({name, STREAM}, range(vit.blocks), vit.blocks) if mask else [(name, one) for one in layers]
    )
    values = np.stack([kept[name, layer][0, prefix:].flatten(1).cpu().numpy() for layer in layers])
    if not mask:
        return values, np.zeros(vit.grid.patches, bool)
    norms = np.stack([kept[STREAM, layer][0].norm(dim=-1).cpu().numpy() for layer in range(vit.blocks)])
    return values, find_outlier_tokens(norms, prefix).tokens[prefix:]
