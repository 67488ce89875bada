"""Which patches spoke for a class: five methods behind one function, each map on the token grid.

Rollout asks no class. Gradient rollout and Chefer's relevance read the gradient of a class's logit at every attention
weight, from its attention events; integrated gradients and Grad-CAM are Captum's. The model is frozen and shared by many
threads: it is never written to, hooked or put in another mode, and gradients are taken of activations and pixels alone. What the
methods are, and their sources, is in `analysis.relevance.METHODS`. Shapes: B images, L blocks, H heads, T tokens.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from vitcore.analysis import relevance as arithmetic
from vitcore.analysis.relevance import METHODS
from vitcore.analysis.rollout import Convention, HeadFusion, fuse_heads, rollout
from vitcore.analysis.rollout_options import CONVENTIONS
from vitcore.architectures.axial_vit import spread_axis_attention
from vitcore.attention_hooks import AttentionEvent, AttentionHookMode
from vitcore.errors import check_choice, warn_caller
from vitcore.forward.block_attention import PoolingReducer
from vitcore.forward.layer_indices import layer_index
from vitcore.forward.recordings.model_inputs import to_model_inputs
from vitcore.grid import Grid
from vitcore.images import InputKind, PhotoSource
from vitcore.models.model_cards import ModelError
from vitcore.models.vit import Vit, check_classes, check_observed_calls, check_observed_heads, check_vit, class_index
from vitcore.module_swaps import with_swapped_modules
from vitcore.translation import say

BASELINES = {"mean": None, "black": 0.0, "white": 1.0}  # "mean": the colour the model's inputs are centred on
STEPS, MOST_STEPS = 24, 512
ACCEPTED_GAP = 0.05  # of the rise, the bar of the method's authors: arXiv 1703.01365, section 5
AT_ONCE = 4  # images of the path from the baseline that are differentiated together
MOST_NUMBERS = 2**23  # that the blocks of one image hand on (L·T·D); of larger models one image is differentiated at a time

MapAndGap = tuple[NDArray, tuple[float, float] | None]  # a map, and for integrated gradients its rise and its gap


class IncompleteAttributionsWarning(UserWarning):
    """The attributions of integrated gradients do not add up to the rise of the logit."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Relevance:
    """Maps of one method, (rows, cols) or (B, rows, cols); an image's class, and how complete its attributions are."""

    method: str
    maps: NDArray[np.float64]
    targets: tuple[int, ...] = ()  #: the class of each image; none for rollout
    rises: tuple[float, ...] = ()  #: integrated gradients: y_c(photo) − y_c(baseline), in logits
    gaps: tuple[float, ...] = ()  #: integrated gradients: what the sum of the attributions is off by, in logits

    @property
    def incomplete(self) -> str:
        """By how much the worst of its attributions are off, in the reader's language; "" where all are within `ACCEPTED_GAP`."""
        off = [abs(gap) / max(abs(rise), 1e-12) for rise, gap in zip(self.rises, self.gaps, strict=True)]
        if not off or max(off) <= ACCEPTED_GAP:
            return ""
        worst = off.index(max(off))
        return say("The attributions add up to {total:.2f}, and the logit rises by {rise:.2f}: more steps bring them closer.",
                   total=self.rises[worst] + self.gaps[worst], rise=self.rises[worst])  # fmt: skip

    def __repr__(self) -> str:
        of = f" of class {', '.join(map(str, self.targets))}" if self.targets else ""
        return f"<Relevance by {self.method}{of}: maps {'×'.join(map(str, self.maps.shape))}>"


