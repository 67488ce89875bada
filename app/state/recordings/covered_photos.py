"""A photo without some of its patches, computed once and kept: answers, maps, what shows instead; sets of patches as text."""

from __future__ import annotations

import base64
import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import vitcore
from app.state.memory import memory_cache
from app.state.models import loaded_models
from app.state.recordings import cached_outliers, relevance_maps
from app.texts import Prose
from vitcore.analysis.outlier_tokens import outliers_in_map
from vitcore.figures.heat_overlay import heat_colour_scale, scale_top
from vitcore.figures.theme_colours import encode_png_or_jpeg
from vitcore.grid import Grid
from vitcore.models.vit import Vit
from vitcore.probabilities import probabilities
from vitcore.translation import decimal, percents, translated_labels

CODE = re.compile("([1-9][0-9]{0,2})x([1-9][0-9]{0,2})-([A-Za-z0-9_-]{1,4000})")  # rows × columns, and a bit a patch as base64url
CLASS_ATTENTION = "class_attention"
SHOWN_CLASSES = 2  # of the likeliest before, and after
CHANCE_ORDERS = 10


class ChangedPass(NamedTuple):
    """What an intervention leaves: the answer, two maps (rows, cols), and the pass's outlier tokens, by patch."""

    logits: NDArray[np.float32]
    rollout: NDArray[np.float64]
    class_attention: NDArray[np.float64]
    outliers: list[int]


class AnswerRow(NamedTuple):
    """A class, and its probability before and after."""

    label: str
    before: float
    after: float


class CoveringEffect(NamedTuple):
    """The likeliest class, its probability, and that without some patches; then the likeliest class is `label_after`."""

    label: str
    before: float
    after: float
    label_after: str


def encode_patches(patches: NDArray[np.bool_], grid: Grid) -> str:
    """A set of patches (N,) as text for an address; empty for none."""
    if not patches.any():
        return ""
    return f"{grid.rows}x{grid.cols}-{base64.urlsafe_b64encode(np.packbits(patches).tobytes()).decode().rstrip('=')}"


