"""One forward pass of a photo without some of its patches: the answer, rollout and class attention that are left.

Painted patches are still tokens, so the recording has the whole grid. Removed ones are not: the recording is then of the K
tokens that are left, and its maps are laid back on the grid, 0 where nothing is.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from vitcore.faithfulness.covered_patches import (
    answer_reads_patches,
    cover_patches,
    covered_patch_mask,
    model_without_tokens,
    no_patch_left_error,
    why_not_removable,
)
from vitcore.forward.mask_outliers import mask_outlier_tokens, outliers_in_recording
from vitcore.forward.recording import Recording, record_batch
from vitcore.forward.recordings.model_inputs import open_for_model
from vitcore.grid import Grid
from vitcore.images import Crop, InputKind, PhotoSource
from vitcore.images.photo_arrays import nearest_bytes
from vitcore.models.model_cards import ModelError
from vitcore.models.vit import Vit, check_bands, check_vit


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class CoveredRecording:
    """What one pass without some patches left behind; its maps are (rows, cols) of the photo's `grid`."""

    recording: Recording  #: of the tokens that are left, in one row where some were removed
    grid: Grid
    covered: NDArray[np.bool_]  #: (N,): which patches are covered, or removed
    kept: NDArray[np.intp]  #: (K,): the patches that are tokens of `recording`; all N unless tokens were removed
    fill: str

    def __repr__(self) -> str:
        return f"<CoveredRecording: {int(self.covered.sum())} of {self.grid.patches} patches, fill {self.fill!r}>"

    @property
    def logits(self) -> NDArray[np.float32]:
        """(classes,), or pooled features of a model without a head."""
        return self.recording.logits

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """(classes,). Raises: ValueError, for a model that gives features."""
        return self.recording.probabilities

    def top_classes(self, count: int = 5) -> list[tuple[str, float]]:
        """(label, probability) of the likeliest classes; empty for a model without classes."""
        return self.recording.top_classes(count)

    def rollout(self) -> NDArray[np.float64]:
        """(rows, cols) rollout of where the answer is read; removed patches have 0. Raises: what `Recording.rollout` raises."""
        return self._on_grid(self.recording.rollout)

    def class_attention(self, block: int = -1) -> NDArray[np.float64]:
        """(rows, cols) attention of where the answer is read in one block, mean of its heads; removed patches have 0."""
        return self._on_grid(lambda: self.recording.pooled_attention(block))

    @property
    def outlier_patches(self) -> NDArray[np.intp]:
        """Outlier tokens of this pass, by their patches (see `analysis.outlier_tokens`)."""
        return self.kept[outliers_in_recording(self.recording).patches] if len(self.kept) else self.kept

    def with_outliers_masked(self) -> "CoveredRecording":
        """The same with this pass's outlier tokens masked in its maps (see `forward.mask_outliers.mask_outlier_tokens`)."""
        return replace(self, recording=mask_outlier_tokens(self.recording)) if len(self.outlier_patches) else self

    def _on_grid(self, draw: Callable[[], NDArray[np.float64]]) -> NDArray[np.float64]:
        """What is drawn of the patches that are left, if any are, at their places; 0 elsewhere."""
        whole = np.zeros(self.grid.patches)
        if len(self.kept):
            whole[self.kept] = draw().ravel()
        return whole.reshape(self.grid.rows, self.grid.cols)


def record_covered(
    vit: Vit, image: PhotoSource | Recording, covered: Collection[int], fill: str = "mean", seed: int = 0, *,
    inputs: InputKind | None = None,
) -> CoveredRecording:  # fmt: skip
    """Run the model once on a photo without the patches `covered` (0 to N − 1), and keep what the pictures need.

    `image`: a photo, taken as `record` takes it (`inputs`, too), or a recording by this model, whose crop is taken. `fill` as of
    `covered_patches.cover_patches`, or "removed": the tokens leave the sequence after the position embedding, which a
    convolutional network can't do (timm's PatchDropout in training, arXiv 2212.00794). With no patch covered, the answer is
    that of `record`.
    Raises: TypeError, PhotoError; ValueError, for a patch or a fill that there is not; ModelError, for a model of other bands,
    where tokens can't be removed, or where none that the answer is read from would be left.
    """
    check_vit(vit)
    check_bands(vit, 3)
    if isinstance(image, Recording):
        photo, crop = image.photo, image.model_input
    else:
        photo, crop = open_for_model(vit, image, inputs)
    grid, mask = vit.grid, covered_patch_mask(vit.grid, covered)
    kept = np.arange(grid.patches)
    if fill == "removed":
        kept = np.flatnonzero(~mask)
        vit = _vit_without(vit, kept)
    else:
        painted = cover_patches(crop.numbers, grid, np.flatnonzero(mask).tolist(), fill, seed)
        crop = Crop(painted, crop.box) if crop.bands is None else Crop(nearest_bytes(painted), crop.box, painted)
    rec = record_batch(vit, [(photo, crop)])[0]
    return CoveredRecording(recording=rec, grid=grid, covered=mask, kept=kept, fill=fill)


def _vit_without(vit: Vit, kept: NDArray[np.intp]) -> Vit:
    """The model with these K patches alone, as a row of K: distances on it mean nothing. Raises: ModelError."""
    if why := why_not_removable(vit):
        raise ModelError(why)
    if not len(kept) and answer_reads_patches(vit):
        raise no_patch_left_error(vit)
    row = replace(vit.grid, rows=1, cols=len(kept))
    module = model_without_tokens(vit, torch.from_numpy(kept[None]).to(vit.device))
    return replace(vit, module=module, grid=row)
