"""The tests of maps run on the photos that are named, with progress; their tables and charts as files."""

from __future__ import annotations

import argparse
import sys
import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import vitcore
from vitcore.cli.photos import UsageError, list_photo_files, record_photo, report_left_out_photo
from vitcore.file_names import append_number_if_taken

if TYPE_CHECKING:
    from vitcore.faithfulness.method_ranking import PhotoDeletion
    from vitcore.faithfulness.plausibility import PlausibilityScore
    from vitcore.faithfulness.stability import StabilityTest
    from vitcore.faithfulness.weight_randomisation import RandomisationTest
    from vitcore.forward.recording import Recording
    from vitcore.models.load_model import Vit
    from vitcore.tokens.segment_iou import SegmentIou

PHOTO_TESTS, MASK_TESTS = ("deletion", "weights", "stability"), ("plausibility", "segments")
COMMAND = "vitcore test {photos} --model {model} --tests {tests}{methods} --fill {fill} --orders {orders} --seed {seed}"


@dataclass(eq=False)
class MapTestResults:
    """What each test found, by the name of the photo; of photos with outlines, over all of them."""

    deletion: list[PhotoDeletion] = field(default_factory=list)
    weights: dict[str, dict[str, RandomisationTest]] = field(default_factory=dict)
    stability: dict[str, StabilityTest] = field(default_factory=dict)
    plausibility: list[PlausibilityScore] = field(default_factory=list)
    segments: list[SegmentIou] = field(default_factory=list)

    @property
    def photos(self) -> set[str]:
        """Photos of which something was found."""
        return {one.photo for one in self.deletion} | self.weights.keys() | self.stability.keys()


def run_tests_on_photos(vit: Vit, args: argparse.Namespace) -> MapTestResults:
    """Every test on every photo; a damaged one is named and left out. Raises: UsageError, where all are; ModelError."""
    from tqdm import tqdm

    from vitcore.faithfulness.covered_patches import why_not_removable
    from vitcore.faithfulness.method_maps import MAPS

    _expect_incomplete()
    args.fill = args.fill or (("mean",) if why_not_removable(vit) else ("removed",))
    args.methods = args.methods or MAPS
    files, names = list_photo_files(args.photo), list[str]()
    for file in files:
        names.append(append_number_if_taken(file.name, names))  # photos of two folders may be named alike
    found = _found_before(args, names) if args.resume else MapTestResults()
    for file, name in zip(tqdm(files, unit="photo", file=sys.stderr), names, strict=True):
        if name in found.photos:
            continue
        try:
            _run_on_one(vit, record_photo(vit, file), name, args, found)
        except vitcore.PhotoError as error:
            report_left_out_photo(args, file, str(error))
        if args.csv:
            write_test_tables(found, args)  # what is there stays, should the rest be stopped
    if not found.photos:
        raise UsageError("none of the photos could be read.")
    return found


def _found_before(args: argparse.Namespace, names: list[str]) -> MapTestResults:
    """Photos that every table of this command holds; one photo's rows are written to one table after the other.

    Raises: UsageError, for a table that another command made.
    """
    from vitcore.faithfulness import map_test_tables

    read = {
        "deletion": map_test_tables.read_deletion_csv,
        "weights": map_test_tables.read_randomisation_csv,
        "stability": map_test_tables.read_stability_csv,
    }
    tables: dict[str, Any] = {}
    for test in _photo_tests(args):
        file = args.csv / f"{test}.csv"
        text = file.read_text(encoding="utf-8") if file.is_file() else ""
        if text and map_test_tables.command_of_table(text) != _command(args):
            raise UsageError(f"{file} was made by another command: {map_test_tables.command_of_table(text)}")
        try:
            tables[test] = read[test](text)
        except (KeyError, TypeError, ValueError) as error:  # of an older version, or cut off
            raise UsageError(
                f"{file} has other columns than this version writes ({error}): take it away, or leave out --resume."
            ) from None
    whole = set(names).intersection(*(MapTestResults(**{test: table}).photos for test, table in tables.items()))
    curves = [one for one in tables.pop("deletion", []) if one.photo in whole]
    kept: dict[str, Any] = {test: {name: table[name] for name in table if name in whole} for test, table in tables.items()}
    return MapTestResults(curves, **kept)


def _run_on_one(vit: Vit, rec: Recording, name: str, args: argparse.Namespace, found: MapTestResults) -> None:
    from tqdm import tqdm

    from vitcore.faithfulness.method_maps import maps_by_model
    from vitcore.faithfulness.method_ranking import photo_deletion
    from vitcore.faithfulness.stability import stability_test
    from vitcore.faithfulness.weight_randomisation import randomisation_tests
    from vitcore.models.vit import check_classes

    check_classes(vit)
    target = int(rec.logits.argmax())
    with tqdm(desc=name, leave=False, file=sys.stderr) as bar:

        def told(done: int, count: int) -> None:
            bar.total = count
            bar.update(done - bar.n)

        if "deletion" in args.tests:
            for fill in args.fill:
                bar.reset()
                curves = photo_deletion(
                    vit, rec, args.methods, target=target, fill=fill, random_orders=args.orders, seed=args.seed, on_progress=told
                )
                found.deletion.append(replace(curves, photo=name))
        if "weights" in args.tests:
            bar.reset()
            found.weights[name] = randomisation_tests(vit, maps_by_model(rec, args.methods, target), args.seed, told)
        if "stability" in args.tests:
            bar.reset()
            found.stability[name] = stability_test(vit, rec, args.methods, target=target, on_progress=told)


