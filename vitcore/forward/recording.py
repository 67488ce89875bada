"""One photograph and one model become one `Recording`; every picture and number reads the recording.

The forward pass happens once, beside the tape. Attention is reduced as it streams by, block by block and head by head
with reused buffers: mean distance of every head (arXiv 2010.11929 App. D.7), heads fused per block, and nothing else
unless asked for. Shapes: L blocks, H heads, T tokens = prefix + N patches.
"""

import functools
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor, nn

from vitcore.analysis.rollout import Fusion, rollout
from vitcore.architectures.axial import reach, spread
from vitcore.forward.exchanged import Watched, with_parts
from vitcore.grid import Grid
from vitcore.images import Photo, Seen, open_photo, photo_of, see
from vitcore.models.cards import ModelError
from vitcore.models.zoo import Vit, with_positions_moved
from vitcore.tape import Call, Softmax, Tape, additive, none_if_blind
from vitcore.translation import say

AT_ONCE_BYTES = 17 * 2**20  # a block whose weights are larger is read head by head: measured best on 2 cores


@dataclass(frozen=True, eq=False)
class Recording:
    """What one forward pass left behind; arrays are float32 and read-only unless said otherwise."""

    model: str
    grid: Grid
    photo: Photo
    seen: Seen  # the pixels the model saw
    logits: NDArray[np.float32]  # (classes,), or pooled features of a model without a head
    labels: tuple[str, ...] = field(repr=False)
    distance_px: NDArray[np.float32]  # (L, H), class token dropped, as the paper
    distance_renormalised_px: NDArray[np.float32]  # (L, H), divided by what is left
    fused: dict[
        str, NDArray[np.float32]
    ]  # fusion -> (S, T, T); a lean recording: float16. S = L, of axial attention 2L
    maps: dict[int, NDArray[np.float16]]  # block -> (H, T, T), only those asked for
    readout: NDArray[np.float32]  # (T,): where the answer is read, a distribution over tokens
    asked: tuple["Asked", ...] = field(default=(), repr=False)  # of every block, where they were kept: see `record`

    def top(self, count: int = 5) -> list[tuple[str, float]]:
        """The likeliest classes with their probabilities; empty for a model without a head."""
        return top_classes(self.logits, self.labels, count)

    def head_maps(self, block: int, token: int | None = None) -> NDArray[np.float32]:
        """(H, rows, cols) attention of a token (default: where the answer is read) in a block.

        Raises: KeyError, for a block whose maps were not kept.
        """
        weights = self.maps[block].astype(np.float32)  # (H, T, T)
        rows = np.einsum("t,htk->hk", self.readout, weights) if token is None else weights[:, token]
        return self.grid.to_map(rows)

    @property
    def steps(self) -> int:
        """Attention steps of a block: 1, of an axial one 2 (along rows, then along columns)."""
        found = next(iter(self.fused.values()), None)
        return 1 if found is None or not len(self.distance_px) else len(found) // len(self.distance_px)

    def of_blocks(self, fusion: str = "mean") -> NDArray[np.float32]:
        """(L, T, T) fused attention of each block; an axial block's is the product of its steps: a patch's reach."""
        found, steps = self.fused[fusion], self.steps
        if steps == 1:
            return found
        return np.stack([last.astype(np.float32) @ first for first, last in zip(found[::2], found[1::2], strict=True)])

    def rollout(self, start: int | None = None, fusion: str = "mean", **settings: float) -> NDArray[np.float64]:
        """Rollout of a token (default: where the answer is read) on the grid, (rows, cols).

        Settings are those of `analysis.rollout.rollout`: discard_ratio, residual, first_block. Axial attention is followed
        through both of a block's steps, each with its residual.
        """
        if not len(self.distance_px):
            raise ModelError(
                say("{name} does not let all patches of one grid attend to all in every block, so rollout is not defined for it.",
                    name=self.model)
            )  # fmt: skip
        settings |= {"first_block": int(settings.get("first_block", 0)) * self.steps}
        begin = self.readout if start is None else start
        return self.grid.to_map(rollout(self.fused[fusion], begin, prefix=self.grid.prefix, **settings))  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Asked:
    """What a block's attention is made of, (H, T, d) each: softmax(queries · keysᵀ · factor) is its weights."""

    queries: Tensor
    keys: Tensor
    factor: float


def heads_again(rec: Recording, block: int) -> NDArray[np.float16]:
    """The maps (H, T, T) of a block of a lean recording, without another forward pass.

    Raises: KeyError, where queries and keys were not kept.
    """
    if not rec.asked:
        raise KeyError(block)
    heads, tokens = rec.asked[block].queries.shape[:2]
    found = torch.empty(heads, tokens, tokens, dtype=torch.float16)
    for place, p in enumerate(_weights_again(rec, block)):
        found[place] = p
    return _shared(found)