def relevance(
    vit: Vit, image: PhotoSource | Sequence[PhotoSource], method: str, target: int | str | Sequence[int | str] | None = None, *,
    inputs: InputKind | None = None, **settings: Any,
) -> Relevance:  # fmt: skip
    """Relevance of every patch of a photo, a list of them or a batch (B, …), taken as `record` takes them (`inputs`, too).

    `target` is a class by its index or its name, one for all or one an image; None asks for each image's likeliest class. Settings:
    rollout `start` (a token; default: where the answer is read), `fusion`, `discard_ratio`, `residual`, `first_block` and
    `convention`; gradient_rollout the last four; integrated_gradients `baseline` ("mean", "black", "white") and `steps`
    (default: `STEPS`; what its sum is off by is in `gaps`, more steps make it less). An image's map does not depend on the
    others of its batch.
    `convention="vit-explain"` gives what the code of github.com/jacobgil/vit-explain does, a map that may be quite another:
    `discard_ratio` is of all weights, not of those between patches; products of attention and gradient are averaged over heads
    before negative ones are dropped; the identity is added first, then columns are divided by the sums of rows; the largest
    value is 1 (`analysis.rollout.vit_explain_rollout`). The default, "row-stochastic", is that of `analysis.rollout.rollout`.
    Warns: IncompleteAttributionsWarning, where the attributions of integrated gradients are off by more than 5 % of the rise.
    Raises: ModelError, for a model without a head where a class is needed, and for a name that none or several of its classes
    have; ValueError, for what there isn't; IndexError, for a token that there isn't; PhotoError.
    """
    check_vit(vit)
    check_choice("method", method, METHODS)
    if unknown := settings.keys() - set(METHODS[method].settings):
        raise ValueError(f"{method} has no setting {', '.join(sorted(unknown))}")
    check_choice("convention", settings.get("convention", CONVENTIONS[0]), CONVENTIONS)
    if not vit.is_global and METHODS[method].needs_attention:
        raise ModelError(vit.why_undefined(say(METHODS[method].title)))
    targets: tuple[int, ...]
    results: list[MapAndGap]
    with torch.inference_mode(False), torch.enable_grad():
        batch = list(to_model_inputs(vit, image, inputs).clone().split(1))
        if METHODS[method].asks_class:
            targets = _targets(vit, batch, target)
            results = [_RUN[method](vit, x, c, **settings) for x, c in zip(batch, targets, strict=True)]
        else:
            targets, results = (), [(_rollout(vit, x, **settings), None) for x in batch]
    maps = np.stack([one for one, _ in results]).astype(np.float64)
    complete = [fact for _, fact in results if fact]
    rises, gaps = tuple(rise for rise, _ in complete), tuple(gap for _, gap in complete)
    alone = len(batch) == 1 and not isinstance(image, list | tuple) and getattr(image, "ndim", 3) == 3
    found = Relevance(method=method, maps=maps[0] if alone else maps, targets=targets, rises=rises, gaps=gaps)
    if told := found.incomplete:
        warn_caller(told, IncompleteAttributionsWarning)
    return found


def _targets(vit: Vit, inputs: list[Tensor], target: int | str | Sequence[int | str] | None) -> tuple[int, ...]:
    """The class of each image."""
    check_classes(vit)
    if target is None:
        with torch.no_grad():
            return tuple(int(vit.module(x)[0].argmax()) for x in inputs)
    asked = [target] * len(inputs) if isinstance(target, str) or not hasattr(target, "__iter__") else list(target)
    given = [index for one in asked if (index := class_index(vit, one)) is not None]
    if len(given) != len(inputs):
        raise ValueError(f"targets are one class for all images, or one an image ({len(inputs)}), not {target}")
    return tuple(given)


class _WeightsWithGradients:
    """The watcher that keeps every block's attention weights as part of the graph, and where an attention pool reads."""

    def __init__(self, vit: Vit) -> None:
        self.vit, self.pool = vit, PoolingReducer(vit)
        self.weights: list[Tensor] = []

    def __call__(self, event: AttentionEvent) -> Tensor | None:
        tokens, (queries, keys) = self.vit.grid.tokens, event.shape[-2:]
        if not self.vit.structure.axes:
            if queries != tokens:
                self.pool.add(event)
            if (queries, keys) != (tokens, tokens):
                return None
        weights = event.weights()
        if torch.is_grad_enabled() and not weights.requires_grad:
            weights.requires_grad_()  # the first block's begin the graph, for nothing below them needs one
        self.weights.append(weights)
        return event.output(weights)


