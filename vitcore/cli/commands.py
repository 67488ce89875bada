"""The shell: `python -m vitcore VERB`, one verb a picture, writing PNG and NPZ into a folder, or JSON to standard output."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import vitcore
from vitcore.cli import compare as comparing
from vitcore.cli import completion as completing
from vitcore.cli import inspect as inspecting
from vitcore.cli import models
from vitcore.cli import profile as profiling
from vitcore.cli import quiz as quizzing
from vitcore.cli import relevance as relevance_verbs
from vitcore.cli import report as taking_away
from vitcore.cli import rollout as rolling
from vitcore.cli.map_tests import maptest
from vitcore.cli.model_flags import add_device_flags, load_from_flags
from vitcore.cli.photos import (
    UsageError,
    list_photo_files,
    photo_or_stdin,
    record_photo,
    report_left_out_photo,
    require_attention_over_grid,
    run_on_each_photo,
    write_result,
)
from vitcore.cli.training import experiment as experimenting
from vitcore.cli.training import train as training
from vitcore.models.model_cards import DEFAULT_MODEL

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from vitcore.models.load_model import Vit

MAX_GUTTER_PX = 64
BLOCK_OF_PHOTOS = 8  # that one of several processes runs together


class _Parser(argparse.ArgumentParser):
    """argparse that says what is wrong in one line, as everything else here does, and takes whole names of flags alone."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"allow_abbrev": False, **kwargs})

    def unknown_words_error(self, words: list[str]) -> NoReturn:
        """End with the first word that no flag of this verb has as its name, and the nearest that one has."""
        from difflib import get_close_matches

        flags = [flag for action in self._actions for flag in action.option_strings]
        nearest = "".join(f"; the nearest is {flag}" for flag in get_close_matches(words[0].partition("=")[0], flags, 1))
        self.error(f"there is no {words[0]} here{nearest}")

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"vitcore: {message} (see {self.prog} --help)\n")


def command_parser() -> argparse.ArgumentParser:
    """The parser of all verbs; `run` of what it returns does the verb, and raises ValueError or OSError for what can't be done."""
    parser = _Parser("vitcore", description="Look inside a Vision Transformer (arXiv 2010.11929).")
    parser.add_argument("--debug", action="store_true", help="where an error came from, not one sentence of it")
    parser.add_argument("--quiet", action="store_true", help="nothing on standard error but errors: no notes, no progress")
    parser.add_argument("--version", action="version", version=f"vitcore {vitcore.__version__}")
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    _verb(verbs, "patches", run_on_each_photo(_draw_patches), "the photo cut into its patches", photo=True).add_argument(
        "--gutter", type=float, default=1.0, help="model pixels between patches (default 1)"
    )
    _verb(verbs, "filters", _draw_filters, "principal components of the embedding filters").add_argument(
        "--components", type=int, help="how many (default 28, as the paper, or all there are)"
    )
    _verb(verbs, "positions", _draw_position_similarity, "similarity of the position embeddings")
    far = _verb(
        verbs, "distance", _draw_attention_distance, "mean attention distance of every head, over one photo or many", photo="*"
    )
    far.add_argument("--images", type=Path, help="a folder of photos to average over")
    far.add_argument("--cls", choices=("drop", "renormalise"), default="drop", help="the class token: dropped as in the paper")
    one = _verb(
        verbs, "rollout", run_on_each_photo(_draw_rollout, "rollout"), "attention rollout and the top-5 classes", photo=True
    )
    rolling.add_rollout_flags(one).add_argument(
        "--style", choices=("heat", "paper"), default="heat", help="heat, or as the paper draws it"
    )
    relevance_verbs.add_convention_flag(one)
    of_class = _verb(
        verbs, "relevance", run_on_each_photo(relevance_verbs.draw_relevance), "which patches spoke for a class", photo=True
    )
    relevance_verbs.add_relevance_flags(of_class)
    attend = run_on_each_photo(relevance_verbs.draw_attention, "attention of heads")
    heads = _verb(verbs, "attention", attend, "what a token attends to, head by head", photo=True)
    relevance_verbs.add_attention_flags(heads)
    ablate = run_on_each_photo(relevance_verbs.draw_head_drops)
    relevance_verbs.add_ablation_flags(
        _verb(verbs, "ablate", ablate, "what the answer loses without each head, one head at a time", photo=True)
    )
    keep = _verb(
        verbs,
        "cache",
        run_on_each_photo(relevance_verbs.write_activations, "activations"),
        "activations of a photo as NPZ",
        photo=True,
    )
    relevance_verbs.add_cache_flags(keep)
    towards = _verb(
        verbs, "steer", run_on_each_photo(relevance_verbs.draw_steering), "the answer on the way to another photo", photo=True
    )
    relevance_verbs.add_steer_flags(towards)
    all_of_it = _verb(verbs, "report", print, "handouts, pictures, numbers and animations of one photo or many", photo="*")
    taking_away.add_report_flags(rolling.add_rollout_flags(all_of_it))
    maptest.add_test_verb(verbs)
    comparing.add_compare_verb(verbs)
    quizzing.add_printable_quiz_verb(verbs)
    listing = verbs.add_parser("models", help="the models of the menu, or what one is made of (Table 1)")
    listing.add_argument("name", nargs="?", help="a name of the paper or of timm (nothing is downloaded), a run or a file")
    listing.add_argument("--px", type=int, help="side of its image (default: its own; 224 for a name of the paper)")
    listing.add_argument("--out", type=Path, help="a folder for the drawing, architecture.svg")
    listing.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    listing.set_defaults(run=models.print_models)
    inspecting.add_inspect_verb(verbs)
    profiling.add_profile_verb(verbs)
    training.add_training_verbs(verbs)
    experimenting.add_experiment_verb(verbs)
    completing.add_completion_verb(verbs, parser)
    for verb in verbs.choices.values():
        verb.set_defaults(verb_parser=verb)
    return parser


