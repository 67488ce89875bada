"""One photograph and one model become one `Recording`; every picture and number reads the recording.

The forward pass happens once; `AttentionCapture` watches it. Attention is reduced as it streams by, block by block and head by head
with reused buffers: mean distance of every head (arXiv 2010.11929 App. D.7), heads fused per block, and nothing else
unless asked for. Shapes: L blocks, H heads, T tokens = prefix + N patches.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor, nn

from vitcore.analysis.rollout import HEAD_FUSIONS, HeadFusion, rollout, rollout_per_layer
from vitcore.attention_capture import AttentionCapture
from vitcore.forward.attention_reducer import AttentionReducer, QueryKey
from vitcore.forward.module_swaps import WatchedModule, with_modules, with_onednn_linears, with_watched_blocks
from vitcore.grid import Grid
from vitcore.images import Crop, Photo, crop_for_model, open_photo, photo_from_image
from vitcore.models.load_model import Vit, with_mean_position, with_permuted_positions
from vitcore.models.model_cards import ModelError
from vitcore.probabilities import Output, probabilities


@dataclass(frozen=True, eq=False, repr=False)
class Recording:
    """What one forward pass left behind; arrays are float32 and read-only unless said otherwise."""

    model: str
    grid: Grid
    photo: Photo
    model_input: Crop  # the pixels the model saw
    logits: NDArray[np.float32]  # (classes,), or pooled features of a model without a head
    labels: tuple[str, ...] = field(repr=False)
    distance_px: NDArray[np.float32]  # (L, H), class token dropped, as the paper
    distance_renormalised_px: NDArray[np.float32]  # (L, H), divided by what is left
    prefix_attention_share: NDArray[np.float32]  # (L, H): what patches give to tokens that are not patches, of 1; 0 without prefix
    fused: dict[
        str, NDArray[np.float32]
    ]  # fusion -> (S, T, T); float16 where queries and keys are stored. S = L, of axial attention 2L
    maps: dict[int, NDArray[np.float16]]  # block -> (H, T, T), only those asked for
    pooling_weights: NDArray[np.float32]  # (T,): where the answer is read, a distribution over tokens
    query_key: tuple[QueryKey, ...] = field(default=(), repr=False)  # of every block, where they were kept: see `record`
    output: Output = "softmax"  # what the logits mean
    norms: NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 0), np.float32), repr=False)
    # (L, T): Euclidean norms of the tokens as they leave each block
    masked: bool = False  # whether outlier tokens are masked as keys: see `mask_outliers.mask_outlier_tokens`

    def __repr__(self) -> str:
        blocks = ", ".join(map(str, sorted(self.maps))) or "none"
        return (
            f"<Recording of {self.photo.name} by {self.model}: {self.grid.rows}×{self.grid.cols} patches, "
            f"{len(self.distance_px)} blocks, fused: {', '.join(self.fused)}; heads kept of blocks: {blocks}>"
        )

    @property
    def key(self) -> tuple[str, ...]:
        """What tells it from others: the model, the photo, and whether outlier tokens are masked in it."""
        return self.model, self.photo.key, *(["masked"] if self.masked else [])

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """(classes,) probabilities of the classes. Raises: ValueError, for a model that gives features."""
        return probabilities(self.logits, self.output)

    def top_classes(self, count: int = 5) -> list[tuple[str, float]]:
        """The likeliest classes with their probabilities; empty for a model without classes."""
        return top_classes(self.logits, self.labels, count, self.output)

    def head_maps(self, block: int, token: int | None = None) -> NDArray[np.float32]:
        """(H, rows, cols) attention of a token (default: where the answer is read) in a block.

        Raises: KeyError, for a block whose maps were not kept; IndexError, for a token that there is not.
        """
        if block not in self.maps:
            raise KeyError(f"the heads of block {block} were not kept: record(vit, image, maps=[{block}]) keeps them")
        _check_token(self.grid, token)
        weights = self.maps[block].astype(np.float32)  # (H, T, T)
        rows = np.einsum("t,htk->hk", self.pooling_weights, weights) if token is None else weights[:, token]
        return self.grid.to_map(rows)

    @property
    def steps(self) -> int:
        """Attention steps of a block: 1, of an axial one 2 (along rows, then along columns)."""
        fused = next(iter(self.fused.values()), None)
        return 1 if fused is None or not len(self.distance_px) else len(fused) // len(self.distance_px)

    def attention_per_layer(self, fusion: str = "mean") -> NDArray[np.float32]:
        """(L, T, T) fused attention of each block; an axial block's is the product of its steps: a patch's reach."""
        fused, steps = self.fused[fusion], self.steps
        if steps == 1:
            return fused
        return np.stack([last.astype(np.float32) @ first for first, last in zip(fused[::2], fused[1::2], strict=True)])

    def rollout(self, start: int | None = None, fusion: str = "mean", **settings: float) -> NDArray[np.float64]:
        """Rollout of a token (default: where the answer is read) on the grid, (rows, cols).

        Settings are those of `analysis.rollout.rollout`: discard_ratio, residual, first_block. Axial attention is followed
        through both of a block's steps, each with its residual.
        Raises: KeyError, for a fusion that was not recorded; IndexError, for a token that there is not; ModelError, where
        rollout is not defined.
        """
        if not len(self.distance_px):
            raise ModelError("{name} does not let all patches of one grid attend to all in every block, so rollout is not "
                             "defined for it.",
                             name=self.model)  # fmt: skip
        settings |= {"first_block": int(settings.get("first_block", 0)) * self.steps}
        return self.grid.to_map(rollout(self._of(fusion), self._begin(start), prefix=self.grid.prefix, **settings))  # type: ignore[arg-type]

    def rollout_per_layer(self, start: int | None = None, fusion: str = "mean", **settings: float) -> NDArray[np.float64]:
        """Rollout through the blocks up to each, (L, rows, cols); start, settings and errors as of `rollout`."""
        settings |= {"first_block": int(settings.get("first_block", 0)) * self.steps}
        layers = rollout_per_layer(self._of(fusion), self._begin(start), prefix=self.grid.prefix, **settings)  # type: ignore[arg-type]
        return self.grid.to_map(layers[self.steps - 1 :: self.steps])

    def _begin(self, start: int | None) -> int | NDArray[np.float32]:
        _check_token(self.grid, start)
        return self.pooling_weights if start is None else start

    def _of(self, fusion: str) -> NDArray[np.float32]:
        if fusion not in self.fused:
            raise KeyError(f"heads were not fused by {fusion!r}: record(vit, image, fusions=[{fusion!r}]) does")
        return self.fused[fusion]


def _check_token(grid: Grid, token: int | None) -> None:
    if token is not None and not 0 <= token < grid.tokens:
        raise IndexError(f"a token is from 0 to {grid.tokens - 1}, not {token}")


def recompute_heads(rec: Recording, block: int) -> NDArray[np.float16]:
    """Attention maps (H, T, T) of a block, recomputed from stored queries and keys without another forward pass.

    Raises: KeyError, where queries and keys were not kept.
    """
    if not rec.query_key:
        raise KeyError(block)
    heads, tokens = rec.query_key[block].queries.shape[:2]
    maps = torch.empty(heads, tokens, tokens, dtype=torch.float16)
    for place, p in enumerate(_weights_again(rec, block)):
        maps[place] = p
    return _shared(maps)


def recompute_fused_heads(rec: Recording, fusion: HeadFusion) -> NDArray[np.float16]:
    """Fused heads (L, T, T) of all blocks, recomputed from stored queries and keys without another forward pass.

    Raises: KeyError, where queries and keys were not kept.
    """
    if not rec.query_key:
        raise KeyError(fusion)
    fused = torch.empty(len(rec.query_key), rec.grid.tokens, rec.grid.tokens, dtype=torch.float16)
    for block, query_key in enumerate(rec.query_key):
        heads = _weights_again(rec, block)
        total = next(heads).clone()
        for p in heads:
            if fusion == "mean":
                total += p
            else:
                (torch.maximum if fusion == "max" else torch.minimum)(total, p, out=total)
        fused[block] = total / len(query_key.queries) if fusion == "mean" else total
    return _shared(fused)


def _weights_again(rec: Recording, block: int) -> Iterator[Tensor]:
    """The weights (T, T) of one head after another, in one buffer, computed as they were when they were read."""
    query_key = rec.query_key[block]
    p = torch.empty(1, rec.grid.tokens, rec.grid.tokens)
    for head in range(len(query_key.queries)):
        q, k = query_key.queries[head : head + 1], query_key.keys[head : head + 1].transpose(-2, -1)
        torch.baddbmm(p, q, k, beta=0, alpha=query_key.factor, out=p)
        yield torch.softmax(p, -1, out=p)[0]


def top_classes(logits: NDArray, labels: tuple[str, ...], count: int = 5, output: Output = "softmax") -> list[tuple[str, float]]:
    """(label, probability) of the likeliest classes."""
    if not labels:
        return []
    p = probabilities(logits, output)
    return [(labels[i], float(p[i])) for i in np.argsort(-p)[:count]]


def record(
    vit: Vit, image: Photo | Image.Image | str | Path | bytes | BinaryIO, *,
    maps: Collection[int] = (), fusions: Iterable[HeadFusion] = ("mean",), exact: bool = False,
    store: Literal["maps", "query_key"] = "maps",
) -> Recording:  # fmt: skip
    """Run the model once on one image and keep what the pictures need.

    `maps` names the blocks whose heads are kept whole; `fusions` the ways heads are fused. If `exact`, the
    model's own attention kernel computes its output and logits are bit-identical to a run that nobody watches;
    otherwise the weights are computed once and used for both, and linear layers are those that are faster on this CPU
    (`forward.onednn_linear`): quicker, with logits within float32's rounding. `store="query_key"` holds fused heads in half
    precision and, where they tell all, each block's queries and keys: L·T·2D numbers instead of L·H·T², from which
    `recompute_heads` and `recompute_fused_heads` make the rest.

    Raises: TypeError, for what is no Vit or no photo; ValueError, for blocks and fusions that there are not; PhotoError;
    ModelError.
    """
    if not isinstance(vit, Vit):
        raise TypeError(f"vit is what vitcore.load or vitcore.models.load_model.wrap_module gives, not {type(vit).__name__}")
    fusions = tuple(fusions)
    if strange := sorted({*fusions} - {*HEAD_FUSIONS}):
        raise ValueError(f"fusions are of {', '.join(HEAD_FUSIONS)}, not {', '.join(map(repr, strange))}")
    if vit.is_global and (outside := sorted(block for block in maps if not 0 <= block < vit.blocks)):
        raise ValueError(f"blocks are from 0 to {vit.blocks - 1}, not {', '.join(map(str, outside))}")
    photo = to_photo(image)
    crop = crop_for_model(photo.image, vit.transform, vit.grid)
    usual = vit.module if exact else with_onednn_linears(vit.module)
    if not vit.is_global:
        return _in_part(vit, usual, photo, crop, fusions)
    reader = AttentionReducer(vit, frozenset(maps), fusions, exact, store == "query_key")
    norms: list[Tensor] = []
    module = with_watched_blocks(usual, lambda _, left: norms.append(left[0].float().norm(dim=-1).flatten()))
    with torch.inference_mode(), AttentionCapture(reader):
        logits = module(to_model_input(vit, crop.pixels))
    reader.check()
    distance, renormalised, share = map(_shared, reader.distances())
    return Recording(
        vit.name, vit.grid, photo, crop, _shared(logits[0].float()), vit.labels, distance,
        renormalised, share, {k: _shared(v) for k, v in reader.fused.items()},
        {k: _shared(v) for k, v in reader.maps.items()}, _shared(torch.from_numpy(reader.pooling_weights())),
        reader.query_key if len(reader.query_key) == vit.blocks else (), vit.output, _shared(torch.stack(norms)),
    )  # fmt: skip


def _in_part(vit: Vit, module: nn.Module, photo: Photo, crop: Crop, fusions: tuple[HeadFusion, ...]) -> Recording:
    """What there is of a model whose attention is not over one grid: its answer, and no maps."""
    tokens = vit.grid.tokens
    with torch.inference_mode():
        logits = module(to_model_input(vit, crop.pixels))
    none = torch.zeros(0, 0)
    return Recording(
        vit.name, vit.grid, photo, crop, _shared(logits[0].float()), vit.labels, _shared(none), _shared(none.clone()),
        _shared(none.clone()),
        {name: _shared(torch.zeros(0, tokens, tokens)) for name in fusions}, {}, _shared(torch.zeros(tokens)),
        output=vit.output,
    )  # fmt: skip


def _shared(values: Tensor) -> NDArray:
    """A read-only array: visitors share recordings."""
    array = values.numpy()
    array.flags.writeable = False
    return array


def to_photo(image: Photo | Image.Image | str | Path | bytes | BinaryIO) -> Photo:
    """Whatever was given, as a Photo."""
    if isinstance(image, Photo):
        return image
    if isinstance(image, Image.Image):
        return photo_from_image(image)
    if not isinstance(image, str | Path | bytes) and not hasattr(image, "read"):
        raise TypeError(
            f"a photo is a path, bytes, a file or a PIL image (of an array: Image.fromarray), not {type(image).__name__}"
        )
    return open_photo(image)


def to_model_input(vit: Vit, pixels: NDArray[np.uint8]) -> Tensor:
    """Pixels (H, W, 3) as the normalised tensor (1, 3, H, W) the model takes."""
    x = torch.from_numpy(np.array(pixels)).permute(2, 0, 1).float().div_(255)
    mean, std = (torch.tensor(v).view(-1, 1, 1) for v in (vit.mean, vit.std))
    return ((x - mean) / std).unsqueeze(0)


@torch.inference_mode()
def patch_embeddings(vit: Vit, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Patch embeddings (N, D) before positions are added: x_p E of Eq. 1."""
    x, grid = to_model_input(vit, pixels), vit.patches or vit.grid
    embeds = getattr(vit.module, "embeds", None)
    if embeds is None:
        return vit.module.patch_embed(x).reshape(grid.patches, -1).float().numpy()
    projections: list[Tensor] = []  # NaFlexViT adds positions on the way: what its projection makes
    with_modules(embeds, proj=WatchedModule(embeds.proj, lambda _, made: projections.append(made)))(x)
    made = projections[0].flatten(2).transpose(1, 2) if projections[0].ndim == 4 else projections[0]
    return made.reshape(grid.patches, -1).float().numpy()


@torch.inference_mode()
def predict_without_positions(vit: Vit, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Logits for pixels when all patches are given one position, the mean of the learned ones."""
    return with_onednn_linears(with_mean_position(vit))(to_model_input(vit, pixels))[0].float().numpy()


@torch.inference_mode()
def predict(
    vit: Vit, pixels: NDArray[np.uint8], order: NDArray[np.int64] | None = None, move_positions: bool = False
) -> NDArray[np.float32]:
    """Logits for pixels; with `move_positions`, slot i is given position order[i], so positions follow their patches."""
    module = with_permuted_positions(vit, order) if move_positions and order is not None else vit.module
    return with_onednn_linears(module)(to_model_input(vit, pixels))[0].float().numpy()