def fused_again(rec: Recording, fusion: Fusion) -> NDArray[np.float16]:
    """All blocks' heads fused, (L, T, T), of a lean recording, without another forward pass.

    Raises: KeyError, where queries and keys were not kept.
    """
    if not rec.asked:
        raise KeyError(fusion)
    found = torch.empty(len(rec.asked), rec.grid.tokens, rec.grid.tokens, dtype=torch.float16)
    for block, asked in enumerate(rec.asked):
        heads = _weights_again(rec, block)
        total = next(heads).clone()
        for p in heads:
            if fusion == "mean":
                total += p
            else:
                (torch.maximum if fusion == "max" else torch.minimum)(total, p, out=total)
        found[block] = total / len(asked.queries) if fusion == "mean" else total
    return _shared(found)


def _weights_again(rec: Recording, block: int) -> Iterator[Tensor]:
    """The weights (T, T) of one head after another, in one buffer, computed as they were when they were read."""
    asked = rec.asked[block]
    p = torch.empty(1, rec.grid.tokens, rec.grid.tokens)
    for head in range(len(asked.queries)):
        q, k = asked.queries[head : head + 1], asked.keys[head : head + 1].transpose(-2, -1)
        torch.baddbmm(p, q, k, beta=0, alpha=asked.factor, out=p)
        yield torch.softmax(p, -1, out=p)[0]


def top_classes(logits: NDArray, labels: tuple[str, ...], count: int = 5) -> list[tuple[str, float]]:
    """(label, softmax probability) of the likeliest classes."""
    if not labels:
        return []
    p = np.exp(logits - logits.max())
    p /= p.sum()
    return [(labels[i], float(p[i])) for i in np.argsort(-p)[:count]]


def record(
    vit: Vit, image: Photo | Image.Image | str | Path | bytes | BinaryIO, *,
    maps: Collection[int] = (), fusions: Iterable[Fusion] = ("mean",), fused_kernel: bool = False,
    lean: bool = False,
) -> Recording:  # fmt: skip
    """Run the model once on one image and keep what the pictures need.

    `maps` names the blocks whose heads are kept whole; `fusions` the ways heads are fused. With `fused_kernel` the
    model's own attention kernel computes its output and logits are bit-identical to a run without the instrument;
    without it the weights are computed once and used for both, which is faster (logits within float32's rounding). A
    `lean` recording holds fused heads in half precision and, where they tell all, each block's queries and keys: L·T·2D
    numbers instead of L·H·T², from which `heads_again` and `fused_again` make the rest.
    """
    photo = as_photo(image)
    seen = see(photo.image, vit.transform, vit.grid)
    if not vit.is_global:
        return _in_part(vit, photo, seen, tuple(fusions))
    reader = _Reader(vit, frozenset(maps), tuple(fusions), fused_kernel, lean)
    with torch.inference_mode(), Tape(reader):
        logits = vit.module(to_input(vit, seen.pixels))
    reader.check()
    return Recording(
        vit.name, vit.grid, photo, seen, _shared(logits[0].float()), vit.labels, _shared(reader.distance),
        _shared(reader.renormalised), {k: _shared(v) for k, v in reader.fused.items()},
        {k: _shared(v) for k, v in reader.maps.items()}, _shared(torch.from_numpy(reader.readout())),
        reader.asked if len(reader.asked) == vit.blocks else (),
    )  # fmt: skip


def _in_part(vit: Vit, photo: Photo, seen: Seen, fusions: tuple[Fusion, ...]) -> Recording:
    """What there is of a model whose attention is not over one grid: its answer, and no maps."""
    tokens = vit.grid.tokens
    with torch.inference_mode():
        logits = vit.module(to_input(vit, seen.pixels))
    none = torch.zeros(0, 0)
    return Recording(
        vit.name, vit.grid, photo, seen, _shared(logits[0].float()), vit.labels, _shared(none), _shared(none.clone()),
        {name: _shared(torch.zeros(0, tokens, tokens)) for name in fusions}, {}, _shared(torch.zeros(tokens)),
    )  # fmt: skip


def _shared(values: Tensor) -> NDArray:
    """A read-only array: visitors share recordings."""
    array = values.numpy()
    array.flags.writeable = False
    return array


def as_photo(image: Photo | Image.Image | str | Path | bytes | BinaryIO) -> Photo:
    """Whatever was given, as a Photo."""
    if isinstance(image, Photo):
        return image
    if isinstance(image, Image.Image):
        return photo_of(image)
    return open_photo(image)


