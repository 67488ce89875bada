"""The photos that a verb is given, as files, folders or standard input (-), and the verb run on each of them."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import vitcore
from vitcore.cli.model_flags import load_from_flags
from vitcore.file_names import append_number_if_taken

Verb = Callable[[argparse.Namespace, "vitcore.Vit"], None]


class UsageError(ValueError):
    """What can't be done in the command, as one sentence."""


def list_photo_files(paths: Iterable[Path], folder: Path | None = None) -> list[Path]:
    """The files that are named, of a folder its photos, then those of `folder`. Raises: PhotoError; UsageError, for none."""
    from vitcore.images import photos_in_folder

    named = [*paths, *([folder] if folder is not None else [])]
    if not named:
        raise UsageError("name a photo, or a folder with --images.")
    return [file for one in named for file in (photos_in_folder(one) if one is folder or one.is_dir() else [one])]


def photo_or_stdin(photo: Path) -> Any:
    """The file that is named, or standard input, which is named -."""
    return sys.stdin.buffer if str(photo) == "-" else photo


def record_photo(vit: vitcore.Vit, photo: Path, **kwargs: Any) -> vitcore.Recording:
    """The recording of a photo; what was done to the photo is told."""
    rec = vitcore.record(vit, photo_or_stdin(photo), **kwargs)
    for note in rec.photo.notes:
        print(f"{rec.photo.name}: {note}", file=sys.stderr)
    return rec


def require_attention_over_grid(vit: vitcore.Vit, what: str) -> vitcore.Vit:
    """The model, if its attention is over one grid of patches. Raises: UsageError, saying why `what` is not defined."""
    if not vit.is_global:
        raise UsageError(vit.why_undefined(what))
    return vit


def run_on_each_photo(verb: Verb, of_attention: str = "") -> Callable[[argparse.Namespace], None]:
    """What runs a verb on every photo: `args.photo` is then one, and of several `args.photo_name` begins the names of files.

    of_attention: what the verb shows of attention over one grid, without which it is refused.
    """

    def run(args: argparse.Namespace) -> None:
        files = list_photo_files(args.photo)
        vit = load_from_flags(args)
        if of_attention:
            require_attention_over_grid(vit, of_attention)
        if len(files) == 1:
            args.photo = files[0]
            verb(args, vit)
        else:
            _run_on_several(verb, args, vit, files)

    return run


def _run_on_several(verb: Verb, args: argparse.Namespace, vit: vitcore.Vit, files: list[Path]) -> None:
    """A damaged photo is named and left out. Raises: UsageError, where all are."""
    from tqdm import tqdm

    answers: list[dict[str, Any]] = []
    names, done = _distinct_names(files), 0
    for file, name in zip(tqdm(files, unit="photo", file=sys.stderr), names, strict=True):
        one = argparse.Namespace(**{**vars(args), "photo": file, "photo_name": name, "answers": answers})
        try:
            verb(one, vit)
            done += 1
        except vitcore.PhotoError as error:
            report_left_out_photo(args, file, str(error))
    if not done:
        raise UsageError("none of the photos could be read.")
    if args.json and not args.json_lines:
        print(json.dumps({"photos": answers}, ensure_ascii=False))


def report_left_out_photo(args: argparse.Namespace, file: Path, reason: str) -> None:
    """Say why a photo is left out; one that was named by itself is kept in `args.left_out`, which decides the exit status."""
    print(reason, file=sys.stderr)
    if file in args.photo:
        args.left_out = [*getattr(args, "left_out", ()), reason]


def _distinct_names(files: list[Path]) -> list[str]:
    """What each photo's files begin with: its name without the suffix, with a number where another has it."""
    names: list[str] = []
    for file in files:
        stem = "stdin" if str(file) == "-" else file.stem
        names.append(append_number_if_taken(stem, names))
    return names


def is_json_asked(args: argparse.Namespace) -> bool:
    """Whether a verb prints JSON, of all photos or a line a photo, and writes no files."""
    return bool(args.json or getattr(args, "json_lines", False))


def write_result(
    args: argparse.Namespace, vit: vitcore.Vit, name: str, fig: Callable[[], Any] | None, arrays: dict, **answer: Any
) -> None:  # fmt: skip
    """Print the JSON object, or write NAME.png and NAME.npz; of one photo of several, PHOTO-NAME.png and PHOTO-NAME.npz.

    Without a figure there is no PNG.
    """
    of_several, by_line = getattr(args, "photo_name", None), getattr(args, "json_lines", False)
    if is_json_asked(args):
        grid = vit.grid
        size = {"patch_px": grid.patch_px, "prefix_tokens": grid.prefix}
        facts = {"model": vit.name, "grid": [grid.rows, grid.cols], **size}
        facts |= {"assumed": dict(vit.assumed)} if vit.assumed else {}
        if by_line:
            print(json.dumps({"photo": str(args.photo)} | facts | answer, ensure_ascii=False), flush=True)
        elif of_several is None:
            print(json.dumps(facts | answer, ensure_ascii=False))
        else:
            args.answers.append({"photo": str(args.photo)} | facts | answer)
        return
    from vitcore.csv_and_npz import to_npz

    drawn = None if fig is None else vitcore.figures.print_figure(fig(), "png")
    args.out.mkdir(parents=True, exist_ok=True)
    file = args.out / (name if of_several is None else f"{of_several}-{name}")
    png, npz = (file.with_name(f"{file.name}.{kind}") for kind in ("png", "npz"))
    npz.write_bytes(to_npz(arrays))
    if drawn is not None:
        png.write_bytes(drawn)
    print(npz if drawn is None else f"{png}  {npz}")
