"""The flags that say which model runs, on which device and in which numbers, and the model that they name."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from vitcore.cli import inspect as inspecting

if TYPE_CHECKING:
    from vitcore.models.load_model import Vit


def add_device_flags(verb: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Give the parser of a verb the settings of where its model runs."""
    verb.add_argument("--device", help="cpu, cuda, mps, …, or auto: the accelerator, if there is one (default cpu)")
    verb.add_argument("--dtype", help="the numbers it calculates with: float32, bfloat16 or float16 (default float32)")
    return verb


def load_from_flags(args: argparse.Namespace) -> Vit:
    """The model that `--model` names, where `--device` and `--dtype` say."""
    return load_named(args.model, args)


def load_named(name: str, args: argparse.Namespace) -> Vit:
    """The model of this name, by the other flags; a bar while it is downloaded. Raises: ModelError."""
    from vitcore.models.load_model import load

    answers, base = inspecting.answers_from_flags(args), inspecting.base_from_flags(args)
    inspecting.print_assumed_answers(name, answers, base)
    with DownloadBar("Downloading") as progress:
        return load(name, progress=progress, answers=answers, base=base, device=args.device, dtype=args.dtype)


class DownloadBar:
    """A download bar on standard error that appears only when something is downloaded."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.bar: Any = None

    def __enter__(self) -> Callable[[int, int], None]:
        return self.show

    def show(self, done: int, total: int) -> None:
        from tqdm import tqdm

        self.bar = self.bar or tqdm(total=total, desc=self.title, unit="B", unit_scale=True, file=sys.stderr)
        self.bar.update(done - self.bar.n)

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.close()
