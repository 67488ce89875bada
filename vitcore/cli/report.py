"""The shell's verb `report`: everything of one photo or many into a folder, or one ZIP file, as the app's page gives it."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import vitcore
from vitcore.cli.model_flags import load_from_flags
from vitcore.cli.photos import list_photo_files, report_left_out_photo, require_attention_over_grid

if TYPE_CHECKING:
    from vitcore.models.load_model import Vit
    from vitcore.report.report_bundle import ReportBundleWriter
    from vitcore.report.report_settings import ReportSettings


def add_report_flags(verb: argparse.ArgumentParser) -> None:
    """Give the parser of the verb its flags."""
    verb.add_argument("--images", type=Path, help="a folder of photos, after those that are named")
    verb.add_argument("--pin", type=int, help="outline this patch, and show what it attends to in the layer")
    verb.add_argument("--layer", type=int, help="show the heads of this layer, from 0, or from the last as -1 (default: the last)")
    verb.add_argument("--head", type=int, help="lay this head's attention on the photo (default: the mean of all)")
    verb.add_argument("--token", type=int, help="ask this token before the patches, by its place, in place of --pin")
    verb.add_argument("--received", action="store_true", help="in the layer, show what attends to the token that is asked")
    verb.add_argument("--zip", action="store_true", help="one file, report.zip, in the folder")
    verb.set_defaults(run=_write_reports)


def _write_reports(args: argparse.Namespace) -> None:
    """Write handouts, pictures, numbers and animations; damaged photos are named and left out."""
    from vitcore.report.folder_or_zip import FolderWriter, ZipWriter
    from vitcore.report.report_bundle import ReportBundleWriter
    from vitcore.report.report_settings import ReportSettings

    files = list_photo_files(args.photo, args.images)
    asked = {field.name: getattr(args, field.name) for field in fields(ReportSettings) if hasattr(args, field.name)}
    settings = ReportSettings(**asked)
    vit = require_attention_over_grid(load_from_flags(args), "the handout")
    settings = settings.fit_to_model(vit.grid, vit.blocks, vit.heads)
    if args.json:
        print(json.dumps({"photos": _numbers(vit, files, settings)}, ensure_ascii=False))
        return
    if not args.zip:
        _fill(ReportBundleWriter(vit, FolderWriter(args.out), settings), files, args)
        print(args.out / "index.html")
        return
    args.out.mkdir(parents=True, exist_ok=True)
    target, growing = args.out / "report.zip", args.out / "report.zip.part"
    try:
        with growing.open("w+b") as file:
            _fill(ReportBundleWriter(vit, ZipWriter(file), settings), files, args)
        growing.replace(target)
    finally:
        growing.unlink(missing_ok=True)
    print(target)


def _numbers(vit: Vit, files: list[Path], settings: ReportSettings) -> list[dict[str, Any]]:
    from vitcore.report.model_facts import collect_model_facts
    from vitcore.report.report_numbers import report_numbers

    side = collect_model_facts(vit)
    kept = [settings.block(vit.blocks)] if settings.chooses_attention else []
    return [report_numbers(vit, vitcore.record(vit, file, maps=kept, fusions=(settings.fusion,)), settings, side) for file in files]


def _fill(bundle: ReportBundleWriter, files: list[Path], args: argparse.Namespace) -> None:
    from tqdm import tqdm

    from vitcore.report.report_settings import ReportOrigin

    for file in tqdm(files, unit="photo", file=sys.stderr, disable=len(files) < 2):
        try:
            photo = vitcore.open_photo(file, bands=bundle.vit.bands)
        except vitcore.PhotoError as error:
            if len(files) == 1:
                raise
            bundle.add_problem(str(error))
            report_left_out_photo(args, file, str(error))
            continue
        for note in photo.notes:
            print(f"{photo.name}: {note}", file=sys.stderr)
        bundle.add_photo(bundle.render_photo(photo, ReportOrigin(credit=read_credit(file), file=str(file))))
    if not bundle.photos:
        raise ValueError("none of the photos could be read.")
    bundle.close()


def read_credit(file: Path) -> dict[str, str]:
    """What a `credits.json` beside a photo says of it: a list of rows with an `id`, the photo's name; else nothing."""
    try:
        rows: Any = json.loads(file.with_name("credits.json").read_text(encoding="utf-8"))
        row: dict[Any, Any] = next((row for row in rows if row["id"] == file.stem), {})
        return {str(key): str(value) for key, value in row.items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}
