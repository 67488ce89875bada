"""What the patch tokens of two photos hold, cached as the bytes that the page Tokens sends: unit tokens, components, matches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.state.memory import memory_cache
from app.state.models import loaded_models
from app.state.recordings import cached_outliers
from vitcore.assets import asset_path
from vitcore.figures.theme_colours import CATEGORICAL, SEQUENTIAL, colour_table, hex_to_rgb
from vitcore.figures.theme_colours import PHOTO_SHARE as PHOTO_SHARE
from vitcore.models.model_cards import DEFAULT_MODEL, ModelError
from vitcore.tokens.marked_points import MarkedPointAccuracy, read_matched_csv

if TYPE_CHECKING:
    from vitcore.forward.recording import Recording
    from vitcore.models.load_model import Vit
    from vitcore.tokens.patch_tokens import PatchTokens
    from vitcore.tokens.pca import TokenPca
    from vitcore.tokens.segment_iou import SegmentIou
    from vitcore.tokens.words_and_photos import TextTower, WordMatch

KINDS = ("residual", "keys", "queries", "values", "mlp_out")
METHODS = ("kmeans", "normalised_cut")
MOST_SEGMENTS = 8  # that have a colour of their own
LEFT_OUT, DIMMED = 40, 0.2  # a grey, and a share of brightness: as in the browser


class ComponentBytes(NamedTuple):
    """Of every layer and both photos: colours L × 2 × N × 3, the first component L × 2 × N (float32), shares of the variance."""

    colours: bytes
    first: bytes
    shares: list[float]
    outlier_shares: list[float]  # of all variance, what the photos' outlier tokens hold where they are not left out


class TokenView(NamedTuple):
    """What patches are coloured by: tokens of a kind, and the picture's settings."""

    kind: str
    mask: bool  # outlier tokens are left out
    whiten: bool
    view: str  # "colours", "foreground" or "segments"
    threshold: float
    method: str
    segments: int
    patch: int | None = None  # of the first photo, whose similarity to all others is shown in place of the view

    @property
    def is_foreground_cut(self) -> bool:
        """Whether segments are one object and the rest."""
        return self.method == METHODS[1]

    @property
    def title(self) -> str:
        if self.patch is not None:
            return "similarity"
        return "cut" if self.is_foreground_cut and self.view == "segments" else self.view


@memory_cache.cached
def _tokens_of_photo(rec: Recording, kind: str) -> PatchTokens:
    """The patch tokens of a photo at every layer. Raises: ModelError, where this model's blocks have none of this kind."""
    from vitcore.tokens.patch_tokens import patch_tokens

    vit = loaded_models.loaded_model(rec.model)
    return patch_tokens(vit, rec.model_input, kind)


def _tokens_of_both(rec: Recording, other: Recording, kind: str, mask: bool) -> PatchTokens:
    """The same of two photos, with the outlier tokens of each left out where they are to be masked."""
    one, two = _tokens_of_photo(rec, kind), _tokens_of_photo(other, kind)
    out = one.left_out | False, two.left_out | False
    for made, source in zip(out, (rec, other), strict=True):
        if mask:
            made[0, cached_outliers.find_outlier_tokens(source).patches] = True
    return replace(one, values=np.concatenate([one.values, two.values], 1), left_out=np.concatenate(out))


@memory_cache.cached
def unit_token_bytes(rec: Recording, kind: str) -> list[bytes]:
    """Tokens of each layer, N × D signed bytes, each on the scale of its own largest entry: their directions are what counts."""
    made = []
    for layer in _tokens_of_photo(rec, kind).values[:, 0]:
        largest = np.maximum(np.abs(layer).max(-1, keepdims=True), 1e-30)
        made.append(np.round(127 * layer / largest).astype(np.int8).tobytes())
    return made


@memory_cache.cached
def component_bytes(rec: Recording, other: Recording, kind: str, mask: bool, whiten: bool) -> ComponentBytes:
    """The first three principal components of both photos together, layer by layer; signs follow the layer before."""
    tokens = _tokens_of_both(rec, other, kind, mask)
    found = list(_components(tokens, whiten))
    return ComponentBytes(
        np.stack([one.colours() for one in found]).tobytes(),
        np.stack([one.first_component() for one in found]).astype(np.float32).tobytes(),
        [float(one.share.sum()) for one in found],
        [] if mask else _outlier_shares(tokens, (rec, other)),
    )