def score_against_masks(vit: Vit, args: argparse.Namespace, found: MapTestResults) -> None:
    """How well maps, or segments of patch tokens, agree with the outlines in `args.masks`, as `args.tests` says.

    A model without segments says so. Raises: PhotoError; ModelError; ValueError, where no outline covers a part of its photo.
    """
    from tqdm import tqdm

    from vitcore.faithfulness.method_maps import MAPS
    from vitcore.faithfulness.photo_masks import photos_with_masks
    from vitcore.faithfulness.plausibility import plausibility_scores
    from vitcore.interventions.activation_sites import check_activations_defined
    from vitcore.models.model_cards import ModelError
    from vitcore.tokens.segment_iou import segment_ious

    _expect_incomplete()
    photos = photos_with_masks(args.masks)
    if "plausibility" in args.tests:
        found.plausibility = plausibility_scores(vit, tqdm(photos, unit="photo", file=sys.stderr), args.methods or MAPS)
    if "segments" in args.tests:
        try:
            check_activations_defined(vit)
        except ModelError as error:
            print(error, file=sys.stderr)
        else:
            found.segments = segment_ious(vit, tqdm(photos, unit="photo", file=sys.stderr), seed=args.seed)


def write_test_tables(results: MapTestResults, args: argparse.Namespace) -> None:
    """One CSV file for each test that was run."""
    from vitcore.faithfulness import map_test_tables
    from vitcore.tokens.segment_iou import segment_iou_csv
    from vitcore.train.run_folder import write_file_atomically

    args.csv.mkdir(parents=True, exist_ok=True)
    tables = {}
    if args.photo:
        command = _command(args)
        tables["deletion"] = map_test_tables.deletion_csv(results.deletion, command) if results.deletion else ""
        tables["weights"] = map_test_tables.randomisation_csv(results.weights, command) if results.weights else ""
        tables["stability"] = map_test_tables.stability_csv(results.stability, command) if results.stability else ""
    if args.masks:
        command = f"vitcore test --masks {args.masks.name} --model {args.model}"
        tables["plausibility"] = map_test_tables.plausibility_csv(results.plausibility, command) if results.plausibility else ""
        tables["segments"] = segment_iou_csv(results.segments, command) if results.segments else ""
    for name, text in tables.items():
        if text:
            write_file_atomically(args.csv / f"{name}.csv", text)


def _command(args: argparse.Namespace) -> str:
    """The command that makes the tables, once `args.fill` and `args.methods` are chosen."""
    from vitcore.faithfulness.method_maps import MAPS

    photos = " ".join(one.name if one.is_absolute() else one.as_posix() for one in args.photo)
    methods = "" if args.methods == MAPS else f" --methods {','.join(args.methods)}"
    tests, fill = ",".join(_photo_tests(args)), ",".join(args.fill)
    return COMMAND.format(photos=photos, model=args.model, tests=tests, methods=methods, fill=fill, orders=args.orders,
                          seed=args.seed)  # fmt: skip


def _photo_tests(args: argparse.Namespace) -> list[str]:
    return [test for test in args.tests if test in PHOTO_TESTS]


def write_test_charts(results: MapTestResults, out: Path) -> None:
    """Charts of what was found, as PNG: of each photo its deletion and insertion, of all the ranking and the random weights."""
    from vitcore.faithfulness import map_test_results_as_charts

    out.mkdir(parents=True, exist_ok=True)
    drawn: dict[str, Any] = {}
    for one in results.deletion:
        for kind in ("deletion", "insertion"):
            drawn[f"{Path(one.photo).stem}-{one.fill}-{kind}"] = map_test_results_as_charts.photo_deletion_chart(
                one, insertion=kind == "insertion"
            )
    if results.deletion:
        drawn["ranking"] = map_test_results_as_charts.method_ranking_chart(results.deletion)
    if results.weights:
        drawn["weights"] = map_test_results_as_charts.mean_randomisation_chart(list(results.weights.values()))
    for name, fig in drawn.items():
        (out / f"{name}.png").write_bytes(vitcore.figures.print_figure(fig, "png"))
        print(out / f"{name}.png", file=sys.stderr)


def _expect_incomplete() -> None:
    """Integrated gradients may add up to a little more or less than the logit's rise; that is no news of each photo."""
    from vitcore.forward.relevance import IncompleteAttributionsWarning

    warnings.filterwarnings("ignore", category=IncompleteAttributionsWarning)
