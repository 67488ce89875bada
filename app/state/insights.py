"""What pages ask of a recording beyond the recording itself, computed once and kept: attention as bytes, heads in words."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

from app.state import session
from app.state.memory import budget

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from vitcore.analysis.head_descriptions import HeadDescription
    from vitcore.analysis.outlier_tokens import OutlierTokens
    from vitcore.architectures.model_summary import Part, Table1
    from vitcore.forward.block_activations import BlockActivations, PatchProjection
    from vitcore.forward.recording import Recording
    from vitcore.forward.relevance import Relevance
    from vitcore.models.embeddings import ByOffset
    from vitcore.models.load_model import Vit

Settings = tuple[tuple[str, float | str], ...]  # of a method, by name


def looks(model: str, count: int) -> list[dict[str, Any]]:
    """What the first components of a model's filters look like: the fields of `analysis.filter_patterns.FilterPattern`."""
    return [_looks(model, place) for place in range(count)]


@budget.kept
def _looks(model: str, place: int) -> dict[str, Any]:
    """What one component looks like, by its place from 0: kept one by one, for whoever asks for more of them."""
    from dataclasses import asdict

    from vitcore.analysis.filter_patterns import describe_filter

    found = session.components(model)
    assert found is not None, "only asked for models that have filters"
    return asdict(describe_filter(found.vectors[place]))


# The attention explorer. Weights go to the browser as the byte codes of `vitcore.analysis.attention_as_bytes`.

MOST_BYTES = 800_000  # of attention at once; of more, the browser is given some queries only
THUMB = 16  # cells a side of a thumbnail, at most


def step_of(rec: Recording, heads: int) -> int:
    """Every how many rows and columns a patch's attention is sent, for `heads` heads at once: 1 for small models."""
    grid, most = rec.grid, max(rec.grid.rows, rec.grid.cols)
    if heads * grid.tokens**2 <= MOST_BYTES:
        return 1
    room = MOST_BYTES // (heads * grid.tokens) - grid.prefix - 2  # tokens that fit, beside those always sent
    return next((step for step in range(2, most) if len(_lattice(rec, step)) <= room), most)


def queries(rec: Recording, pinned: tuple[int, ...], heads: int) -> list[int] | None:
    """The tokens whose attention in `heads` heads is sent: None for all, else a lattice that fits, prefix and pinned."""
    step = step_of(rec, heads)
    return None if step == 1 else sorted({*range(rec.grid.prefix), *pinned, *_lattice(rec, step)})


