"""The shell's verbs `evaluate` and `few-shot`: how well a model does on labelled photos, all of a data set or a split of it."""

from __future__ import annotations

import argparse
import json
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from vitcore.cli.model_flags import add_device_flags, load_from_flags
from vitcore.models.model_cards import DEFAULT_MODEL

if TYPE_CHECKING:
    from vitcore.train.evaluation.choose_split import SplitPhotos

DATA_HELP = "a folder of class folders, .parquet files, cifar10, cifar100, hf:owner/name, drawn, digits, or samples"
SHOTS = (1, 5, 10, 25)
SHOTS_HELP = "photos a class (default: of 1 5 10 25 those that every class has)"
SPLIT_HELP = "the photos asked about (default: the validation photos that DATA has or a run held out of it, else all)"


def add_evaluation_verbs(verbs: Any) -> None:
    """Add the verbs to the shell's."""
    judge = verbs.add_parser("evaluate", help="top-1 and top-5 accuracy of a model on labelled photos")
    judge.set_defaults(run=_print_accuracy)
    shots = verbs.add_parser("few-shot", help="few-shot linear accuracy of a model's features (§4.1)")
    shots.add_argument("--shots", type=int, nargs="+", help=SHOTS_HELP)
    shots.set_defaults(run=_print_few_shot_accuracy)
    for verb in (judge, shots):
        verb.add_argument("--model", default=DEFAULT_MODEL, help=f"a name, a file or a run (default {DEFAULT_MODEL})")
        verb.add_argument("--data", required=True, help=DATA_HELP)
        verb.add_argument("--split", choices=("all", "train", "validation"), help=SPLIT_HELP)
        verb.add_argument("--json", action="store_true", help="one JSON object")
        add_device_flags(verb)


def _print_accuracy(args: argparse.Namespace) -> None:
    """Top-1 and top-5 on the photos of a split: `photos`, `left_out` and `outside_split` are all that the data set has."""
    from vitcore.train.evaluation.accuracy import measure_accuracy

    asked = _open_photos(args)
    vit = load_from_flags(args)
    facts = {"model": vit.name, "data": args.data, "split": asked.split}
    _print(args, facts | measure_accuracy(vit, asked.photos) | {"outside_split": asked.outside_split})


def _print_few_shot_accuracy(args: argparse.Namespace) -> None:
    """Closed-form linear accuracy from a few photos a class.

    Of a split with another beside it, the other one is learned from, or itself where it is the one to train on; of a whole
    data set, some photos are learned from and all others are asked about, over many draws.
    """
    from vitcore.train.evaluation.accuracy import extract_readable_features
    from vitcore.train.evaluation.few_shot import few_shot_accuracy, few_shot_over_draws

    asked = _open_photos(args)
    vit = load_from_flags(args)
    rows, x = extract_readable_features(vit, asked.photos)
    labels, used, of, classes = asked.photos.labels[rows], len(rows), len(asked.photos), asked.photos.classes
    if asked.split == "validation" and asked.other is not None:
        learned, train_x = extract_readable_features(vit, asked.other)
        used, of = used + len(learned), of + len(asked.other)
        train_y = asked.other.labels[learned]
        accuracies = few_shot_accuracy(train_x, train_y, x, labels, _shots(args, train_y), classes=classes)
    else:
        over_draws = partial(few_shot_over_draws, x, labels, classes=classes)
        accuracies = {shots: over_draws(shots).mean_accuracy for shots in _shots(args, labels, asked=1)}
    counts = {"photos": used, "left_out": of - used, "outside_split": len(asked.photos) + asked.outside_split - of}
    facts = {"model": vit.name, "data": args.data, "split": asked.split, **counts}
    _print(args, facts | {f"{shots}-shot": round(100 * share, 2) for shots, share in accuracies.items()})


def _shots(args: argparse.Namespace, labels: Any, asked: int = 0) -> tuple[int, ...]:
    """The shots that were named, or of the usual ones those that every class has, beside photos that are asked about."""
    import numpy as np

    most = min(np.unique(labels, return_counts=True)[1], default=0) - asked
    return tuple(args.shots or [shots for shots in SHOTS if shots <= most] or SHOTS[:1])


def _open_photos(args: argparse.Namespace) -> SplitPhotos:
    from vitcore.train.data.photos import check_has_classes
    from vitcore.train.evaluation.choose_split import open_split, run_trained_on

    found = open_split(args.data, args.split, args.model)
    check_has_classes(found.photos)
    if (found.other is None or found.split == "train") and run_trained_on(args.data, args.model):
        print(f"{args.model} was trained on photos of {args.data}, and they are asked about.", file=sys.stderr)
    return found


def _print(args: argparse.Namespace, facts: dict[str, Any]) -> None:
    if args.json:
        print(json.dumps(facts, ensure_ascii=False))
    else:
        print("\n".join(f"{name:<13} {value}" for name, value in facts.items()))
