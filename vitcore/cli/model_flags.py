"""The flags that say which model runs, on which device and in which numbers, and the model that they name."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import vitcore
from vitcore.cli import inspect as inspecting


def add_device_flags(verb: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Give the parser of a verb the settings of where its model runs."""
    verb.add_argument("--device", help="cpu, cuda, mps, …, or auto: the accelerator, if there is one (default cpu)")
    verb.add_argument("--dtype", help="the numbers it calculates with: float32, bfloat16 or float16 (default float32)")
    return verb


def load_from_flags(args: argparse.Namespace) -> vitcore.Vit:
    """The model that `--model` names, where `--device` and `--dtype` say."""
    return load_named(args.model, args)


def load_named(name: str, args: argparse.Namespace) -> vitcore.Vit:
    """The model of this name, by the other flags; a bar while it is downloaded. Raises: ModelError."""
    from vitcore.models.load_model import load

    answers, base = inspecting.answers_from_flags(args), inspecting.base_from_flags(args)
    inspecting.print_assumed_answers(name, answers, base)
    with _download_bar() as progress:
        return load(name, progress=progress, answers=answers, base=base, device=args.device, dtype=args.dtype)


@contextmanager
def _download_bar() -> Iterator[Callable[[int, int], None]]:
    """A bar on standard error that appears only when something is downloaded: what it is told of, bytes so far and in all."""
    bar: Any = None

    def show(done: int, total: int) -> None:
        from tqdm import tqdm

        nonlocal bar
        bar = bar or tqdm(total=total, desc="Downloading", unit="B", unit_scale=True, file=sys.stderr)
        bar.update(done - bar.n)

    try:
        yield show
    finally:
        if bar is not None:
            bar.close()