def _lattice(rec: Recording, step: int) -> set[int]:
    grid = rec.grid
    rows, cols = range(step // 2, grid.rows, step), range(step // 2, grid.cols, step)
    return {grid.prefix + grid.patch(r, c) for r in rows for c in cols}


@budget.kept
def attention_bytes(rec: Recording) -> dict[int, bytes]:
    """Each block's attention, all heads × queries × keys, of a recording that kept all blocks and is small enough to send."""
    from vitcore.analysis.attention_as_bytes import encode_weights

    return {block: encode_weights(maps).tobytes() for block, maps in rec.maps.items()}


@budget.kept
def attention_of(rec: Recording, block: int, tokens: tuple[int, ...], column: bool) -> bytes:
    """Attention of some tokens (heads × those × all): what they attend to, or who attends to them."""
    from vitcore.analysis.attention_as_bytes import encode_weights

    maps, some = rec.maps[block], list(tokens)
    return encode_weights(maps[:, :, some].swapaxes(1, 2) if column else maps[:, some]).tobytes()


@budget.kept
def heads_in_words(rec: Recording, blocks: tuple[int, ...]) -> dict[int, list[HeadDescription]]:
    """Every head's numbers and words, by block."""
    from vitcore.analysis.head_descriptions import describe_heads

    tokens, px, left_px = outliers(rec).tokens, rec.distance_px, rec.distance_renormalised_px
    return {b: describe_heads(rec.maps[b], px[b], left_px[b], rec.grid, tokens) for b in blocks}


def atlas_shape(rec: Recording) -> tuple[int, int]:
    """Rows and columns of a thumbnail."""
    return min(rec.grid.rows, THUMB), min(rec.grid.cols, THUMB)


@budget.kept
def atlas(rec: Recording, token: int, column: bool) -> bytes:
    """Thumbnails of a token's attention, blocks × heads (or × their mean, where only some blocks were kept) × cells."""
    import numpy as np

    from vitcore.analysis.attention_as_bytes import encode_weights

    whole = len(rec.maps) == len(rec.distance_px)
    stacks = (rec.maps[b] for b in sorted(rec.maps)) if whole else (mean[None] for mean in rec.attention_per_layer())
    maps = rec.grid.to_map(np.stack([m[:, :, token] if column else m[:, token] for m in stacks]))
    return encode_weights(_smaller(maps, *atlas_shape(rec))).tobytes()


def _smaller(maps: NDArray, rows: int, cols: int) -> NDArray:
    """(…, h, w) maps as the means of rows × cols areas."""
    import numpy as np

    if maps.shape[-2:] == (rows, cols):
        return maps
    for axis, count in ((-2, rows), (-1, cols)):
        edges = np.arange(count) * maps.shape[axis] // count
        sizes = np.diff([*edges, maps.shape[axis]])
        shape = (-1, 1) if axis == -2 else (-1,)
        maps = np.add.reduceat(maps.astype(np.float32), edges, axis) / sizes.reshape(shape)
    return maps


@budget.kept
def rollout_bytes(rec: Recording, tokens: tuple[int, ...] | None, column: bool) -> bytes:
    """Rollout (mean heads, residual 0.5) of all tokens, tokens × tokens; or that of some, from or to them."""
    import numpy as np

    from vitcore.analysis.attention_as_bytes import encode_weights
    from vitcore.analysis.rollout import rollout_matrix, transition_matrix

    fused, prefix = rec.fused["mean"], rec.grid.prefix
    if tokens is None:
        return encode_weights(rollout_matrix(fused, prefix=prefix)).tobytes()
    some = np.eye(rec.grid.tokens)[list(tokens)]  # a few vectors through all blocks cost less than all matrices
    for matrix in fused if column else fused[::-1]:
        step = transition_matrix(matrix, prefix)
        some = some @ (step.T if column else step)
    return encode_weights(some).tobytes()


# The rollout lab.


@budget.kept
def relevance(rec: Recording, method: str, target: int, settings: Settings, _vit: Vit) -> Relevance:
    """A method's map of what spoke for a class, (rows, cols); read-only."""
    from app.state.models import shape
    from vitcore.forward.relevance import relevance as compute

    with budget.STORE.room(shape(_vit).gradient_bytes):
        results = compute(_vit, rec.model_input.pixels, method, target, **dict(settings))
    results.maps.flags.writeable = False
    return results


@budget.kept
def rollout(rec: Recording, query: int | None, settings: Settings, _vit: Vit) -> NDArray[np.float64]:
    """What a patch gathered, or where the answer is read, (rows, cols); read-only."""
    read, how = _read(_vit, rec, settings)
    mask = read.rollout(None if query is None else rec.grid.prefix + query, **how)
    mask.flags.writeable = False
    return mask


@budget.kept
def built_up(rec: Recording, query: int | None, settings: Settings, _vit: Vit) -> tuple[NDArray[np.float64], str]:
    """The same after each block, (L, rows, cols), read-only; and as frames on one scale, one below another, a data address."""
    from vitcore.figures.heat_overlay import cells
    from vitcore.figures.relevance import build_up_top
    from vitcore.figures.theme import data_uri

    grid, (read, how) = rec.grid, _read(_vit, rec, settings)
    maps = read.rollout_per_layer(None if query is None else grid.prefix + query, **how)
    maps.flags.writeable = False
    return maps, data_uri(cells(maps, build_up_top(maps)).reshape(-1, grid.cols, 3))


def _read(vit: Vit, rec: Recording, settings: Settings) -> tuple[Recording, dict[str, Any]]:
    """The recording that a rollout with these settings reads, and the settings that are left."""
    how = dict[str, Any](settings)
    rec = session.fused(vit, rec, how["fusion"])
    return (masked(vit, rec) if how.pop("mask_outliers", False) else rec), how


@budget.kept
def overlay(rec: Recording, of: Hashable, signed: bool, _values: NDArray, _top: float) -> str:
    """A map in colours up to its top, to be laid on the photo, as a data address; `of` says which map it is."""
    from vitcore.figures.heat_overlay import cells
    from vitcore.figures.theme import data_uri

    return data_uri(cells(_values, _top, signed))


@budget.kept
def detail(rec: Recording) -> bytes:
    """The photo's fine detail, to be added to a map's colours, as a JPEG file."""
    from vitcore.figures.heat_overlay import fine_detail
    from vitcore.figures.theme import encoded

    return encoded(fine_detail(session.shown(rec)[0], rec.grid), photo=True)[0]


# Outlier tokens. What is made of a recording in which they are masked is kept under a key of its own.


@budget.kept
def outliers(rec: Recording) -> OutlierTokens:
    """The outlier tokens of a photo."""
    from vitcore.forward.mask_outliers import outliers_in_recording

    return outliers_in_recording(rec)


@budget.kept
def attention_on_outliers(rec: Recording) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Share (L,) of the attention, mean of heads, that goes to outlier tokens: of all patches, and of where the answer is read."""
    import numpy as np

    from vitcore.analysis.outlier_tokens import share_on_tokens

    tokens, fused = outliers(rec).tokens, rec.attention_per_layer()
    patches = (np.arange(len(tokens)) >= rec.grid.prefix) / rec.grid.patches
    return share_on_tokens(fused, tokens, patches), share_on_tokens(fused, tokens, rec.pooling_weights)


@budget.kept
def norm_frames(rec: Recording) -> str:
    """The norms after each block as frames on one scale, one below another, a data address."""
    from vitcore.figures.charts.token_norms import norm_frames as frames
    from vitcore.figures.theme import data_uri

    strip = frames(outliers(rec), rec.grid)
    return data_uri(strip.reshape(-1, *strip.shape[2:]))


def masked(vit: Vit, rec: Recording) -> Recording:
    """The recording with its outlier tokens masked as keys. Heads that it has not kept or fused can't be made of it any more."""
    return _masked(rec, tuple(rec.maps), tuple(rec.fused))


@budget.kept
def _masked(rec: Recording, blocks: tuple[int, ...], fusions: tuple[str, ...]) -> Recording:
    from vitcore.forward.mask_outliers import mask_outlier_tokens

    return mask_outlier_tokens(rec)


# What a model is made of.


@budget.kept
def anatomy(model: str, _vit: Vit) -> tuple[Table1, tuple[Part, ...]]:
    """The row of the paper's Table 1 it would have, and its parts in the order they run."""
    from vitcore.architectures.model_summary import parts, table1

    px = _vit.grid.image_px
    return table1(_vit.module, px), parts(_vit.module, px)


# Positions that are no table: what depends on the offset alone.


@budget.kept
def by_offset(model: str, block: int, _vit: Vit) -> ByOffset | None:
    """A block's relative position bias or the kernel of its rotations, from the middle patch, (H, N); None for neither."""
    from vitcore.models import load_model

    return load_model.by_offset(_vit, block)


# The story: what the head would say at every depth, and the numbers of one token on its way.


@budget.kept
def answers_by_depth(rec: Recording, _vit: Vit) -> NDArray[np.float64] | None:
    """Probabilities (L + 1, classes) of the logit lens; None for a model without a head."""
    from vitcore.forward.logit_lens import logit_lens
    from vitcore.probabilities import probabilities

    return probabilities(logit_lens(_vit, rec.model_input.pixels), _vit.output) if _vit.labels else None


@budget.kept
def token_in_block(rec: Recording, block: int, token: int, _vit: Vit) -> BlockActivations | None:
    """What a block does to a token; None where its blocks are not those of Eq. 2–3."""
    from vitcore.forward.block_activations import trace_token
    from vitcore.models.model_cards import ModelError

    try:
        return trace_token(_vit, rec.model_input.pixels, block, token)
    except ModelError:
        return None


@budget.kept
def projected(rec: Recording, patch: int, _vit: Vit) -> PatchProjection | None:
    """How a patch became its embedding; None where patches are not read by one matrix."""
    from vitcore.forward.block_activations import project_patch

    return project_patch(_vit, rec.model_input.pixels, patch)


@budget.kept
def lit_by_depth(rec: Recording) -> list[tuple[str, list[int]]]:
    """For each block, the photo lit by the attention (mean of the heads) of where the answer is read, a data address; and the
    outlier tokens (patches) that hold much of it, which are framed there."""
    import numpy as np

    from vitcore.analysis.outlier_tokens import outliers_in_map
    from vitcore.figures.outlier_frames import on_pixels
    from vitcore.figures.story_steps import lit
    from vitcore.figures.theme import data_uri

    maps = np.stack([rec.grid.to_map(rec.pooling_weights @ fused) for fused in rec.attention_per_layer()])
    marks = [outliers_in_map(one, outliers(rec).patches).tolist() for one in maps]
    drawn = (
        on_pixels(one, some, rec.grid)
        for one, some in zip(lit(session.shown(rec)[0], maps, rec.grid), marks, strict=True)
    )
    return [(data_uri(one, photo=True), some) for one, some in zip(drawn, marks, strict=True)]