def _verb(verbs: Any, name: str, run: Callable, about: str, photo: bool | str = False) -> argparse.ArgumentParser:
    verb: argparse.ArgumentParser = verbs.add_parser(name, help=about, description=about)
    if photo:
        verb.add_argument(
            "photo", nargs="*" if photo == "*" else "+", type=Path, help="a photo, a folder of photos, or - (standard input)"
        )
    verb.add_argument(
        "--model",
        default=DEFAULT_MODEL,
        help=f"a name of `models`, any ViT of timm's, an hf-hub: id, a file or a directory (default {DEFAULT_MODEL})",
    )
    verb.add_argument("--out", type=Path, default=Path("out"), help="folder for PNG and NPZ (default ./out)")
    verb.add_argument("--json", action="store_true", help="print one JSON object instead of writing files")
    if photo is True:
        verb.add_argument("--json-lines", action="store_true", help="print a JSON object a photo, each in a line, as it is done")
    inspecting.add_checkpoint_config_flags(add_device_flags(verb))
    verb.set_defaults(run=run)
    return verb


def _draw_patches(args: argparse.Namespace, vit: Vit) -> None:
    """The photo cut into its grid."""
    from vitcore.analysis.patches import split_patches
    from vitcore.forward.block_activations import patch_embeddings

    if vit.patches is None:
        raise UsageError(f"{vit.name} does not cut the picture into patches: its first filters overlap.")
    rec = record_photo(vit, args.photo, fusions=())
    if not 0 <= args.gutter <= MAX_GUTTER_PX:
        raise UsageError(f"--gutter is from 0 to {MAX_GUTTER_PX}.")
    blocks, grid = split_patches(rec.model_input.pixels, vit.patches), vit.patches
    arrays = {"patches": blocks, "embeddings": patch_embeddings(vit, rec.model_input.numbers)}
    fig = lambda: vitcore.figures.patches(rec.model_input.pixels, grid, args.gutter)  # noqa: E731
    write_result(args, vit, "patches", fig, arrays, patches=len(blocks))


def _draw_filters(args: argparse.Namespace) -> None:
    """Principal components of the patch embedding's kernel, or of a hybrid's root convolution."""
    from vitcore.analysis.filters import components_as_picture, principal_components
    from vitcore.models import load_model

    vit = load_from_flags(args)
    kernel = load_model.first_layer_filters(vit)
    if kernel is None:
        raise UsageError(f"{vit.name} does not embed patches of pixels with one kernel, so it has no filters to show.")
    rooted = vit.hybrid or vit.patches is None
    if rooted:
        kind = "is a hybrid" if vit.hybrid else "cuts no patches"
        print(f"{vit.name} {kind}: it has no RGB patch filters; these are its root convolution's.", file=sys.stderr)
    basis = principal_components(kernel)
    most = len(basis.variance)
    count = min(28, most) if args.components is None else args.components
    if not 1 <= count <= most:
        raise UsageError(f"--components is from 1 to {most}.")
    shown = components_as_picture(basis.vectors[:count])
    bands = "RGB embedding filters" if vit.bands == 3 else f"Embedding filters, {vit.bands} bands side by side"
    subject = "Root convolution" if rooted else bands
    fig = lambda: vitcore.figures.filters(shown, basis.variance, subject=subject)  # noqa: E731
    arrays = {"components": basis.vectors, "variance": basis.variance}
    write_result(args, vit, "filters", fig, arrays, variance=basis.variance[:count].tolist())