def components_of_layer(
    rec: Recording, other: Recording, kind: str, mask: bool, whiten: bool, layer: int
) -> tuple[NDArray[np.uint8], NDArray[np.float32], float]:
    """Of one layer: colours (2, N, 3), the first component (2, N), and the share of the variance that is shown."""
    made = component_bytes(rec, other, kind, mask, whiten)
    first = np.frombuffer(made.first, np.float32).reshape(len(made.shares), 2, -1)
    return np.frombuffer(made.colours, np.uint8).reshape(*first.shape, 3)[layer], first[layer], made.shares[layer]


def _outlier_shares(tokens: PatchTokens, both: tuple[Recording, Recording]) -> list[float]:
    high = np.concatenate([cached_outliers.find_outlier_tokens(one).high.any(0) for one in both])
    each = tokens.values.reshape(len(tokens.layers), len(high), -1).astype(np.float64)
    squares = ((each - each.mean(1, keepdims=True)) ** 2).sum(-1)
    return [float(one[high].sum() / max(one.sum(), 1e-30)) for one in squares]


def _components(tokens: PatchTokens, whiten: bool) -> Iterator[TokenPca]:
    from vitcore.tokens.pca import pca

    before = None
    for layer in tokens.layers:
        before = pca(tokens, layer, whiten=whiten, like=before)
        yield before


@memory_cache.cached
def match_bytes(rec: Recording, other: Recording, kind: str, mask: bool) -> bytes:
    """Matches of each photo's patches in the other, at every layer: 2 × L × 5 × N in float32, which are the best match, its
    cosine, the runner-up (−1: none), its cosine, and whether the patch is its best match's best match."""
    from vitcore.tokens.similarity import correspondences

    tokens = _tokens_of_both(rec, other, kind, mask)
    found = [[correspondences(tokens, *pair, layer) for layer in tokens.layers] for pair in ((0, 1), (1, 0))]
    rows = [
        [(one.best, one.cosine, one.runner_up, one.runner_up_cosine, one.cycle_consistent) for one in way] for way in found
    ]  # fmt: skip
    return np.array(rows, np.float32).tobytes()


def segment_bytes(rec: Recording, other: Recording, token_view: TokenView) -> bytes:
    """Segments of both photos at every layer, L × 2 × N signed bytes; −1 for patches that are left out."""
    return _segment_bytes(
        rec, other, token_view.kind, token_view.mask, token_view.method, 0 if token_view.is_foreground_cut else token_view.segments
    )


@memory_cache.cached
def _segment_bytes(rec: Recording, other: Recording, kind: str, mask: bool, method: str, count: int) -> bytes:
    from vitcore.tokens.segments import segments

    tokens = _tokens_of_both(rec, other, kind, mask)
    return np.stack([segments(tokens, layer, method, count=count) for layer in tokens.layers]).astype(np.int8).tobytes()


def shown_colours(rec: Recording, other: Recording, token_view: TokenView, layer: int) -> NDArray[np.uint8]:
    """Colours (2, N, 3) of the patches of both photos as the page shows them.

    Where an object is told from the rest, patches have their own mean colour, the rest's is dark.
    """
    if token_view.patch is not None:
        return _similarity_colours(rec, other, token_view.kind, token_view.mask, token_view.patch, layer)
    if token_view.view == "colours":
        return components_of_layer(rec, other, token_view.kind, token_view.mask, token_view.whiten, layer)[0]
    if token_view.view == "foreground":
        first = components_of_layer(rec, other, token_view.kind, token_view.mask, token_view.whiten, layer)[1]
        return _object_colours(rec, other, token_view, first > token_view.threshold)
    labels = np.frombuffer(segment_bytes(rec, other, token_view), np.int8).reshape(-1, 2, rec.grid.patches)[layer]
    if token_view.is_foreground_cut:
        return _object_colours(rec, other, token_view, labels == 1)
    return np.where(labels[..., None] < 0, np.uint8(LEFT_OUT), np.array(segment_rgb_colours(), np.uint8)[labels])


