"""Does a map stay with its object: the photo shifted by one patch, mirrored or compressed, and another class asked about.

A map of what the model used moves with the photo, and changes as little as the answer does. A map that is asked about another
class should change: rollout and class attention ask about none, so they can't.
"""

import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from vitcore.analysis.relevance import rank_correlation
from vitcore.faithfulness.covered_patches import Progress, no_progress
from vitcore.faithfulness.method_maps import MAPS, method_maps
from vitcore.forward.recording import Recording, record_batch
from vitcore.grid import Grid
from vitcore.models.vit import Vit, check_bands, class_index
from vitcore.probabilities import probabilities

JPEG_QUALITY = 75
CLASS = "class"  # beside the changes of the photo: another class asked about the same photo


def _shift_by_a_patch(pixels: NDArray[np.uint8], grid: Grid) -> NDArray[np.uint8]:
    """Pixels (H, W, 3) one patch to the right; the first column of pixels fills what is free."""
    wide = grid.step_px[1]
    return np.concatenate([np.repeat(pixels[:, :1], wide, 1), pixels[:, :-wide]], 1)


def _mirror_photo(pixels: NDArray[np.uint8], grid: Grid) -> NDArray[np.uint8]:
    """Pixels (H, W, 3) with left and right exchanged."""
    return np.ascontiguousarray(pixels[:, ::-1])


def compress_as_jpeg(pixels: NDArray[np.uint8], grid: Grid) -> NDArray[np.uint8]:
    """Pixels (H, W, 3) as a JPEG of quality `JPEG_QUALITY` keeps them."""
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "JPEG", quality=JPEG_QUALITY)
    return np.asarray(Image.open(file).convert("RGB"))


class PhotoChange(NamedTuple):
    """A change of the photo, and how the changed photo's map (rows, cols) and the first are laid on each other."""

    apply: Callable[[NDArray[np.uint8], Grid], NDArray[np.uint8]]
    align_changed_map: Callable[[NDArray], NDArray]
    align_first_map: Callable[[NDArray], NDArray]

    def rank_correlation(self, changed: NDArray, first: NDArray) -> float:
        """Spearman's, of the two maps laid on each other; NaN where one is flat."""
        return rank_correlation(self.align_changed_map(changed), self.align_first_map(first))


CHANGES = {
    "shift": PhotoChange(_shift_by_a_patch, lambda changed: changed[:, 1:], lambda first: first[:, :-1]),
    "mirror": PhotoChange(_mirror_photo, lambda changed: changed[:, ::-1], lambda first: first),
    "jpeg": PhotoChange(compress_as_jpeg, lambda changed: changed, lambda first: first),
}


@dataclass(frozen=True, eq=False, kw_only=True)
class StabilityTest:
    """How alike the maps of one photo stay as the photo, or the class, changes."""

    target: int  #: the class
    other: int  #: the second likeliest, which is asked about instead
    correlations: Mapping[str, Mapping[str, float]]  #: Spearman's by method and change: "shift", "mirror", "jpeg", "class"
    probabilities: Mapping[str, float]  #: of the class, by change of the photo; "photo": of the photo itself


def changed_recordings(vit: Vit, rec: Recording) -> Iterator[tuple[str, Recording]]:
    """Each of `CHANGES` by name, and the recording of the photo that it changes."""
    for change, photo_change in CHANGES.items():
        crop = replace(rec.model_input, pixels=photo_change.apply(rec.model_input.pixels, vit.grid), bands=None)
        yield change, record_batch(vit, [(rec.photo, crop)])[0]


def stability_test(
    vit: Vit, rec: Recording, names: Iterable[str] = MAPS, *, target: int | None = None, on_progress: Progress = no_progress
) -> StabilityTest:
    """Rank correlations of each map with that of the changed photo, laid back on the first, for the same class.

    The shift is one patch to the right, and the column that is lost is left out. "class" is the correlation with the same
    photo's map for the second likeliest class: 1 for methods that ask no class; NaN where a map is flat. `target` is a class by
    its index (default: the likeliest). Raises: ModelError, for a model without classes or of other bands.
    """
    asked = class_index(vit, target)
    check_bands(vit, 3)
    names, order = tuple(names), np.argsort(-rec.logits, kind="stable")
    chosen = int(order[0]) if asked is None else asked
    other = int(next(one for one in order if one != chosen))
    first = method_maps(vit, rec, names, chosen)
    found: dict[str, dict[str, float]] = {name: {} for name in first}
    answers = {"photo": float(probabilities(rec.logits, rec.output)[chosen])}
    for done, (change, changed) in enumerate(changed_recordings(vit, rec), start=1):
        answers[change] = float(probabilities(changed.logits, changed.output)[chosen])
        for name, drawn in method_maps(vit, changed, names, chosen).items():
            found[name][change] = CHANGES[change].rank_correlation(drawn, first[name])
        on_progress(done, len(CHANGES) + 1)
    for name, drawn in method_maps(vit, rec, names, other).items():
        found[name][CLASS] = rank_correlation(drawn, first[name])
    on_progress(len(CHANGES) + 1, len(CHANGES) + 1)
    return StabilityTest(target=chosen, other=other, correlations=found, probabilities=answers)


def mean_correlations(tests: Sequence[Mapping[str, Mapping[str, float]]]) -> dict[str, dict[str, float]]:
    """Mean correlations over photos by method and change; a photo whose map is flat is left out, NaN where all are."""
    found: dict[str, dict[str, float]] = {}
    for name, changes in tests[0].items():
        found[name] = {}
        for change in changes:
            known = [test[name][change] for test in tests if not np.isnan(test[name][change])]
            found[name][change] = float(np.mean(known)) if known else float("nan")
    return found
