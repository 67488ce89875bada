"""Live numbers of one token: how its patch became its embedding, and what one block does to it (arXiv 2010.11929 Eq. 1–3).

Nothing here is computed in a way of our own: the block runs as it is, in a copy whose parts are watched, and the numbers
are those that passed through. Shapes: T tokens, D width, H heads, d width of a head, M width of the MLP.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from vitcore.attention_hooks import AttentionCall, AttentionEvent, AttentionHookMode
from vitcore.forward.block_attention import read_only_array
from vitcore.forward.layer_indices import layer_index
from vitcore.forward.onednn_linear import with_faster_modules
from vitcore.forward.recording import to_model_input
from vitcore.models.model_cards import ModelError
from vitcore.models.vit import Vit
from vitcore.module_swaps import ForwardHook, with_hooks, with_swapped_modules
from vitcore.translation import say

Array = NDArray[np.float32]
CLOSE = 1e-4  # of the largest number, by which float32 sums in another order differ
# Each vector of a token, by the part of the block that it goes into (0) or comes out of (1).
VECTORS = {
    "x_in": ("", 0), "normed": ("norm1", 1), "attended": ("drop_path1", 1), "after_attention": ("norm2", 0),
    "normed2": ("norm2", 1), "hidden": ("mlp.fc2", 0), "mlp": ("drop_path2", 1), "x_out": ("", 1),
}  # fmt: skip
PARTS = ("norm1", "attn", "drop_path1", "norm2", "mlp", "drop_path2")


@dataclass(frozen=True, eq=False, kw_only=True)
class BlockActivations:
    """What one block does to one token, in the order it happens; float32 and read-only."""

    block: int
    token: int
    x_in: Array  # (D,): z of the block before
    normed: Array  # (D,): LN(x_in)
    q: Array  # (H, d), as the scores are made of them: after a query norm or rotation, where the model has one
    k: Array  # (H, d)
    v: Array  # (H, d)
    scores: Array  # (H, T): q·k/√d with every token's key, plus a bias where the model has one
    weights: Array  # (H, T): softmax(scores)
    heads: Array  # (H, d): Σ weights · v
    attended: Array  # (D,): all heads projected, scaled where the model has LayerScale: what is added to x_in
    after_attention: Array  # (D,): z′ of Eq. 2
    normed2: Array  # (D,): LN(z′)
    hidden: Array = field(default_factory=lambda: np.zeros(0, np.float32))
    # (M,): inside the MLP, after its non-linearity; empty where it can't be seen
    mlp: Array  # (D,): what the MLP adds
    x_out: Array  # (D,): z of Eq. 3


@dataclass(frozen=True, eq=False, kw_only=True)
class PatchProjection:
    """How a patch becomes its embedding: `filters` · x_p + `bias` (the x_p E of Eq. 1)."""

    x_p: Array  # (h, w, C): what the filters meet: normalised pixels, or a hybrid's features
    filters: Array  # (D, h, w, C)
    bias: Array  # (D,)
    embedding: Array  # (D,): the model's own, before positions


InOut = dict[str, tuple[Tensor, Tensor]]  # what went into a part of a block and came out, by its name; "" is the block itself


@torch.inference_mode()
def trace_token(vit: Vit, pixels: NDArray[np.uint8] | NDArray[np.float32], block: int, token: int) -> BlockActivations:
    """Everything that happens to a token (counted with prefix tokens) in a block, for pixels (H, W, 3).

    Raises: ModelError, for blocks that are not those of Eq. 2–3 (norms after the sum, attention beside the MLP, …).
    """
    if not vit.is_global:
        raise ModelError(vit.why_undefined(say("a block, step by step,")))
    block = layer_index(block, vit.blocks, "blocks")
    if not 0 <= token < vit.grid.tokens:
        raise ValueError(f"{vit.name} has no token {token}")
    in_out: InOut = {}
    calls: list[AttentionEvent] = []

    def watch(event: AttentionEvent) -> None:
        if "norm1" in in_out and "" not in in_out:  # inside the block: a pool behind it attends, too
            calls.append(event)

    with AttentionHookMode(watch):
        _with_watched_block(vit, block, in_out)(to_model_input(vit, pixels))
    call = next((call for call in calls if isinstance(call, AttentionCall)), None)
    if call is None or not _is_pre_norm(in_out):
        raise _not_defined(vit)
    q, k, v = (part[0].float() for part in (call.q, call.k, call.v))  # (H, T, d)
    row = slice(token, token + 1)
    weights = call.weights(row)[0].float()  # (H, 1, T)
    return BlockActivations(
        block=block, token=token, q=_array(q[:, token]), k=_array(k[:, token]), v=_array(v[:, token]),
        scores=_array(call.scores(row)[0, :, 0]), weights=_array(weights[:, 0]), heads=_array((weights @ v)[:, 0]),
        **{name: _array(in_out[part][side][0, token]) for name, (part, side) in VECTORS.items() if part in in_out},
    )  # fmt: skip


def _not_defined(vit: Vit) -> ModelError:
    if getattr(vit.module, "library", "") == "transformers":
        return ModelError("The blocks of {name} are run as transformers wrote them, and their parts have names of their own, so "
                          "their numbers can't be shown step by step.", name=vit.display_name)  # fmt: skip
    return ModelError(
        "The blocks of {name} are not built as Eq. 2 and 3 of the paper say (LayerNorm, attention, sum; LayerNorm, MLP, "
        "sum), so their numbers can't be shown step by step.",
        name=vit.display_name,
    )


def _with_watched_block(vit: Vit, block: int, in_out: InOut) -> Any:
    """A copy of the model up to a block that notes what goes into the block's parts and comes out, by the fused kernel."""
    original = vit.module.blocks[block]
    if not all(isinstance(getattr(original, part, None), nn.Module) for part in PARTS):
        raise _not_defined(vit)
    inner = ("mlp.fc2",) if isinstance(getattr(original.mlp, "fc2", None), nn.Module) else ()

    def note(name: str) -> ForwardHook:
        return lambda part, inputs, output: in_out.update({name: (inputs[0], output)})

    path = f"blocks.{block}"
    hooks = {f"{path}.{name}".rstrip("."): note(name) for name in ("", *PARTS, *inner)}
    module = with_hooks(with_faster_modules(vit.module), "out", **hooks)
    if hasattr(original.attn, "fused_attn"):
        module.get_submodule(f"{path}.attn").fused_attn = True  # the copy's: queries and keys are seen there
    return with_swapped_modules(module, blocks=module.blocks[: block + 1])


