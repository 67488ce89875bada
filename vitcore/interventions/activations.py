"""The activations of one forward pass: any of `activation_sites.ALL_NAMES`, of any layers, for photos or a batch of model inputs.

The pass is the model's own, to the bit: a copy that shares its weights is watched, and the model stays as it is. Shapes: B images,
T tokens (those before the patches included), D width, H heads, d width of a head.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from vitcore.attention_hooks import AttentionCall, AttentionEvent, AttentionHookMode
from vitcore.forward.layer_indices import Layers, layer_index, layer_indices
from vitcore.forward.recordings.model_inputs import to_model_inputs
from vitcore.images import InputKind
from vitcore.interventions.activation_sites import (
    ALL_NAMES,
    HOOKS,
    MADE_OF,
    OF_MODEL,
    UNEDITED,
    ActivationSite,
    check_activations_defined,
    find_site,
    head_width,
    heads_per_call,
    keys_from_names,
    no_such_activation_error,
    parse_key,
)
from vitcore.interventions.attention_edits import with_fused_attention
from vitcore.interventions.head_results_and_norm_scales import (
    READ_FOR,
    deferred_head_results,
    deferred_model_activation,
    deferred_norm_scale,
    find_site_of_model,
    is_sum_of_parts,
)
from vitcore.models.vit import Vit, check_observed_calls, check_observed_heads
from vitcore.module_swaps import ForwardHook, with_hooks

DEFAULT_NAMES = ("resid_pre", "q", "k", "v", "pattern", "z", "attn_out", "mlp_out", "resid_post")
OF_CALLS = ("q", "k", "v", "scores", "pattern")
SUM = ("resid_pre", "attn_out", "mlp_out", UNEDITED)  # the first three make the last

Key = tuple[str, int | None]  # name and layer; None of the whole model
Seen = dict[Key, list[Tensor]]


@dataclass(frozen=True, eq=False, repr=False)
class Activations(Mapping[Any, Tensor]):
    """Activations by name and layer: `cache["resid_post", 3]`, `cache["blocks.3.hook_resid_post"]`, `cache["pattern", -1]` of the
    last layer. Each is float32, a tensor of its own (B, …); attention maps and scores are computed when they are read."""

    model: str
    logits: Tensor  #: (B, classes), or features of a model without a head
    blocks: int  #: L, of the model
    compute: Mapping[Key, Callable[[], Tensor]] = field(default_factory=dict)

    def __getitem__(self, key: Any) -> Tensor:
        try:
            name, layer = self._parse(key)
        except ValueError as error:
            raise KeyError(str(error)) from None
        if (name, layer) not in self.compute:
            of, layers = ("", "") if layer is None else (f" of layer {layer}", f", layers=[{layer}]")
            raise KeyError(f"{name}{of} was not kept: cache(vit, photo, names=[{name!r}]{layers}) keeps it")
        return self.compute[name, layer]()

    def _parse(self, key: Any) -> Key:
        name, layer = parse_key(key)
        return name, None if layer is None else layer_index(layer, self.blocks)

    def __iter__(self) -> Iterator[str]:
        return (OF_MODEL[name] if layer is None else f"blocks.{layer}.{HOOKS[name]}" for name, layer in self.compute)

    def __len__(self) -> int:
        return len(self.compute)

    def __contains__(self, key: object) -> bool:
        try:
            return self._parse(key) in self.compute
        except ValueError:
            return False

    def __repr__(self) -> str:
        names = [name for name in ALL_NAMES if any(name == one for one, _ in self.compute)]
        layers = sorted({layer for _, layer in self.compute if layer is not None})
        of_layers = f"; layers {', '.join(map(str, layers))}" if layers else ""
        return f"<Activations of {len(self.logits)} by {self.model}: {', '.join(names)}{of_layers}>"


def cache(
    vit: Vit, photos: Any, names: Collection[str] = DEFAULT_NAMES, layers: Layers | None = None, *, inputs: InputKind | None = None
) -> Activations:
    """Run the model once and keep the activations that are asked for, of these layers (default: all; as `record` takes `maps`).

    `photos` is a photo (as of `record`), several, a folder, or a tensor (B, 3, H, W) of model inputs, normalised (`inputs` and
    transformers' dicts as of `record_many`); they are cast to the model's device and dtype. All run together and stay in memory, so
    go through many in turn. Names are those of TransformerLens and ViT-Prisma, short or with their `hook_`. Of each layer:
    resid_pre, attn_out, resid_mid, mlp_out, resid_post, ln1, ln2 (B, T, D); ln1_scale, ln2_scale (B, T, 1); q, k, v, z (B, T, H,
    d); scores, pattern (B, H, T, T); result, what each head adds (B, T, H, D); mlp_pre, mlp_post (B, T, M). Of the whole model:
    embed (B, N, D), pos_embed, ln_final (B, T, D), ln_final_scale (B, T, 1); see `activation_sites`. Of axial attention there are
    only `resid_pre` and `resid_post`.
    Raises: TypeError, for what is no Vit; ValueError, for names and layers that there are not; PhotoError; ModelError, for a model
    without one attention over its patches in each block, or whose blocks have not what is asked for.
    """
    check_activations_defined(vit)
    asked = keys_from_names(names, layer_indices(layers, vit.blocks), vit.blocks)
    return run_keeping_activations(vit, to_model_inputs(vit, photos, inputs), asked)


@torch.inference_mode(False)
@torch.no_grad()
def run_keeping_activations(vit: Vit, inputs: Tensor, keys: Sequence[Key]) -> Activations:
    """`cache` of model inputs (B, C, H, W), for activations by their canonical names and layers that there are."""
    seen: Seen = {}
    sites = _sites(vit, keys)
    module = _watched(vit, sites, seen)
    calls: list[AttentionEvent] = []

    def watch(event: AttentionEvent) -> None:
        if tuple(event.shape[-2:]) == (vit.grid.tokens,) * 2:
            check_observed_heads(vit, len(calls) // vit.structure.calls, event.shape[1])
            calls.append(event)

    if any(name in OF_CALLS for name, _ in keys):
        with AttentionHookMode(watch):
            logits = with_fused_attention(module)(inputs)
        check_observed_calls(vit, len(calls))
    else:
        logits = module(inputs)
    values: dict[Key, Callable[[], Tensor]] = {}
    for name, layer in sorted(keys, key=lambda key: -1 if key[1] is None else key[1]):
        if layer is None:
            values[name, layer] = deferred_model_activation(vit, name, seen)
        else:
            values[name, layer] = _computed(vit, name, layer, seen, calls)
    return Activations(vit.name, logits.float(), vit.blocks, values)


def _sites(vit: Vit, asked: Collection[Key]) -> dict[Key, ActivationSite]:
    """Where what is asked for is read, and what it is checked by. Raises: ModelError, for what there is not."""
    sites: dict[Key, ActivationSite] = {}
    for name, layer in asked:
        if layer is None:
            sites |= {(one, None): find_site_of_model(vit, one) for one in READ_FOR.get(name, (name,))}
        elif name in OF_CALLS:
            if vit.structure.axes:
                raise no_such_activation_error(vit, name, layer)
        else:
            sites[name, layer] = find_site(vit, name, layer)
            if name in ("attn_out", "mlp_out", "resid_mid"):
                sites |= {(one, layer): find_site(vit, one, layer) for one in SUM}
    return sites


def _watched(vit: Vit, sites: Mapping[Key, ActivationSite], seen: Seen) -> Any:
    """A copy of the model whose parts put what is asked for into `seen`."""
    places: dict[bool, dict[str, list[tuple[str, Key]]]] = {False: {}, True: {}}  # by whether they are read before edits
    for key, site in sites.items():
        for part in site.parts:
            places[key[0] == UNEDITED].setdefault(part, []).append((site.side, key))

    def note(kept: list[tuple[str, Key]]) -> ForwardHook:
        def hook(part: nn.Module, inputs: tuple[Any, ...], output: Any) -> None:
            for side, key in kept:
                seen.setdefault(key, []).append((inputs[0] if side == "in" else output).float().clone())

        return hook

    module = vit.module
    for before_edits, of_parts in places.items():
        module = with_hooks(module, "out", before_edits, **{part: note(kept) for part, kept in of_parts.items()})
    return module


def _computed(vit: Vit, name: str, layer: int, seen: Seen, calls: list[AttentionEvent]) -> Callable[[], Tensor]:
    """What gives an activation: a tensor that was kept, or what is computed of some."""
    if name in OF_CALLS:
        return _of_calls(vit, name, layer, calls)
    if name in ("attn_out", "mlp_out", "resid_mid"):
        before, attended, added, after = (_sum(seen[one, layer]) for one in SUM)
        middle = before + attended
        if not is_sum_of_parts(vit, middle + added, after):
            raise no_such_activation_error(vit, name, layer)
        if name == "resid_mid":
            return lambda: middle
    if name in ("z", "result"):
        heads, width = heads_per_call(vit), head_width(vit, layer)
        z = torch.cat([part[..., : heads * width].unflatten(-1, (heads, width)) for part in seen[name, layer]], 2)
        return (lambda: z) if name == "z" else deferred_head_results(vit, layer, z)
    kept = _sum(seen[name, layer])
    if name in MADE_OF:
        norm = vit.module.get_submodule(find_site(vit, name, layer).parts[0])
        return deferred_norm_scale(norm, kept, no_such_activation_error(vit, name, layer))
    return lambda: kept


def _of_calls(vit: Vit, name: str, layer: int, calls: list[AttentionEvent]) -> Callable[[], Tensor]:
    """What gives queries, keys, values, scores or weights of a layer's attention calls."""
    count = vit.structure.calls
    of_block = calls[layer * count : (layer + 1) * count]
    if name == "pattern":
        return lambda: torch.cat([call.weights() for call in of_block], 1).float()
    of_kernel = [call for call in of_block if isinstance(call, AttentionCall)]
    if len(of_kernel) < count:
        raise no_such_activation_error(vit, name, layer)
    if name == "scores":
        return lambda: torch.cat([call.scores() for call in of_kernel], 1).float()
    value = torch.cat([getattr(call, name) for call in of_kernel], 1).transpose(1, 2).float().clone()
    return lambda: value


def _sum(parts: list[Tensor]) -> Tensor:
    return parts[0] if len(parts) == 1 else torch.stack(parts).sum(0)
