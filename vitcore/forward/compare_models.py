"""Two models beside each other, on one photo or on one photo each: each runs once, and both are asked on one grid.

    a, b = record_tokens(vit_a, photo), record_tokens(vit_b, photo)
    comparison = compare(a, b)

A `TokenRecording` is a recording and the tokens of the patches as they leave each block, from the same forward pass.
Shapes: L blocks, N patches, D width.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vitcore.analysis.model_similarity import (
    MAX_POSITIONS,
    CommonGrid,
    PredictionAgreement,
    common_grid,
    linear_cka_matrix,
    prediction_agreement,
)
from vitcore.analysis.outlier_tokens import outliers_in_map
from vitcore.analysis.relevance import absolute_shares, difference_points, rank_correlation
from vitcore.forward.block_attention import read_only_array
from vitcore.forward.layer_indices import layer_index
from vitcore.forward.mask_outliers import mask_outlier_tokens, outliers_in_recording
from vitcore.forward.onednn_linear import with_faster_modules
from vitcore.forward.recording import Recording, record, to_model_input
from vitcore.images import Photo
from vitcore.models.model_cards import ModelError
from vitcore.models.vit import Vit
from vitcore.module_swaps import with_block_hooks
from vitcore.translation import say


@dataclass(frozen=True, eq=False)
class TokenRecording:
    """What one forward pass of one model leaves for comparing it: `rec`, its recording, and `tokens` (L, N, D) of its patches."""

    rec: Recording
    tokens: NDArray[np.float32]  #: (L, N, D): as each block hands on its patches

    def __repr__(self) -> str:
        layers, patches, width = self.tokens.shape
        return f"<TokenRecording of {self.rec.photo.name} by {self.rec.model}: {layers} layers, {patches} patches, width {width}>"


@dataclass(frozen=True, eq=False, kw_only=True)
class MapPair:
    """Two maps (rows, cols) on one grid, what a patch there has of all tokens' total; their difference in percentage points,
    each as shares of its own total on that grid; and how alike they rank the places (Spearman's)."""

    both: tuple[NDArray[np.float64], NDArray[np.float64]]
    even_shares: tuple[float, float]  #: 1 / T of each model
    difference: NDArray[np.float64]
    rank_correlation: float

    @property
    def times_even(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Both in times an even share of all tokens of their model: what they share a colour scale in."""
        return self.both[0] / self.even_shares[0], self.both[1] / self.even_shares[1]

    @property
    def stacked(self) -> NDArray[np.float64]:
        """The same as one array (2, rows, cols)."""
        return np.stack(self.times_even)


@dataclass(frozen=True, eq=False, kw_only=True)
class Comparison(MapPair):
    """Two models, and the pair of their rollouts, on `grid`: `both`, `even_shares`, `difference` and `rank_correlation` are
    of the rollouts; `recordings` are what was compared. On two photos a place shows two things: what compares place by place
    (`difference`, `rank_correlation`, `cka`) is NaN."""

    recordings: tuple[TokenRecording, TokenRecording]
    grid: CommonGrid  #: of rollouts
    cka: NDArray[np.float64]  #: (L, L'): of the blocks' tokens
    cka_grid: CommonGrid  #: on which tokens were compared
    answers: PredictionAgreement | None  #: None where they don't tell the same classes apart
    masked: bool = False  #: whether outlier tokens were masked in what rollouts are made of

    def __repr__(self) -> str:
        first, second = (one.rec.model for one in self.recordings)
        alike = f"rank correlation of rollouts {self.rank_correlation:.2f}" if self.of_one_photo else "on two photos"
        return f"<Comparison of {first} and {second}: {alike}>"

    @property
    def of_one_photo(self) -> bool:
        """Whether both models looked at the same photo."""
        one, two = self.recordings
        return one.rec.photo.digest == two.rec.photo.digest

    @property
    def photo_count(self) -> int:
        """1 where both models looked at the same photo, else 2."""
        return 1 if self.of_one_photo else 2

    def seen_box(self, which: int) -> tuple[float, float, float, float]:
        """What model 0 or 1 sees of its photo, or both of one photo, in its pixels: (left, top, right, bottom)."""
        return self.grid.box if self.of_one_photo else self.recordings[which].rec.model_input.box

    def map_pair(self, first: NDArray, second: NDArray) -> MapPair:
        """A map of each model, each on the grid of its patches, on the grid of rollouts."""
        return maps_on_common_grid(self.grid, first, second, self.even_shares, self.of_one_photo)

    @property
    def key(self) -> tuple[str, ...]:
        """What tells it from others: both recordings, and whether outlier tokens are masked in what rollouts are made of."""
        return *self.recordings[0].rec.key, *self.recordings[1].rec.key, *(["masked"] if self.masked else [])

    @property
    def rollouts(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Both (rows, cols) on `grid`, as shares of 1 over what both models see."""
        return absolute_shares(self.both[0]), absolute_shares(self.both[1])

    @property
    def mean_cka(self) -> float:
        """The mean of `cka_per_layer`, of what is defined of it; NaN where nothing is."""
        values = [value for *_, value in self.cka_per_layer if value == value]
        return float(np.mean(values)) if values else float("nan")

    @property
    def cka_per_layer(self) -> list[tuple[int, int, float]]:
        """(block, block, CKA): every block of the model that has more beside the other's at the same depth, last with last."""
        few, many = sorted(self.cka.shape)
        paired = [(i, layer_at_same_depth(i, many, few)) for i in range(many)]
        pairs = paired if self.cka.shape[0] == many else [(j, i) for i, j in paired]
        return [(i, j, float(self.cka[i, j])) for i, j in pairs]


def layer_at_same_depth(block: int, block_count: int, other_block_count: int) -> int:
    """The block of a model with `other_block_count` blocks that is as deep as this one among `block_count`: last beside last."""
    return (2 * block + 1) * other_block_count // (2 * block_count)


def maps_on_common_grid(
    grid: CommonGrid, first: NDArray, second: NDArray, even_shares: tuple[float, float], of_one_photo: bool = True
) -> MapPair:
    """A map of each model, each on the grid of its patches, on one grid; `even_shares` are 1 / T of each."""
    a, b = (grid.cells(i, values) for i, values in enumerate((first, second)))
    apart, alike = (difference_points(a, b), rank_correlation(a, b)) if of_one_photo else (np.full_like(a, np.nan), float("nan"))
    return MapPair(both=(a, b), even_shares=even_shares, difference=apart, rank_correlation=alike)


def attention_map(rec: Recording, block: int, head: int | None = None, token: int | None = None) -> NDArray:
    """(rows, cols) attention of a token (default: where the answer is read) in a block: of one head, or the heads' mean.

    Raises: KeyError, for a head of a block whose maps were not kept.
    """
    if head is not None:
        return rec.head_maps(block, token)[head]
    weights = rec.attention_per_layer()[layer_index(block, len(rec.distance_px), "blocks")].astype(np.float32)
    return rec.grid.to_map(rec.pooling_weights @ weights if token is None else weights[token])


def outliers_in_common_map(comparison: Comparison, which: int, values: NDArray) -> tuple[list[int], list[int]]:
    """Of a map (rows, cols) of model 0 or 1 on the common grid: the cells in which its outlier tokens hold much, and those patches.

    A cell is a token's where it has a part of its patch.
    """
    rec, grid = comparison.recordings[which].rec, comparison.grid
    patches = outliers_in_recording(rec).patches
    areas = [grid.cells(which, np.eye(1, rec.grid.patches, patch).reshape(rec.grid.rows, rec.grid.cols)) for patch in patches]
    own = [np.flatnonzero(area.ravel() > 1e-6) for area in areas]
    cells = outliers_in_map(values, np.unique(np.concatenate(own)) if own else [])
    return cells.tolist(), [int(patch) for patch, mine in zip(patches, own, strict=True) if np.isin(mine, cells).any()]


def record_tokens(vit: Vit, image: Any, **settings: Any) -> TokenRecording:
    """Record an image, and keep its patches' tokens as they leave each block; settings are those of `record`.

    Raises: ModelError, as `record` does.
    """
    if not vit.is_global:
        raise ModelError(vit.why_undefined(say("a comparison of blocks")))
    states: list[Tensor] = []
    rec = record(replace(vit, module=_keeping_tokens(vit.module, states)), image, **settings)
    return TokenRecording(rec, _stack_patches(states, vit.grid.prefix))


@torch.inference_mode()
def tokens_of_recording(vit: Vit, rec: Recording) -> TokenRecording:
    """The patches' tokens for a recording that is there already: one more pass, without attention."""
    if not vit.is_global:
        raise ModelError(vit.why_undefined(say("a comparison of blocks")))
    states: list[Tensor] = []
    module = with_faster_modules(vit.module, inplace_gelu=True)
    _keeping_tokens(module, states)(to_model_input(vit, rec.model_input.numbers))
    return TokenRecording(rec, _stack_patches(states, vit.grid.prefix))


def _keeping_tokens(module: Any, states: list[Tensor]) -> Any:
    """A copy of a model that leaves its tokens in `states` as they leave each block."""
    return with_block_hooks(module, lambda block, inputs, output: states.append(output))


def _stack_patches(states: list[Tensor], prefix: int) -> NDArray[np.float32]:
    """(L, N, D) of the patches, from what each block left (1, prefix + N, D)."""
    return read_only_array(torch.stack([one[0, prefix:] for one in states]).float())


def compare(
    a: TokenRecording, b: TokenRecording, fusion: str = "mean", mask_outliers: bool = False, **settings: float
) -> Comparison:
    """Compare two models; `fusion` and settings are those of `Recording.rollout`, of masked attention where asked.

    Where their grids, or the parts of the photo that they see, differ, both are averaged over the cells of a common grid,
    and `Comparison.grid.resampled` says so; tokens are compared at no more than MAX_POSITIONS positions. On two photos, a cell
    is the same place of both inputs.
    Raises: TypeError, for what `record_tokens` did not give; ValueError, where no part of one photo is seen by both; KeyError,
    for a fusion that was not recorded.
    """
    for given in (a, b):
        if not isinstance(given, TokenRecording):
            raise TypeError(f"compare takes two of what record_tokens(vit, photo) gives, not {type(given).__name__}")
    recs = a.rec, b.rec
    of_one_photo = recs[0].photo.digest == recs[1].photo.digest
    grids, boxes = (recs[0].grid, recs[1].grid), (recs[0].model_input.box, recs[1 if of_one_photo else 0].model_input.box)
    grid, coarse = common_grid(grids, boxes), common_grid(grids, boxes, MAX_POSITIONS)
    read = [mask_outlier_tokens(rec) if mask_outliers else rec for rec in recs]
    one, two = (rec.rollout(None, fusion, **settings) for rec in read)
    maps = maps_on_common_grid(grid, one, two, (recs[0].grid.even_share, recs[1].grid.even_share), of_one_photo)
    cka = np.full((len(a.tokens), len(b.tokens)), np.nan)
    if of_one_photo:
        cka = linear_cka_matrix(coarse.tokens(0, a.tokens), coarse.tokens(1, b.tokens), _product)
    labels, outputs = (recs[0].labels, recs[1].labels), (recs[0].output, recs[1].output)
    answers = prediction_agreement(recs[0].logits, recs[1].logits, labels, outputs)
    return Comparison(**vars(maps), recordings=(a, b), grid=grid, answers=answers, masked=mask_outliers, cka=cka, cka_grid=coarse)


def _product(a: NDArray, b: NDArray) -> NDArray:
    """By torch: NumPy's threads spin while they wait for each other, which cost ten times what such small products do."""
    return (torch.from_numpy(a) @ torch.from_numpy(b)).numpy()


def common_photo(comparison: Comparison, side_px: int = 768, which: int = 0) -> NDArray[np.uint8]:
    """What model 0 or 1 sees of its photo, or both of one photo: (height, width, 3), its longer side at `side_px`."""
    from PIL import Image

    rec = comparison.recordings[which].rec
    photo: Photo = rec.photo
    left, top, right, bottom = box = comparison.seen_box(which)
    scale = side_px / max(right - left, bottom - top)
    size = max(1, round((right - left) * scale)), max(1, round((bottom - top) * scale))
    return np.asarray(photo.image.resize(size, Image.Resampling.BICUBIC, box=box))
