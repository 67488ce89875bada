"""Do the best matches of patch tokens find the same part in another photo: eyes, noses and ears that people marked.

The share of correct keypoints, as in SPair-71k (Min et al., arXiv 1908.10543), with one patch as the tolerance. Of every two photos
with a point in common, each is looked for in the other: a match is right where it lies at most one row and one column away.

    python -m tests.shipping.marked_points > assets/matches/matched.csv
"""

import csv
import io
from collections.abc import Mapping, Sequence
from itertools import permutations

import numpy as np

from vitcore.assets import SAMPLES, asset_path
from vitcore.csv_and_npz import number_for_csv, table_as_csv
from vitcore.images import Photo, crop_for_model, open_photo
from vitcore.models.load_model import load
from vitcore.models.vit import Vit
from vitcore.tokens.marked_points import MarkedPointAccuracy
from vitcore.tokens.patch_tokens import KINDS, patch_tokens
from vitcore.tokens.similarity import correspondences

Points = Mapping[str, Mapping[str, tuple[float, float]]]  # photo → point → place, as parts of the photo's width and height


def read_points(text: str) -> dict[str, dict[str, tuple[float, float]]]:
    """Points of a CSV with the columns photo, point, x and y (parts of the photo's width and height)."""
    found: dict[str, dict[str, tuple[float, float]]] = {}
    for row in csv.DictReader(io.StringIO(text)):
        found.setdefault(row["photo"], {})[row["point"]] = float(row["x"]), float(row["y"])
    return found


def patch_of_point(vit: Vit, photo: Photo, x: float, y: float) -> int | None:
    """The patch that holds a place of the photo (parts of its width and height); None where the model does not see it."""
    left, top, right, bottom = crop_for_model(photo.image, vit.transform, photo.bands).box
    col = (x * photo.image.width - left) / (right - left) * vit.grid.cols
    row = (y * photo.image.height - top) / (bottom - top) * vit.grid.rows
    return int(row) * vit.grid.cols + int(col) if 0 <= row < vit.grid.rows and 0 <= col < vit.grid.cols else None


def matched_by_layer(
    vit: Vit, photos: Mapping[str, Photo], points: Points, kinds: Sequence[str] = tuple(KINDS)
) -> list[MarkedPointAccuracy]:  # fmt: skip
    """The share of points that are found, for every kind and layer, of at most `patch_tokens.MAX_PHOTOS` photos.

    Raises: ValueError, where no two photos have a point in common that the model sees; ModelError.
    """
    names = list(photos)
    marks = [
        {point: patch for point, place in points[name].items() if (patch := patch_of_point(vit, photos[name], *place)) is not None}
        for name in names
    ]
    ways = [(a, b, [p for p in marks[a] if p in marks[b]]) for a, b in permutations(range(len(names)), 2)]
    ways = [way for way in ways if way[2]]
    if not ways:
        raise ValueError("no two photos have a point in common that the model sees")
    near = vit.grid.touching()
    wanted = [(marks[a][point], marks[b][point]) for a, b, common in ways for point in common]
    same, chance = (float(np.mean(one)) for one in ([near[a, b] for a, b in wanted], [near[b].mean() for _, b in wanted]))
    found = []
    for kind in kinds:
        tokens = patch_tokens(vit, list(photos.values()), kind)
        for layer in tokens.layers:
            right: list[bool] = []
            for a, b, common in ways:
                best = correspondences(tokens, a, b, layer).best
                right += [bool(near[best[marks[a][point]], marks[b][point]]) for point in common]
            found.append(MarkedPointAccuracy(kind, layer, len(ways) // 2, len(right), float(np.mean(right)), same, chance))
    return found


def matched_csv(found: Sequence[MarkedPointAccuracy], command: str) -> str:
    """The shares as a table, below the command that made it."""
    return table_as_csv(MarkedPointAccuracy._fields, ([*one[:4], *map(number_for_csv, one[4:])] for one in found), command)


def main() -> None:
    """Print the table of the model that ships, over the gallery's photos with points."""
    points = read_points((asset_path("matches") / "points.csv").read_text(encoding="utf-8"))
    photos = {name: open_photo(SAMPLES / f"{name}.jpg") for name in points}
    print(matched_csv(matched_by_layer(load(), photos, points), "python -m tests.shipping.marked_points"), end="")


if __name__ == "__main__":
    main()
