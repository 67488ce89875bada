"""What the tests of maps found, as lines for a terminal and as one JSON object."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vitcore.cli.map_tests.run_tests import MapTestResults
    from vitcore.faithfulness.method_ranking import PhotoDeletion
    from vitcore.faithfulness.plausibility import PlausibilityScore
    from vitcore.models.load_model import Vit
    from vitcore.tokens.segment_iou import SegmentIou

WIDE = 28
REGIONS = {
    "kmeans": "best of {count} by k-means", "normalised_cut": "object by normalised cut", "foreground": "foreground",
    "rollout": "rollout, best threshold", "middle": "middle, best threshold",
}  # fmt: skip


def map_test_lines(results: MapTestResults) -> list[str]:
    """The tables of the tests."""
    on_photos = [*_deletion_lines(results), *_weight_lines(results), *_stability_lines(results)]
    return [*on_photos, *_plausibility_lines(results.plausibility), *_segment_lines(results.segments)]


def _by_fill(found: MapTestResults) -> dict[str, list[PhotoDeletion]]:
    ordered = sorted(found.deletion, key=lambda one: one.fill)
    return {fill: list(these) for fill, these in groupby(ordered, key=lambda one: one.fill)}


def _deletion_lines(found: MapTestResults) -> list[str]:
    from vitcore.faithfulness.method_maps import map_title
    from vitcore.faithfulness.method_ranking import FILL_TITLES, rank_methods, ranking_sentence

    lines = []
    for fill, results in _by_fill(found).items():
        scores = rank_methods(results)
        beside = "  above random orders" if any(one.places for one in results) else ""
        lines += [f"Deletion and insertion, {FILL_TITLES[fill]}: areas, mean of {len(results)}",
                  f"  {'':<{WIDE}} deletion  insertion  difference  95 % interval   {beside}".rstrip()]  # fmt: skip
        for score in scores:
            low, high = score.interval
            ends = f"{low:6.3f} to {high:6.3f}" if len(score.gaps) > 1 else " " * 16
            place = "" if any(score.places != score.places) else f"{score.places.mean():19.0%}"
            lines.append(f"  {map_title(score.name):<{WIDE}} {score.deletions.mean():8.3f} {score.insertions.mean():10.3f}"
                         f" {score.gap:11.3f}  {ends}{place}")  # fmt: skip
        lines += [f"  {ranking_sentence(scores, fill)}", ""]
    return lines


def _weight_lines(found: MapTestResults) -> list[str]:
    from vitcore.faithfulness.method_maps import map_title
    from vitcore.faithfulness.weight_randomisation import mean_randomisation_tests, unchanged_maps_sentence

    if not found.weights:
        return []
    tests = mean_randomisation_tests(list(found.weights.values()))
    short = [part.replace("blocks.", "").replace("embedding", "embed") for part in next(iter(tests.values())).parts]
    lines = [f"Random weights, from the classifier down to the embedding: rank correlation, mean of {len(found.weights)}",
             f"  {'':<{WIDE}} {'  '.join(f'{part:>5}' for part in short)}"]  # fmt: skip
    for name, test in tests.items():
        lines.append(f"  {map_title(name):<{WIDE}} {'  '.join(f'{value:5.2f}' for value in test.correlations)}")
    return [*lines, f"  {unchanged_maps_sentence(tests)}", ""]


def _stability_lines(found: MapTestResults) -> list[str]:
    from vitcore.faithfulness.method_maps import map_title
    from vitcore.faithfulness.stability import CHANGES, CLASS, mean_correlations

    if not found.stability:
        return []
    means = mean_correlations([test.correlations for test in found.stability.values()])
    columns = (*CHANGES, CLASS)
    titles = {"shift": "one patch", "mirror": "mirrored", "jpeg": "JPEG 75", CLASS: "another class"}
    lines = [f"Stability: rank correlation with the map of the changed photo, mean of {len(found.stability)}",
             f"  {'':<{WIDE}} {'  '.join(f'{titles[one]:>13}' for one in columns)}"]  # fmt: skip
    for name, values in means.items():
        lines.append(f"  {map_title(name):<{WIDE}} {'  '.join(f'{values[one]:13.2f}' for one in columns)}")
    return [*lines, ""]


def _plausibility_lines(scores: Sequence[PlausibilityScore]) -> list[str]:
    """Agreement with outlines as a table."""
    from vitcore.faithfulness.plausibility import MEASURES, score_title

    if not scores:
        return []
    lines = [f"Plausibility (not faithfulness): agreement with the outlines of {len(scores[0].values)} photos, with 95 % intervals",
             f"  {'':<{WIDE}} {'pixel AUC':<22}{'pointing game':<22}mass on the object"]  # fmt: skip
    for score in scores:
        cells = []
        for measure in MEASURES:
            low, high = score.interval(measure)
            cells.append(f"{score.mean(measure):.3f} ({low:.3f}–{high:.3f})")
        lines.append(f"  {score_title(score.name):<{WIDE}} {'  '.join(f'{cell:<20}' for cell in cells)}".rstrip())
    return [*lines, ""]


def _segment_lines(rows: Sequence[SegmentIou]) -> list[str]:
    """Segments of patch tokens beside thresholds of maps as a table."""
    if not rows:
        return []
    title = f"Segments of patch tokens after layer {rows[0].layer}: mean IoU with the outlines of {rows[0].photos} photos"
    lines = [f"{title}, with 95 % intervals"]
    for row in rows:
        lines.append(f"  {REGIONS[row.name].format(count=row.segment_count):<{WIDE}} {row.iou:.3f} ({row.low:.3f}–{row.high:.3f})")
    return lines


def map_tests_json(vit: Vit, test_results: MapTestResults) -> dict[str, Any]:
    """Everything, with None for what is not defined."""
    from vitcore.faithfulness.plausibility import MEASURES

    answer: dict[str, Any] = {"model": vit.name}
    if test_results.deletion:
        answer["deletion"] = [_deletion_facts(one) for one in test_results.deletion]
        answer["ranking"] = {fill: _ranking_facts(results, fill) for fill, results in _by_fill(test_results).items()}
    if test_results.weights:
        answer["weights"] = {
            photo: {name: {"parts": list(test.parts), "correlations": [_known(v) for v in test.correlations],
                           "depends_on_weights": test.depends_on_weights} for name, test in tests.items()}
            for photo, tests in test_results.weights.items()
        }  # fmt: skip
    if test_results.stability:
        answer["stability"] = {
            photo: {"class": vit.labels[test.target], "other_class": vit.labels[test.other],
                    "probabilities": dict(test.probabilities),
                    "correlations": {name: {change: _known(value) for change, value in values.items()}
                                     for name, values in test.correlations.items()}}
            for photo, test in test_results.stability.items()
        }  # fmt: skip
    if test_results.plausibility:
        answer["plausibility"] = [
            {"method": one.name, "photos": len(one.values)}
            | {measure: [_known(v) for v in (one.mean(measure), *one.interval(measure))] for measure in MEASURES}
            for one in test_results.plausibility
        ]
    if test_results.segments:
        answer["segments"] = [row._asdict() for row in test_results.segments]
    return answer


def _deletion_facts(one: PhotoDeletion) -> dict[str, Any]:
    methods = {
        name: {"deletion": curve.deletion, "insertion": curve.insertion, "place": one.places.get(name),
               "shares": curve.shares.tolist(), "strongest_first": curve.strongest_first.tolist(),
               "weakest_first": curve.weakest_first.tolist()}
        for name, curve in one.curves.items()
    }  # fmt: skip
    return {"photo": one.photo, "class": one.label, "fill": one.fill, "methods": methods}


def _ranking_facts(results: Sequence[PhotoDeletion], fill: str) -> dict[str, Any]:
    from vitcore.faithfulness.method_ranking import rank_methods, ranking_sentence

    scores = rank_methods(results)
    rows = [{"method": one.name, "gap": one.gap, "interval": [_known(end) for end in one.interval]} for one in scores]
    return {"methods": rows, "sentence": ranking_sentence(scores, fill)}


def _known(value: float) -> float | None:
    return float(value) if abs(value) < float("inf") else None