def to_input(vit: Vit, pixels: NDArray[np.uint8]) -> Tensor:
    """Pixels (H, W, 3) as the normalised tensor (1, 3, H, W) the model takes."""
    x = torch.from_numpy(np.array(pixels)).permute(2, 0, 1).float().div_(255)
    mean, std = (torch.tensor(v).view(-1, 1, 1) for v in (vit.mean, vit.std))
    return ((x - mean) / std).unsqueeze(0)


@torch.inference_mode()
def embed(vit: Vit, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Patch embeddings (N, D) before positions are added: x_p E of Eq. 1."""
    x, grid = to_input(vit, pixels), vit.structure.patches or vit.grid
    embeds = getattr(vit.module, "embeds", None)
    if embeds is None:
        return vit.module.patch_embed(x).reshape(grid.patches, -1).float().numpy()
    seen: list[Tensor] = []  # NaFlexViT adds positions on the way: what its projection makes
    with_parts(embeds, proj=Watched(embeds.proj, lambda _, made: seen.append(made)))(x)
    made = seen[0].flatten(2).transpose(1, 2) if seen[0].ndim == 4 else seen[0]
    return made.reshape(grid.patches, -1).float().numpy()


@torch.inference_mode()
def predict(
    vit: Vit, pixels: NDArray[np.uint8], order: NDArray[np.int64] | None = None, move_positions: bool = False
) -> NDArray[np.float32]:
    """Logits for pixels; with `move_positions`, slot i is given position order[i], so positions follow their patches."""
    module: nn.Module = vit.module
    if move_positions and order is not None:
        module = with_positions_moved(vit, order)
    return module(to_input(vit, pixels))[0].float().numpy()


@functools.lru_cache(maxsize=8)
def _far(grid: Grid) -> Tensor:
    return torch.from_numpy(grid.distances_px()).float()


def read_from(kind: str, grid: Grid, pool: Tensor | None = None) -> NDArray[np.float32]:
    """Where a model of this kind (`Vit.readout`) reads its answer, as a distribution over tokens (T,)."""
    row = np.zeros(grid.tokens, np.float32)
    if pool is not None:
        row[-len(pool) :] = pool  # some pools leave prefix tokens out
    elif kind == "class token":
        row[0] = 1
    elif kind == "class and distillation tokens":
        row[:2] = 0.5  # the answer is the mean of two heads
    else:
        row[grid.prefix :] = 1 / grid.patches
    return row


class _Reader:
    """The watcher that reduces each block's attention as it streams by."""

    def __init__(
        self, vit: Vit, keep: frozenset[int], fusions: tuple[Fusion, ...], fused_kernel: bool, lean: bool
    ) -> None:
        grid, shape = vit.grid, (vit.blocks, vit.heads)
        self.grid, self.keep, self.fused_kernel, self.kind = grid, keep, fused_kernel, vit.readout
        self.block = 0
        self.name, self.blocks, self.heads = vit.name, vit.blocks, vit.heads
        self.axes, self.calls, self.call = vit.structure.axes, vit.structure.calls, 0  # of a block; the one at hand
        self.each = vit.heads if self.axes else vit.heads // self.calls  # heads of a call
        self.rows_maps = torch.empty(0)
        self.distance, self.renormalised = torch.zeros(shape), torch.zeros(shape)
        tokens = grid.tokens
        start = {"mean": 0.0, "max": 0.0, "min": 1.0}
        kind = torch.float16 if lean else torch.float32
        steps = vit.blocks * max(1, len(self.axes))
        self.fused = {name: torch.empty((steps, tokens, tokens), dtype=kind) for name in fusions}
        self.fusing = {name: torch.full((tokens, tokens), start[name]) for name in fusions}  # of the block at hand
        self.start, self.lean = start, lean
        self.asked: tuple[Asked, ...] = ()
        self.maps: dict[int, Tensor] = {}
        self.pool: Tensor | None = None
        self.far = _far(grid)
        at_once = self.each if 4 * self.each * tokens**2 <= AT_ONCE_BYTES else 1
        self.buffer = torch.empty(at_once, tokens, tokens)

    def __call__(self, call: Call | Softmax) -> Tensor | None:
        if self.axes:
            return self._along(call)
        done = self.call * self.each  # heads of the block that were seen in calls before
        if isinstance(call, Softmax):
            if call.result.shape[-2:] == self.buffer.shape[-2:]:
                self._expect(call.result.shape[1])
                self._reduce(call.result[0].float(), slice(done, done + self.each))
                self._next_call()
            elif call.result.shape[-2] != self.grid.tokens:
                self.pool = call.weights().float().mean((0, 1, 2))
            return None
        if call.q.shape[-2] != self.grid.tokens:  # an attention pool: its query is not a token
            self.pool = call.weights().float().mean((0, 1, 2))
            return None
        self._expect(call.q.shape[1])
        out = (
            None
            if self.fused_kernel
            else torch.empty_like(call.v.transpose(1, 2), memory_format=torch.contiguous_format)
        )
        mask = None if call.mask is None else additive(call.mask, torch.float32).expand(*call.q.shape[:2], -1, -1)
        queries, keys = call.q[0].float(), call.k[0].float().transpose(-2, -1)
        for first in range(0, self.each, len(self.buffer)):
            heads = slice(first, min(first + len(self.buffer), self.each))
            p = self.buffer[: heads.stop - first]
            torch.baddbmm(p, queries[heads], keys[heads], beta=0, alpha=call.factor, out=p)
            if mask is None:
                torch.softmax(p, -1, out=p)
            else:
                p += mask[0, heads]
                p.copy_(none_if_blind(p.softmax(-1), p))
            self._reduce(p, slice(done + heads.start, done + heads.stop))
            if out is not None:
                out[0, :, heads] = torch.bmm(p.to(out.dtype), call.v[0, heads]).transpose(0, 1)
        if self.lean and mask is None:
            q, k = (part[0].float().clone() for part in (call.q, call.k))
            if self.call:
                before = self.asked[-1]
                q, k, self.asked = torch.cat([before.queries, q]), torch.cat([before.keys, k]), self.asked[:-1]
            self.asked += (Asked(q, k, call.factor),)
        self._next_call()
        return None if out is None else out.transpose(1, 2)  # laid out as the fused kernel leaves it

    def _expect(self, heads: int) -> None:
        """As many attention calls a block, with as many heads, as were seen when the model was opened."""
        if self.block >= self.blocks or heads != self.each:
            raise ModelError(
                say(
                    "the attention of {name} is not one call of {heads} heads in each block",
                    name=self.name,
                    heads=self.heads,
                )
            )

    def _reduce(self, p: Tensor, heads: slice) -> None:
        """Take what is needed from the weights p (heads, T, T) of some heads of a block."""
        self._measure(p, heads)
        for name, into in self.fusing.items():
            if name == "mean":
                into.add_(p[0] if len(p) == 1 else p.sum(0), alpha=1 / self.heads)
            else:
                most = (torch.amax if name == "max" else torch.amin)(p, 0)
                (torch.maximum if name == "max" else torch.minimum)(into, most, out=into)

    def _measure(self, p: Tensor, heads: slice) -> None:
        """Distances of some heads of a block, and their maps where they are kept."""
        block, prefix = self.block, self.grid.prefix
        patches = p[:, prefix:, prefix:]
        walked = torch.linalg.vecdot(patches, self.far)
        left = 1 - p[:, prefix:, :prefix].sum(-1) if prefix else torch.ones(())
        if left.min() < 0.05:  # so little that the difference is rounding: sum it
            left = patches.sum(-1)
        self.distance[block, heads] = walked.mean(-1)
        self.renormalised[block, heads] = (walked / left.clamp(min=1e-12)).mean(-1)
        if block in self.keep:
            self.maps.setdefault(block, torch.empty(self.heads, *p.shape[1:], dtype=torch.float16))[heads] = p

    def _along(self, call: Call | Softmax) -> None:
        """A step of axial attention: heads fused over all patches, and after the second the product of both, head by head."""
        rows, cols = self.grid.rows, self.grid.cols
        axis = self.axes[self.call]
        lines, length = (rows, cols) if axis == "row" else (cols, rows)
        weights = call.weights().float()
        if weights.shape[0] != lines or weights.shape[-2:] != (length, length):
            return
        self._expect(weights.shape[1])
        fuse = {"mean": torch.mean, "max": torch.amax, "min": torch.amin}
        for name, into in self.fused.items():
            fused = fuse[name](weights, 1, keepdim=True)
            into[self.block * len(self.axes) + self.call] = spread(fused, axis, rows, cols)[0]
        if axis == "row":
            self.rows_maps = weights
        else:
            self._measure(reach(self.rows_maps, weights), slice(0, self.heads))
        self.call = (self.call + 1) % self.calls
        self.block += not self.call

    def _next_call(self) -> None:
        """After the last call of a block comes the next block."""
        self.call = (self.call + 1) % self.calls
        if not self.call:
            self._next()

    def _next(self) -> None:
        """Put the block's fused heads away; the next block begins."""
        for name, into in self.fusing.items():
            self.fused[name][self.block] = into
            into.fill_(self.start[name])
        self.block += 1

    def readout(self) -> NDArray[np.float32]:
        """Where the model reads its answer, as a distribution over tokens (T,)."""
        return read_from(self.kind, self.grid, self.pool)

    def check(self) -> None:
        """Every block must have been seen once."""
        if self.block != self.blocks:
            raise ModelError(
                say(
                    "{name} attends over all its tokens in {block} of its {blocks} blocks only",
                    name=self.name,
                    block=self.block,
                    blocks=self.blocks,
                )
            )