def _draw_position_similarity(args: argparse.Namespace) -> None:
    """Cosine similarity of all position embeddings."""
    from vitcore.analysis.position_embeddings import correlation_with_distance, position_similarity
    from vitcore.models import load_model

    vit = load_from_flags(args)
    table = load_model.position_embeddings(vit)
    if table is None:
        raise UsageError(f"{vit.name} has no learned absolute position embeddings.")
    cosine = position_similarity(table)
    fig = lambda: vitcore.figures.position_similarity(cosine, vit.grid)  # noqa: E731
    near = correlation_with_distance(cosine, vit.grid)
    write_result(args, vit, "positions", fig, {"similarity": cosine}, similarity=cosine.tolist(), correlation_with_distance=near)


def _draw_attention_distance(args: argparse.Namespace) -> None:
    """Mean attention distance over one photo or many; damaged photos are named and left out."""
    from vitcore.analysis.attention_distance import mean_interval, uniform_distance_px
    from vitcore.forward.recordings import distributed

    files = list_photo_files(args.photo, args.images)
    vit = require_attention_over_grid(load_from_flags(args), "mean attention distance")
    measured = distributed.distributed_map(files, lambda mine: _distances(vit, mine, args.cls, len(files) == 1), BLOCK_OF_PHOTOS)
    for file, one in zip(files, measured, strict=True) if distributed.is_main_process() else ():
        if isinstance(one, str):
            report_left_out_photo(args, file, one)
    reaches = [one for one in measured if not isinstance(one, str)]
    if not reaches:
        raise UsageError("none of the photos could be read.")
    if not distributed.is_main_process():
        return
    mean, images = mean_interval(reaches), len(reaches)
    px = mean.mean
    fig = lambda: vitcore.figures.attention_distance(px, vit.grid, uniform_distance_px(vit.grid), args.cls, images)  # noqa: E731
    answer = {"distance_px": px.tolist(), "images": images, "cls": args.cls, "uniform_px": uniform_distance_px(vit.grid)}
    interval = {"low_px": mean.low, "high_px": mean.high} if images > 1 else {}
    answer |= {name: values.tolist() for name, values in interval.items()}
    write_result(args, vit, "distance", fig, {"distance_px": px, **interval}, **answer)


def _distances(vit: Vit, files: Sequence[Path], cls: str, alone: bool) -> list[NDArray[np.float32] | str]:
    """Distances (L, H) of each photo; for a damaged one among others, why it is left out."""
    from vitcore.forward.recordings.mean_distance import FIELDS
    from vitcore.forward.recordings.record_many import SkippedPhotosWarning, record_many
    from vitcore.images import PhotoError

    warnings.filterwarnings("ignore", category=SkippedPhotosWarning)  # each is said here, in a line of its own
    found: list[NDArray[np.float32] | str] = [""] * len(files)
    stream = record_many(vit, [photo_or_stdin(file) for file in files], batch=BLOCK_OF_PHOTOS, keep=(FIELDS[cls],))
    try:
        for one in stream:
            found[one.index] = one.kept[FIELDS[cls]]
            for note in one.notes:
                print(f"{one.name}: {note}", file=sys.stderr)
    except PhotoError:  # none of this process's could be opened
        if alone:
            raise
    for skipped in stream.skipped:
        found[skipped.index] = skipped.reason
    return found


def _draw_rollout(args: argparse.Namespace, vit: Vit) -> None:
    """Rollout of the class token, or of a patch."""
    from vitcore.images import sharp_crop

    grid = vit.grid
    if args.patch is not None and not 0 <= args.patch < grid.patches:
        raise UsageError(f"--patch is from 0 to {grid.patches - 1}.")
    rec, left_out = rolling.mask_outliers(record_photo(vit, args.photo, fusions=(args.fusion,)), args.mask_outliers)
    start = None if args.patch is None else grid.prefix + args.patch
    mask = rec.rollout(start, args.fusion, discard_ratio=args.discard, residual=args.residual, first_block=args.first_block,
                       convention=args.convention)  # fmt: skip
    who = f"the {vit.pooling}" if start is None else f"patch {args.patch}"
    marks, said = rolling.outliers_in_rollout(rec, mask)
    about = f"rollout of {who}" + (", outlier tokens masked" if left_out else "")
    photo = sharp_crop(rec.photo, rec.model_input)
    drawn = lambda: vitcore.figures.rollout(mask, photo, grid, args.style, subtitle=about, query_patch=args.patch)  # noqa: E731
    fig = lambda: vitcore.figures.frame_outliers(drawn(), marks, grid, sentence=said)  # noqa: E731
    arrays = {"rollout": mask, "fused": rec.fused[args.fusion], "logits": rec.logits}
    write_result(args, vit, "rollout", fig, arrays, rollout=mask.tolist(), top5=[list(pair) for pair in rec.top_classes()],
          masked_patches=left_out, outliers_standing_out=marks)  # fmt: skip
