"""Mean attention distance of every head over many photos, with how far the mean is certain (arXiv 2010.11929 App. D.7)."""

from dataclasses import dataclass
from typing import Any, Literal

from numpy.typing import NDArray

from vitcore.analysis.attention_distance import mean_interval
from vitcore.errors import check_choice
from vitcore.forward.recordings.open_photos import SkippedPhoto
from vitcore.forward.recordings.record_many import BATCH, CountDone, record_many
from vitcore.images import InputKind, PhotoError
from vitcore.models.vit import Vit

FIELDS = {"drop": "distance_px", "renormalise": "distance_renormalised_px"}  # by what is done with the class token


@dataclass(frozen=True, eq=False, kw_only=True)
class MeanDistance:
    """Means over photos of each head's distance, (L, H) in pixels of the model's input.

    `low_px` and `high_px` are the 95 % confidence interval of the mean over photos, by Student's t; NaN where there is one photo.
    """

    model: str
    mean_px: NDArray
    low_px: NDArray
    high_px: NDArray
    spread_px: NDArray  #: standard deviation over photos; NaN where there is one
    photos: int  #: that were measured
    skipped: tuple[SkippedPhoto, ...]  #: that could not be opened

    def __repr__(self) -> str:
        blocks, heads = self.mean_px.shape
        return f"<MeanDistance of {self.model}: {blocks} blocks, {heads} heads, {self.photos} photos, {len(self.skipped)} skipped>"

    def to_pandas(self) -> Any:
        """A pandas DataFrame, a row a head, by (layer, head): mean, interval, spread in px. Raises: MissingPackageError."""
        from vitcore.forward.recordings.labelled_arrays import table_of_heads

        return table_of_heads({name: getattr(self, name) for name in ("mean_px", "low_px", "high_px", "spread_px")})


def mean_distance(
    vit: Vit, photos: Any, *, cls: Literal["drop", "renormalise"] = "drop", batch: int = BATCH, workers: int | None = None,
    progress: bool | CountDone = True, inputs: InputKind | None = None,
) -> MeanDistance:  # fmt: skip
    """Mean attention distance (L, H) over photos, which are those of `record_many` (`inputs` as there), and its 95 % interval.

    cls: the class token's attention is dropped, as in the paper, or what is left is renormalised.
    Warns: SkippedPhotosWarning; UnclearInputsWarning. Raises: ValueError, for another `cls`; ModelError; PhotoError, where no
    photo can be opened.
    """
    check_choice("cls", cls, FIELDS)
    stream = record_many(vit, photos, batch=batch, keep=(FIELDS[cls],), workers=workers, progress=progress, inputs=inputs)
    if stream.total == 0:
        raise PhotoError("There are no photos for a mean.")
    found = mean_interval(numbers.kept[FIELDS[cls]] for numbers in stream)
    return MeanDistance(
        model=vit.name, mean_px=found.mean, low_px=found.low, high_px=found.high, spread_px=found.spread, photos=found.count,
        skipped=tuple(stream.skipped),
    )  # fmt: skip
