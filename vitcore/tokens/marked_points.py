"""Do the best matches of patch tokens find the same part in another photo? The shares that `tests.shipping.marked_points` found."""

from typing import NamedTuple

from vitcore.csv_and_npz import rows_of_csv


class MarkedPointAccuracy(NamedTuple):
    """Of tokens of a kind after a layer: the share of marked points whose best match lies within one patch of the mark."""

    kind: str
    layer: int
    pairs: int  #: of photos
    points: int  #: looked for, each pair both ways
    matched: float
    same_place: float  #: the share for a match that is always the patch's own place
    by_chance: float  #: the share for a patch by chance


def read_matched_csv(text: str) -> list[MarkedPointAccuracy]:
    """What `matched_csv` wrote."""
    return [
        MarkedPointAccuracy(row["kind"], int(row["layer"]), int(row["pairs"]), int(row["points"]),
                     float(row["matched"]), float(row["same_place"]), float(row["by_chance"]))
        for row in rows_of_csv(text)
    ]  # fmt: skip
