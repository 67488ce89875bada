"""Live numbers of one token: how its patch became its embedding, and what one block does to it (arXiv 2010.11929 Eq. 1–3).

Nothing here is computed in a way of our own: the block runs as it is, in a copy whose parts are watched, and the numbers
are those that passed through. Shapes: T tokens, D width, H heads, d width of a head, M width of the MLP.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from vitcore.attention_capture import AttentionCall, AttentionCapture, SoftmaxCall, additive_mask, zero_if_fully_masked
from vitcore.forward.module_swaps import WatchedModule, with_modules, with_onednn_linears
from vitcore.forward.recording import to_model_input
from vitcore.models.load_model import Vit
from vitcore.models.model_cards import ModelError
from vitcore.translation import say

Array = NDArray[np.float32]
CLOSE = 1e-4  # of the largest number, by which float32 sums in another order differ


@dataclass(frozen=True, eq=False)
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
    hidden: Array  # (M,): inside the MLP, after its non-linearity; empty where it can't be seen
    mlp: Array  # (D,): what the MLP adds
    x_out: Array  # (D,): z of Eq. 3


@dataclass(frozen=True, eq=False)
class PatchProjection:
    """How a patch becomes its embedding: `filters` · x_p + `bias` (the x_p E of Eq. 1)."""

    x_p: Array  # (h, w, C): what the filters meet: normalised pixels, or a hybrid's features
    filters: Array  # (D, h, w, C)
    bias: Array  # (D,)
    embedding: Array  # (D,): the model's own, before positions


@torch.inference_mode()
def trace_token(vit: Vit, pixels: NDArray[np.uint8], block: int, token: int) -> BlockActivations:
    """Everything that happens to a token (counted with prefix tokens) in a block, for pixels (H, W, 3).

    Raises: ModelError, for blocks that are not those of Eq. 2–3 (norms after the sum, attention beside the MLP, …).
    """
    if not vit.is_global:
        raise ModelError(vit.why_undefined(say("a block, step by step,")))
    if not (0 <= block < vit.blocks and 0 <= token < vit.grid.tokens):
        raise ValueError(f"{vit.name} has no token {token} in a block {block}")
    in_out: dict[str, tuple[Tensor, Tensor]] = {}
    calls: list[AttentionCall | SoftmaxCall] = []
    original = vit.module.blocks[block]
    watched = _watched_block(vit, original, in_out)

    def run(x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        with AttentionCapture(calls.append):
            return watched(x, *args, **kwargs)

    def see(x: Tensor, result: Tensor) -> None:
        in_out["block"] = x, result

    module = with_onednn_linears(vit.module)
    upto = [*module.blocks[:block], WatchedModule(_Run(run), see)]
    with_modules(module, blocks=nn.Sequential(*upto))(to_model_input(vit, pixels))
    call = next((call for call in calls if isinstance(call, AttentionCall)), None)
    if call is None or not _is_pre_norm(in_out):
        raise _not_defined(vit)
    return _inside(in_out, call, block, token)


class _Run(nn.Module):
    """A function in the place of a block."""

    def __init__(self, run: Any) -> None:
        super().__init__()
        self.run = run

    def forward(self, *args: Any, **kwargs: Any) -> Tensor:
        return self.run(*args, **kwargs)


def _not_defined(vit: Vit) -> ModelError:
    return ModelError(
        "The blocks of {name} are not built as Eq. 2 and 3 of the paper say (LayerNorm, attention, sum; LayerNorm, MLP, "
        "sum), so their numbers can't be shown step by step.",
        name=vit.display_name,
    )


PARTS = ("norm1", "attn", "drop_path1", "norm2", "mlp", "drop_path2")


def _watched_block(vit: Vit, block: Any, in_out: dict[str, tuple[Tensor, Tensor]]) -> Any:
    """A copy of the block that notes what goes into its parts and comes out; its attention calls the fused kernel."""
    if not all(isinstance(getattr(block, part, None), nn.Module) for part in PARTS):
        raise _not_defined(vit)

    def note(name: str) -> Any:
        return lambda x, result: in_out.update({name: (x, result)})

    attn = with_modules(block.attn)
    if hasattr(attn, "fused_attn"):
        attn.fused_attn = True  # the copy's: the tape sees queries and keys there
    parts: dict[str, nn.Module] = {part: WatchedModule(getattr(block, part), note(part)) for part in PARTS}
    parts["attn"] = WatchedModule(attn, note("attn"))
    if isinstance(getattr(block.mlp, "fc2", None), nn.Module):
        parts["mlp"] = WatchedModule(with_modules(block.mlp, fc2=WatchedModule(block.mlp.fc2, note("fc2"))), note("mlp"))
    return with_modules(block, **parts)


def _is_pre_norm(in_out: dict[str, tuple[Tensor, Tensor]]) -> bool:
    """Whether what was seen is x′ = x + attention(norm(x)) and then x″ = x′ + mlp(norm(x′))."""
    if not {"block", *PARTS} <= in_out.keys():
        return False
    (x, out), (_, attended), (middle, _), (_, added) = (in_out[k] for k in ("block", "drop_path1", "norm2", "drop_path2"))
    chain = in_out["norm1"][0] is x and in_out["attn"][0] is in_out["norm1"][1] and in_out["mlp"][0] is in_out["norm2"][1]
    return chain and _close(x + attended, middle) and _close(middle + added, out)


def _close(one: Tensor, other: Tensor) -> bool:
    return bool((one - other).abs().max() <= CLOSE * other.abs().max())


def _inside(in_out: dict[str, tuple[Tensor, Tensor]], call: AttentionCall, block: int, token: int) -> BlockActivations:
    q, k, v = (part[0].float() for part in (call.q, call.k, call.v))  # (H, T, d)
    scores = call.factor * (q[:, token, None] @ k.transpose(-2, -1))  # (H, 1, T)
    if call.mask is not None:
        mask = additive_mask(call.mask, torch.float32).expand(1, *scores.shape[:1], q.shape[1], -1)
        scores = scores + mask[0, :, token, None]
    weights = zero_if_fully_masked(scores.softmax(-1), scores)

    def of(name: str, result: bool = True) -> Array:
        return _array(in_out[name][int(result)][0, token])

    return BlockActivations(
        block, token, of("block", False), of("norm1"), _array(q[:, token]), _array(k[:, token]), _array(v[:, token]),
        _array(scores[:, 0]), _array(weights[:, 0]), _array((weights @ v)[:, 0]), of("drop_path1"), of("norm2", False),
        of("norm2"), of("fc2", False) if "fc2" in in_out else np.zeros(0, np.float32), of("drop_path2"), of("block"),
    )  # fmt: skip


def _array(values: Tensor) -> Array:
    array = values.float().numpy().copy()
    array.flags.writeable = False
    return array


@torch.inference_mode()
def project_patch(vit: Vit, pixels: NDArray[np.uint8], patch: int) -> PatchProjection | None:
    """What the embedding filters met at a patch and what they made of it; None where patches are read in another way."""
    embed = getattr(vit.module, "patch_embed", None)
    proj = getattr(embed, "proj", None)
    if embed is None or not isinstance(proj, nn.Conv2d) or proj.kernel_size != proj.stride or proj.groups != 1:
        return None
    inputs: list[Tensor] = []
    watched = with_modules(embed, proj=WatchedModule(proj, lambda x, result: inputs.append(x)))
    made = watched(to_model_input(vit, pixels)).reshape((vit.patches or vit.grid).patches, -1)
    (high, wide), (row, col) = proj.kernel_size, (vit.patches or vit.grid).row_col(patch)
    cell = inputs[0][0, :, row * high : (row + 1) * high, col * wide : (col + 1) * wide]
    bias = torch.zeros(proj.out_channels) if proj.bias is None else proj.bias
    x_p, filters = cell.permute(1, 2, 0), proj.weight.permute(0, 2, 3, 1)
    projection = PatchProjection(_array(x_p), _array(filters), _array(bias), _array(made[patch]))
    sums = np.tensordot(projection.filters, projection.x_p, 3) + projection.bias
    return projection if np.allclose(sums, projection.embedding, atol=CLOSE * float(np.abs(sums).max())) else None


def prefix_token_names(vit: Vit) -> tuple[str, ...]:
    """The tokens before the patches, by what they are: "class", "distillation", "register 0", …"""
    module = vit.module
    names = ["class"] if getattr(module, "cls_token", None) is not None else []
    names += ["distillation"] if getattr(module, "dist_token", None) is not None else []
    registers = vit.grid.prefix - len(names)
    return (*names, *(f"register {i}" for i in range(registers)))