def _is_pre_norm(in_out: InOut) -> bool:
    """Whether what was seen is x′ = x + attention(norm(x)) and then x″ = x′ + mlp(norm(x′))."""
    if not {"", *PARTS} <= in_out.keys():
        return False
    (x, out), (_, attended), (middle, _), (_, added) = (in_out[k] for k in ("", "drop_path1", "norm2", "drop_path2"))
    chain = in_out["norm1"][0] is x and in_out["attn"][0] is in_out["norm1"][1] and in_out["mlp"][0] is in_out["norm2"][1]
    return chain and _close(x + attended, middle) and _close(middle + added, out)


def _close(one: Tensor, other: Tensor) -> bool:
    return bool((one - other).abs().max() <= CLOSE * other.abs().max())


def _array(values: Tensor) -> Array:
    return read_only_array(values.float().clone())


@torch.inference_mode()
def patch_embeddings(vit: Vit, pixels: NDArray[np.uint8] | NDArray[np.float32]) -> Array:
    """Patch embeddings (N, D) before positions are added: x_p E of Eq. 1."""
    x, patches = to_model_input(vit, pixels), (vit.patches or vit.grid).patches
    embeds = getattr(vit.module, "embeds", None)
    if embeds is None:
        return vit.module.patch_embed(x).reshape(patches, -1).float().cpu().numpy()
    made: list[Tensor] = []  # NaFlexViT adds positions on the way: what its projection makes
    with_hooks(embeds, "out", proj=lambda proj, inputs, output: made.append(output))(x)
    tokens = made[0].flatten(2).transpose(1, 2) if made[0].ndim == 4 else made[0]
    return tokens.reshape(patches, -1).float().cpu().numpy()


@torch.inference_mode()
def project_patch(vit: Vit, pixels: NDArray[np.uint8] | NDArray[np.float32], patch: int) -> PatchProjection | None:
    """What the embedding filters met at a patch and what they made of it; None where patches are read in another way."""
    embed = getattr(vit.module, "patch_embed", None)
    proj = getattr(embed, "proj", None)
    if embed is None or not isinstance(proj, nn.Conv2d) or proj.kernel_size != proj.stride or proj.groups != 1:
        return None
    seen: list[Tensor] = []
    watched = with_hooks(embed, "out", proj=lambda proj, inputs, output: seen.append(inputs[0]))
    grid = vit.patches or vit.grid
    made = watched(to_model_input(vit, pixels)).reshape(grid.patches, -1)
    (high, wide), (row, col) = proj.kernel_size, grid.row_col(patch)
    if seen[0].shape[1] != proj.in_channels:  # the layer itself makes photos grey
        return None
    cell = seen[0][0, :, row * high : (row + 1) * high, col * wide : (col + 1) * wide]
    bias = torch.zeros(proj.out_channels) if proj.bias is None else proj.bias
    x_p, filters = cell.permute(1, 2, 0), proj.weight.permute(0, 2, 3, 1)
    projection = PatchProjection(x_p=_array(x_p), filters=_array(filters), bias=_array(bias), embedding=_array(made[patch]))
    sums = np.tensordot(projection.filters, projection.x_p, 3) + projection.bias
    return projection if np.allclose(sums, projection.embedding, atol=CLOSE * float(np.abs(sums).max())) else None


def prefix_token_names(vit: Vit) -> tuple[str, ...]:
    """The tokens before the patches, by what they are: "class", "distillation", "register 0", …"""
    module = vit.module
    if said := getattr(module, "prefix_names", None):  # one of transformers'
        return tuple(said)
    names = ["class"] if getattr(module, "cls_token", None) is not None else []
    names += ["distillation"] if getattr(module, "dist_token", None) is not None else []
    registers = vit.grid.prefix - len(names)
    return (*names, *(f"register {i}" for i in range(registers)))