def decode_patches(code: str, grid: Grid) -> NDArray[np.bool_]:
    """The set (N,) that a text means; of another grid, those patches whose middle lies in one of its; none for nonsense."""
    found = CODE.fullmatch(code)
    rows, cols = (int(found[1]), int(found[2])) if found else (0, 0)
    bits = np.frombuffer(_bytes(found[3]), np.uint8) if found else np.empty(0, np.uint8)
    if not rows or len(bits) != -(-rows * cols // 8):
        return np.zeros(grid.patches, bool)
    theirs = np.unpackbits(bits)[: rows * cols].astype(bool).reshape(rows, cols)
    row = ((np.arange(grid.rows) + 0.5) * rows / grid.rows).astype(int)
    col = ((np.arange(grid.cols) + 0.5) * cols / grid.cols).astype(int)
    return theirs[row[:, None], col].ravel()


def count_patches(code: str, grid: Grid) -> int:
    """How many patches the set that a text means has on this grid."""
    return int(decode_patches(code, grid).sum())


def _bytes(text: str) -> bytes:
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        return b""


@memory_cache.cached
def covered_pass(rec: vitcore.Recording, code: str, fill: str, mask_outliers: bool, _vit: Vit) -> ChangedPass:
    """One forward pass without some patches; `mask_outliers`: its outlier tokens are masked in both maps. Raises: ModelError."""
    from vitcore.faithfulness.covered_recording import record_covered

    patches = decode_patches(code, rec.grid).nonzero()[0].tolist()
    with memory_cache.CACHE.reserve(loaded_models.model_size(_vit).pass_bytes):
        covered = record_covered(_vit, rec, patches, fill)
    outliers, shown = covered.outlier_patches.tolist(), covered.with_outliers_masked() if mask_outliers else covered
    return ChangedPass(covered.logits, shown.rollout(), shown.class_attention(), outliers)


@memory_cache.cached
def fill_png(rec: vitcore.Recording, fill: str) -> bytes:
    """What shows in place of patches under a fill that is the same for any set of them, as a PNG of the model's input."""
    from vitcore.faithfulness.covered_patches import cover_patches

    return encode_png_or_jpeg(cover_patches(rec.model_input.pixels, rec.grid, range(rec.grid.patches), fill))[0]


def covered_pixels(rec: vitcore.Recording, code: str, fill: str) -> NDArray[np.uint8]:
    """What the model is shown, (H, W, 3); white where tokens are removed."""
    from vitcore.faithfulness.covered_patches import cover_patches

    patches, grid = decode_patches(code, rec.grid), rec.grid
    if fill != "removed":
        return cover_patches(rec.model_input.pixels, grid, patches.nonzero()[0].tolist(), fill)
    high, wide = grid.step_px
    gone = patches.reshape(grid.rows, grid.cols).repeat(high, 0).repeat(wide, 1)
    return np.where(gone[..., None], np.uint8(255), rec.model_input.pixels)


def why_not_removable(vit: Vit) -> str:
    """Why tokens can't be removed from this model, as a sentence; empty where they can."""
    from vitcore.faithfulness.covered_patches import why_not_removable

    return why_not_removable(vit)


def answer_change_rows(rec: vitcore.Recording, logits: NDArray[np.float32]) -> list[AnswerRow]:
    """The likeliest classes before and after, by their larger probability; empty for a model without classes."""
    if not rec.labels:
        return []
    before, after = (probabilities(one, rec.output) for one in (rec.logits, logits))
    shown = {int(i) for one in (before, after) for i in (-one).argsort(kind="stable")[:SHOWN_CLASSES]}
    labels = translated_labels(rec.labels)
    rows = [AnswerRow(labels[i], float(before[i]), float(after[i])) for i in shown]
    return sorted(rows, key=lambda row: -max(row.before, row.after))


def answer_change_sentence(rec: vitcore.Recording, logits: NDArray[np.float32], text: Prose) -> str:
    """What became of the answer, in a page's words: of its likeliest class; of features, how alike they are (cosine)."""
    rows = answer_change_rows(rec, logits)
    if not rows:
        one, other = rec.logits.astype(float), logits.astype(float)
        similarity = one @ other / max(np.linalg.norm(one) * np.linalg.norm(other), 1e-30)
        return text["features"].format(similarity=decimal(similarity, 2))
    was, now = max(rows, key=lambda row: row.before), max(rows, key=lambda row: row.after)
    (before, after), (_, share) = percents(was.before, was.after), percents(now.before, now.after)
    facts = {"label": was.label, "before": before, "after": after, "now": now.label, "share": share}
    return text["still" if was is now else "other"].format(**facts)


def common_scale(before: NDArray, after: NDArray | None, grid: Grid) -> tuple[float, str]:
    """The top of one colour scale for a map before and after, and its words: in times an even share, as of other maps."""
    both = np.stack([before, before if after is None else after])
    top = scale_top(both, grid.even_share)
    bar = heat_colour_scale(both, top, grid.even_share, tell_largest=False)
    return top, f"{bar.high:.3g} {bar.unit}"


def outliers_to_frame(values: NDArray, outliers: list[int]) -> list[int]:
    """The outlier patches of a pass that hold much of a map, which are framed in it."""
    return outliers_in_map(values, outliers).tolist() if outliers else []


def coverable_map_names(vit: Vit) -> list[str]:
    """The maps whose strongest patches can be covered; those that ask for a class where the model has classes."""
    methods = relevance_maps.defined_methods(True)
    return [
        "rollout",
        CLASS_ATTENTION,
        *(name for name in methods if name != "rollout" and (vit.labels or not methods[name].asks_class)),
    ]


def map_by_name(rec: vitcore.Recording, name: str, mask_outliers: bool, vit: Vit) -> NDArray[np.float64]:
    """A map (rows, cols) by name; of attention, outlier tokens can be masked. `CLASS_ATTENTION`: of the last layer."""
    shown = cached_outliers.mask_outliers(rec) if mask_outliers else rec
    if name == "rollout":
        return shown.rollout()
    if name == CLASS_ATTENTION:
        return shown.pooled_attention(vit.blocks - 1)
    return relevance_maps.relevance_of_class(rec, name, int(rec.logits.argmax()), (), vit).maps


def encode_ranked_patches(values: NDArray[np.float64], count: int, first: str, seed: int, grid: Grid) -> str:
    """The `count` patches that a map calls strongest or weakest, or by chance, as text for an address."""
    from vitcore.faithfulness.deletion import patch_order

    chosen = np.zeros(grid.patches, bool)
    chosen[patch_order(values, first, seed)[:count]] = True
    return encode_patches(chosen, grid)


def covering_effect(rec: vitcore.Recording, code: str, fill: str, vit: Vit) -> CoveringEffect:
    """What covering a set of patches does to the likeliest class. Raises: ModelError."""
    before, after = (probabilities(one, rec.output) for one in (rec.logits, covered_pass(rec, code, fill, False, vit).logits))
    likeliest, labels = int(before.argmax()), translated_labels(rec.labels)
    return CoveringEffect(labels[likeliest], float(before[likeliest]), float(after[likeliest]), labels[int(after.argmax())])


@memory_cache.cached
def random_covering_probability(rec: vitcore.Recording, count: int, fill: str, _vit: Vit) -> float:
    """Mean probability of the likeliest class without `count` patches by chance, over `CHANCE_ORDERS` draws."""
    from vitcore.faithfulness.covered_patches import logits_without_patches
    from vitcore.faithfulness.deletion import patch_order

    even = np.zeros((rec.grid.rows, rec.grid.cols))
    sets = [patch_order(even, "chance", seed)[:count].tolist() for seed in range(CHANCE_ORDERS)]
    with memory_cache.CACHE.reserve(2 * loaded_models.model_size(_vit).pass_bytes):
        logits = logits_without_patches(_vit, rec.model_input.pixels, sets, fill, batch=2)
    return float(probabilities(logits, rec.output)[:, int(rec.logits.argmax())].mean())