@memory_cache.cached
def cosines_and_ends(
    rec: Recording, other: Recording, kind: str, mask: bool, patch: int, layer: int
) -> tuple[NDArray[np.float32], list[tuple[float, float]]]:
    """Cosines (2, N) of both photos' patches with the one asked about, and of each photo the ends of its scale, as in the browser:
    the median, below which all is dark, and the largest; patches that are left out set neither."""
    from vitcore.tokens.similarity import cosine_similarity

    tokens = _tokens_of_both(rec, other, kind, mask)
    alike = cosine_similarity(replace(tokens, values=tokens.values[layer : layer + 1]), patch)[0]
    kept = [np.sort(one[~out]) for one, out in zip(alike, tokens.left_out, strict=True)]
    return alike, [(float(one[len(one) // 2]), float(one[-1])) if len(one) else (0.0, 1.0) for one in kept]


def _similarity_colours(rec: Recording, other: Recording, kind: str, mask: bool, patch: int, layer: int) -> NDArray[np.uint8]:
    alike, ends = cosines_and_ends(rec, other, kind, mask, patch, layer)
    shares = np.stack([(one - low) / max(high - low, 1e-12) for one, (low, high) in zip(alike, ends, strict=True)])
    for one, source in zip(shares, (rec, other), strict=True):
        one[left_out_patches(source, mask)] = 0
    return colour_table(SEQUENTIAL)[np.round(255 * shares.clip(0, 1)).astype(int)]


def _object_colours(rec: Recording, other: Recording, token_view: TokenView, is_object: NDArray[np.bool_]) -> NDArray[np.uint8]:
    found = []
    for one, inside in zip((rec, other), is_object, strict=True):
        inside = inside.copy()
        inside[left_out_patches(one, token_view.mask)] = False
        means = one.grid.cut(one.model_input.pixels).mean((1, 2))
        found.append(np.where(inside[:, None], means, DIMMED * means))
    return np.round(found).astype(np.uint8)


def marked_point_accuracy(kind: str, layer: int, model: Vit) -> MarkedPointAccuracy | None:
    """How often best matches of this kind find a marked point, of those photos that ship; None of another model."""
    if model.name != DEFAULT_MODEL:
        return None
    return next((one for one in _shipped_matches() if (one.kind, one.layer) == (kind, layer)), None)


@lru_cache(maxsize=1)
def _shipped_matches() -> list[MarkedPointAccuracy]:
    return read_matched_csv((asset_path("matches") / "matched.csv").read_text(encoding="utf-8"))


def segment_ious_by_name(model: Vit) -> dict[str, SegmentIou]:
    """How well segments and thresholds of maps fit outlines, where that of this model ships; else none."""
    return {one.name: one for one in _shipped_segment_ious() if one.model == model.name}


@lru_cache(maxsize=1)
def _shipped_segment_ious() -> list[SegmentIou]:
    from vitcore.tokens.segment_iou import read_segment_iou_csv

    return read_segment_iou_csv((asset_path("maps") / "segments.csv").read_text(encoding="utf-8"))


def learned_from_texts(vit: Vit) -> bool:
    """Whether words can be compared with what this model sees, once its text tower is here."""
    from vitcore.tokens import words_and_photos

    return not vit.labels and words_and_photos.learned_from_texts(vit)


@memory_cache.cached
def _text_tower(model: str, _vit: Vit) -> TextTower:
    from vitcore.tokens.words_and_photos import load_text_tower

    return load_text_tower(_vit)


@memory_cache.cached
def word_match(rec: Recording, words: tuple[str, ...], _vit: Vit) -> WordMatch:
    """How alike a photo and its patches are to some words. Raises: ModelError, also where the text tower can't be had."""
    from vitcore.tokens.words_and_photos import match_words

    with memory_cache.CACHE.reserve(2 * loaded_models.model_size(_vit).pass_bytes):
        return match_words(_vit, _text_tower(_vit.name, _vit), rec.photo, words)


def word_match_above_mean(patches: NDArray[np.float32]) -> NDArray[np.float32]:
    """(rows, cols): cosines of patches with a word, less their mean: which patches are more like it than others."""
    return patches - patches.mean()


def left_out_patches(rec: Recording, mask: bool) -> list[int]:
    return cached_outliers.find_outlier_tokens(rec).patches.tolist() if mask else []


def why_no_tokens(rec: Recording, kind: str) -> str:
    """Why there are no tokens of a kind in this model, in one sentence; empty where there are."""
    try:
        _tokens_of_photo(rec, kind)
    except ModelError as error:
        return str(error)
    return ""


def segment_rgb_colours() -> list[list[int]]:
    """The colours of segments, as on a photo: red, green and blue, of 255."""
    return [list(hex_to_rgb(colour)) for colour in CATEGORICAL[:MOST_SEGMENTS]]
