"""The verb `test` and its flags: tables on the terminal, as JSON, as CSV, or as charts."""

import argparse
import json
from pathlib import Path
from typing import Any

from vitcore.cli import inspect as inspecting
from vitcore.cli.map_tests import run_tests
from vitcore.cli.map_tests.text_tables import map_test_lines, map_tests_json
from vitcore.cli.model_flags import add_device_flags, load_from_flags
from vitcore.cli.photos import UsageError
from vitcore.models.model_cards import DEFAULT_MODEL

TESTS = (*run_tests.PHOTO_TESTS, *run_tests.MASK_TESTS)


def add_test_verb(verbs: Any) -> None:
    """Add the verb to the shell's."""
    about = "do the maps hold what they promise: deletion and insertion, random weights, stability, or agreement with masks"
    verb = verbs.add_parser("test", help=about, description=about)
    verb.add_argument("photo", nargs="*", type=Path, help="a photo, or a folder of photos, each tested for its likeliest class")
    verb.add_argument(
        "--model", default=DEFAULT_MODEL, help=f"a name of `models`, any ViT of timm's, a file or a run (default {DEFAULT_MODEL})"
    )
    verb.add_argument("--masks", type=Path, metavar="FOLDER",
                      help="photos with outlines (manifest.csv, or images/ and masks/): AUC, pointing game, mass, IoU")  # fmt: skip
    verb.add_argument("--tests", type=_names_of(TESTS), default=TESTS, help=f"which, of {','.join(TESTS)} (default: all)")
    verb.add_argument("--methods", type=_methods, default=None, help="which maps, such as rollout,chefer (default: all)")
    verb.add_argument("--fill", type=_fills, default=None,
                      help="what stands in for deleted patches: removed, mean, blur, noise, neighbour, or several with commas "
                           "(default: removed, or mean where tokens can't be removed)")  # fmt: skip
    verb.add_argument("--orders", type=int, default=50, help="random orders to compare with (default 50)")
    verb.add_argument("--seed", type=int, default=0, help="of random orders, random weights and the bootstrap (default 0)")
    verb.add_argument("--csv", type=Path, metavar="FOLDER", help="write the tables there, one file a test")
    verb.add_argument("--resume", action="store_true",
                      help="go on with the tables in the --csv folder: photos that they hold are not tested again")  # fmt: skip
    verb.add_argument("--out", type=Path, metavar="FOLDER", help="write the charts there, as PNG")
    verb.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    inspecting.add_checkpoint_config_flags(add_device_flags(verb))
    verb.set_defaults(run=_run_test_verb)


def _run_test_verb(args: argparse.Namespace) -> None:
    """Test, print, write."""
    if not args.photo and args.masks is None:
        raise UsageError("name a photo or a folder of photos, or photos with masks by --masks.")
    if args.orders < 0:
        raise UsageError("--orders is 0 or more.")
    if args.resume and not args.csv:
        raise UsageError("--resume goes on with the tables of --csv FOLDER.")
    for given, tests in ((args.photo, run_tests.PHOTO_TESTS), (args.masks, run_tests.MASK_TESTS)):
        if given and not set(tests) & set(args.tests):
            raise UsageError(f"name one of {', '.join(tests)} in --tests, too.")
    vit = load_from_flags(args)
    found = run_tests.run_tests_on_photos(vit, args) if args.photo else run_tests.MapTestResults()
    if args.masks:
        run_tests.score_against_masks(vit, args, found)
    if args.csv:
        run_tests.write_test_tables(found, args)
    if args.out:
        run_tests.write_test_charts(found, args.out)
    if args.json:
        print(json.dumps(map_tests_json(vit, found), ensure_ascii=False, allow_nan=False))
    else:
        print("\n".join(map_test_lines(found)))


def _names_of(choices: tuple[str, ...]) -> Any:
    """What reads "a,b" as names among `choices`."""

    def names(text: str) -> tuple[str, ...]:
        given = tuple(text.split(","))
        if unknown := [name for name in given if name not in choices]:
            raise argparse.ArgumentTypeError(f"it is of {', '.join(choices)}, not {unknown[0]!r}")
        return given

    return names


def _methods(text: str) -> Any:
    from vitcore.faithfulness.method_maps import MAPS

    return _names_of(MAPS)(text)


def _fills(text: str) -> Any:
    from vitcore.faithfulness.covered_patches import FILLS

    return _names_of(FILLS)(text)
