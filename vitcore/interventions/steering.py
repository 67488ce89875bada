"""Steering: a direction between two photos, or groups of photos, added to the residual stream of another pass.

    direction = vitcore.steering_direction(vit, towards="cat.jpg", away="panda.jpg", layer=6)
    steered = vitcore.steer(vit, direction, layer=6, scale=1)
    vitcore.record(steered, "panda.jpg").top_classes()

The direction is a difference of mean activations (activation addition, Turner et al., arXiv 2308.10248; over groups, Rimsky et
al., arXiv 2312.06681). Shapes: T tokens (those before the patches included), D width, S scales.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vitcore.forward.onednn_linear import with_faster_modules
from vitcore.forward.recordings.model_inputs import to_model_inputs
from vitcore.images import InputKind
from vitcore.interventions.activation_sites import TokenChoice
from vitcore.interventions.edits import edit
from vitcore.interventions.mean_activations import mean_activations
from vitcore.models.vit import Vit

BATCH = 16  # scales that are run together


def steering_direction(
    vit: Vit, towards: Any, away: Any, layer: int, by_token: bool = False, *, inputs: InputKind | None = None
) -> Tensor:
    """(T, D): the mean residual stream that leaves a layer on the photos `towards`, less that on the photos `away`.

    Each is a photo or several, as `vitcore.cache` takes them (`inputs`, too). The tokens before the patches have differences of
    their own. All patches have that of the mean patch, wherever things lie in the photos; with `by_token` each place has its own,
    so that a scale of 1 on the one photo of `away` gives the pass of `towards`.
    Raises: ValueError, for a layer that there is not; ModelError; PhotoError.
    """
    means = [
        mean_activations(vit, photos, ["resid_post"], [layer], inputs=inputs)["resid_post", layer][0] for photos in (towards, away)
    ]
    direction = (means[0] - means[1]).reshape(vit.grid.tokens, -1)
    if not by_token:
        patches = direction[vit.grid.prefix :]
        direction[vit.grid.prefix :] = patches.mean(0, keepdim=True)
    return direction


def steer(vit: Vit, direction: Any, layer: int, scale: float = 1.0, token: TokenChoice = None) -> Vit:
    """A Vit like any other, on the same weights, whose residual stream is moved by `scale` · `direction` as it leaves a layer.

    `direction` is (T, D), or (D,) for every token; `token` limits it to some, as in `vitcore.edit`: "class", "patches", places.
    A scale of 0 changes nothing. Raises: ValueError, for tokens, layers and shapes that there are not; ModelError.
    """
    edits, values = edit(vit), torch.as_tensor(direction)
    if values.ndim == 2 and token is not None:
        values = values[edits._tokens(token)]
    edits.resid(layer).add(values * float(scale), token=token)
    return edits.vit


def steering_sweep(
    vit: Vit, photo: Any, direction: Any, layer: int, scales: Sequence[float], *, inputs: InputKind | None = None
) -> NDArray[np.float32]:
    """Logits (S, classes) of one photo, as `vitcore.cache` takes it (`inputs`, too), steered by each scale; equal to one `steer`
    for each to 1e-5.

    Raises: what `steer` raises; ValueError, for several photos; PhotoError.
    """
    x = to_model_inputs(vit, photo, inputs)
    if len(x) != 1:
        raise ValueError(f"one photo is steered, not {len(x)}")
    values, out = torch.as_tensor(direction), []
    values = values.expand(vit.grid.tokens, -1) if values.ndim == 1 else values
    for some in torch.as_tensor(list(scales), dtype=values.dtype).split(BATCH):
        edits = edit(vit)
        edits.resid(layer).add(some[:, None, None] * values)
        with torch.inference_mode():
            run = with_faster_modules(edits.vit.module)
            out.append(run(x.expand(len(some), *x.shape[1:])).float().cpu().numpy())
    return np.concatenate(out) if out else np.empty((0, len(vit.labels)), np.float32)
