"""`vitcore profile MODEL …`: images a second on this machine, the limit of its matrix products, the largest batch that fits."""

import argparse
import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

from vitcore.models.model_cards import DEFAULT_MODEL

PRECISIONS = ("auto", "fp32", "bf16")


def add_profile_verb(verbs: Any) -> None:
    """The verb."""
    about = "images a second over batch sizes on this machine, and the largest batch that fits (Figure 12)"
    verb = verbs.add_parser("profile", help=about, description=about)
    verb.add_argument(
        "models", nargs="*", default=[DEFAULT_MODEL], metavar="MODEL", help="names of the paper or of timm, runs or files"
    )
    verb.add_argument("--training", action="store_true", help="forward and backward, not the forward pass alone")
    verb.add_argument("--batches", type=_sizes, default=None, help="batch sizes, such as 1,8,64 (default 1 to 64)")
    verb.add_argument("--px", type=int, help="side of the image (default: the model's own)")
    verb.add_argument("--precision", choices=PRECISIONS, default="auto", help="auto: bf16 where the machine is fast in it")
    verb.add_argument("--memory-gb", type=float, help="look for the largest batch that fits into so much memory")
    verb.add_argument("--out", type=Path, help="a folder for the chart, speed.svg and speed.png")
    verb.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    verb.set_defaults(run=_run_profile)


def _run_profile(args: argparse.Namespace) -> None:
    """Measure, print, draw."""
    from vitcore.profiling.largest_batch import largest_batch
    from vitcore.profiling.throughput import BATCH_SIZES, measure_device, profile_throughput

    on = measure_device(args.precision)

    def told(batch: int) -> None:
        if sys.stderr.isatty():
            print(f"batch of {batch} …", file=sys.stderr)

    profiles = []
    for name in args.models:
        one = profile_throughput(name, on, args.px, args.batches or BATCH_SIZES, args.training, on_batch_size=told)
        if args.memory_gb:
            largest = largest_batch(name, args.memory_gb, args.px, args.training, on.precision)
            one = dataclasses.replace(one, largest_batch=largest, memory_gb=args.memory_gb)
        profiles.append(one)
    if args.out:
        _draw(on, profiles, args)
    if args.json:
        print(json.dumps({"device": dataclasses.asdict(on), "models": [dataclasses.asdict(one) for one in profiles]}))
        return
    print(f"{on.description}; a limit is that rate over the model's operations")
    for one in profiles:
        _print(one)


def _print(one: Any) -> None:
    print(f"\n{one.name} at {one.image_px[0]} × {one.image_px[1]} px, {'training' if one.training else 'inference'}: "
          f"{one.params / 1e6:.2f} M parameters, {one.flop_per_image / 1e9:.2f} GFLOP an image, "
          f"limit {one.limit_images_per_s:.4g} images/s")  # fmt: skip
    print("  batch   images/s   of the limit   memory, MB")
    for speed in one.speeds:
        used = "–" if speed.memory_mb is None else f"{speed.memory_mb:.0f}"
        share = speed.images_per_s / one.limit_images_per_s
        print(f"  {speed.batch:>5} {speed.images_per_s:>10.4g} {share:>14.0%} {used:>12}")
    if one.too_large:
        print(f"  a batch of {one.too_large} does not fit")
    if one.largest_batch is not None:
        print(f"  the largest batch in {one.memory_gb:g} GB: {one.largest_batch or 'none, not even one image fits'}")


def _draw(on: Any, profiles: list[Any], args: argparse.Namespace) -> None:
    from vitcore import figures

    lines = [
        figures.ThroughputCurve(p.name, [s.batch for s in p.speeds], [s.images_per_s for s in p.speeds], p.limit_images_per_s)
        for p in profiles if p.speeds
    ]  # fmt: skip
    drawn = figures.throughput(lines, on.description, args.training)
    args.out.mkdir(parents=True, exist_ok=True)
    for kind in ("svg", "png"):
        (args.out / f"speed.{kind}").write_bytes(figures.print_figure(drawn, kind))


def _sizes(text: str) -> tuple[int, ...]:
    """Batch sizes from "1,8,64". Raises: ArgumentTypeError."""
    try:
        sizes = tuple(int(one) for one in text.split(","))
    except ValueError:
        sizes = ()
    if not sizes or min(sizes) < 1:
        raise argparse.ArgumentTypeError(f"batch sizes are whole numbers from 1, such as 1,8,64; not {text!r}")
    return sizes