def _run_with_weights(vit: Vit, x: Tensor) -> tuple[Tensor, list[Tensor], NDArray[np.float32]]:
    """Logits, the weights of every attention call, and where the answer is read, (T,)."""
    watch = _WeightsWithGradients(vit)
    with AttentionHookMode(watch):
        logits = vit.module(x)
    for call, weights in enumerate(watch.weights):
        check_observed_heads(vit, call // vit.structure.calls, weights.shape[1])
    check_observed_calls(vit, len(watch.weights))
    return logits, watch.weights, watch.pool.weights().numpy()


def _dense(vit: Vit, attention: Sequence[Tensor]) -> list[NDArray]:
    """What was seen of every attention call (weights, or gradients of them), as (H, T, T) a step that rollout multiplies.

    Calls that a block makes side by side are heads of one step; along rows and along columns are two, spread over all patches.
    """
    axes, calls, grid = vit.structure.axes, vit.structure.calls, vit.grid
    if axes:
        spreads = (
            spread_axis_attention(one.detach(), axes[i % len(axes)], grid.rows, grid.cols) for i, one in enumerate(attention)
        )
        return [one.float().cpu().numpy() for one in spreads]
    blocks = (torch.cat([one.detach()[0] for one in attention[i : i + calls]]) for i in range(0, len(attention), calls))
    return [block.float().cpu().numpy() for block in blocks]


def _rollout(vit: Vit, x: Tensor, start: int | None = None, fusion: HeadFusion = "mean", **settings: Any) -> NDArray:
    """Rollout, as `Recording.rollout` has it."""
    with torch.no_grad():
        _, weights, pool = _run_with_weights(vit, x)
    fused = np.stack([fuse_heads(w, fusion) for w in _dense(vit, weights)])
    return vit.grid.to_map(rollout(fused, pool if start is None else start, **_in_steps(vit, settings)))


def _in_steps(vit: Vit, settings: dict[str, Any]) -> dict[str, Any]:
    """Settings of a rollout whose first block is one of the steps that attention makes in each, with the prefix."""
    first = layer_index(int(settings.get("first_block", 0)), vit.blocks, "blocks") * max(1, len(vit.structure.axes))
    return {**settings, "first_block": first, "prefix": vit.grid.prefix}


def _positive_gradients(vit: Vit, x: Tensor, target: int, convention: Convention = "row-stochastic") -> tuple[NDArray, NDArray]:
    """`positive_gradient_attention` of every block, (L, T, T), and where the answer is read, (T,)."""
    logits, weights, pool = _run_with_weights(vit, x)
    gradients = torch.autograd.grad(logits[0, target], weights, materialize_grads=True)
    pairs = zip(_dense(vit, weights), _dense(vit, gradients), strict=True)
    return np.stack([arithmetic.positive_gradient_attention(a, g, convention) for a, g in pairs]), pool


def _gradient_rollout(vit: Vit, x: Tensor, target: int, convention: Convention = "row-stochastic", **settings: Any) -> MapAndGap:
    positive, pool = _positive_gradients(vit, x, target, convention)
    row = arithmetic.gradient_rollout(positive, pool, convention=convention, **_in_steps(vit, settings))
    return vit.grid.to_map(row), None


def _chefer(vit: Vit, x: Tensor, target: int) -> MapAndGap:
    return vit.grid.to_map(arithmetic.chefer_relevance(*_positive_gradients(vit, x, target))), None


def _integrated_gradients(vit: Vit, x: Tensor, target: int, baseline: str = "mean", steps: int = STEPS) -> MapAndGap:
    """Captum's, of the pixels, summed over each patch; on the path from a picture of one colour to the photo."""
    from captum.attr import IntegratedGradients

    check_choice("baseline", baseline, BASELINES)
    if not 1 <= steps <= MOST_STEPS:
        raise ValueError(f"steps are 1 to {MOST_STEPS}, not {steps}")
    from_ = _plain(vit, x, BASELINES[baseline])
    with torch.no_grad():
        rise = float(vit.module(x)[0, target] - vit.module(from_)[0, target])
    large = max(1, vit.blocks) * vit.structure.numbers > MOST_NUMBERS
    at_once = 1 if large else AT_ONCE
    attributed = IntegratedGradients(vit.module).attribute(
        x.requires_grad_(), from_, target=target, n_steps=steps, internal_batch_size=min(at_once, steps)
    )
    values = arithmetic.sum_per_patch(attributed[0].detach().cpu().double().sum(0).numpy(), vit.grid)
    return values, (rise, float(values.sum()) - rise)


def _plain(vit: Vit, x: Tensor, level: float | None) -> Tensor:
    """A picture of one colour as the model's input: `level` in each channel, or the colour that inputs are centred on."""
    if level is None:
        return torch.zeros_like(x)
    mean, std = (torch.tensor(v, dtype=torch.float32).view(1, -1, 1, 1) for v in (vit.mean, vit.std))
    return ((level - mean) / std).to(x.device, x.dtype).expand_as(x).clone()


def _grad_cam(vit: Vit, x: Tensor, target: int) -> MapAndGap:
    """Captum's, at the patch tokens that the last block's attention reads (its first LayerNorm's output).

    Of blocks without one attention, at the tokens that go into the last; of a network of pictures of features, at its last.
    """
    from captum.attr import LayerGradCam

    name = vit.structure.last
    last: Any = vit.module.get_submodule(name)
    if vit.is_global and isinstance(getattr(last, "attn", None), nn.Module):
        name, last = f"{name}.attn", last.attn
    tapped = _PatchTap(last, vit.grid, vit.structure.layout)
    attribution = LayerGradCam(with_swapped_modules(vit.module, **{name: tapped}), tapped.patches)
    importance = attribution.attribute(x.requires_grad_(), target=target, relu_attributions=True)
    return importance[0, 0].detach().float().cpu().numpy(), None


class _PatchTap(nn.Module):
    """A part of a model whose patches pass as a picture (B, D, rows, cols) through `patches`, where Captum looks."""

    def __init__(self, part: nn.Module, grid: Grid, layout: str) -> None:
        super().__init__()
        self.part, self.grid, self.layout, self.patches = part, grid, layout, nn.Identity()

    def forward(self, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """What the part makes of x; of tokens, patches are seen as they go in, of pictures of features as they come out."""
        if self.layout == "tokens":
            prefix, patches = x[:, : self.grid.prefix], x[:, self.grid.prefix :]
            features = self.patches(patches.transpose(1, 2).unflatten(-1, (self.grid.rows, self.grid.cols)))
            x = torch.cat([prefix, features.flatten(2).transpose(1, 2)], 1)
        out: Tensor = self.part(x, *args, **kwargs)
        if self.layout == "nhwc":
            return self.patches(out.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)
        return self.patches(out) if self.layout == "nchw" else out


_RUN: dict[str, Callable[..., MapAndGap]] = {
    "gradient_rollout": _gradient_rollout,
    "chefer": _chefer,
    "integrated_gradients": _integrated_gradients,
    "grad_cam": _grad_cam,
}
