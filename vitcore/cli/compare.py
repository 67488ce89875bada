"""The shell's verb `compare`: two models on one photo, or on one each, as a table, as JSON, or as figures with shared scales."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import vitcore
from vitcore.cli import rollout as rolling
from vitcore.cli.model_flags import add_device_flags, load_named

if TYPE_CHECKING:
    from vitcore.forward.compare_models import Comparison
    from vitcore.models.load_model import Vit

TOP_CLASSES = 5


def add_compare_verb(verbs: Any) -> None:
    """Add the verb to the shell's."""
    about = "two models on one photo, or on one each: rollouts, tokens and answers beside each other"
    verb = verbs.add_parser("compare", help=about, description=about)
    verb.add_argument("first", metavar="A", help="a name of `models`, any ViT of timm's, a file, or a run's folder")
    verb.add_argument("second", metavar="B", help="another")
    verb.add_argument("photo", type=Path)
    verb.add_argument(
        "second_photo", metavar="photo-of-B", type=Path, nargs="?", help="B's photo, right behind the first; default: the same"
    )
    verb.add_argument("--out", type=Path, help="a folder for figures with shared scales, a handout, and the numbers as NPZ")
    add_device_flags(rolling.add_mask_flag(verb))
    verb.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    verb.set_defaults(run=_print_comparison)


def _print_comparison(args: argparse.Namespace) -> None:
    """Print how alike two models are on a photo, and draw them."""
    from vitcore.report.comparison_handout import comparison_as_json

    photos = vitcore.open_photo(args.photo), vitcore.open_photo(args.second_photo or args.photo)
    vits = load_named(args.first, args), load_named(args.second, args)
    first, second = (vitcore.record_tokens(vit, photo) for vit, photo in zip(vits, photos, strict=True))
    comparison = vitcore.compare(first, second, mask_outliers=args.mask_outliers)
    if args.json:
        print(json.dumps(comparison_as_json(comparison), ensure_ascii=False, allow_nan=False))
    else:
        print("\n".join(_comparison_table(comparison)))
    if args.out:
        _write_comparison(comparison, vits, args.out, quiet=args.json)


def _comparison_table(comparison: Comparison) -> list[str]:
    """The comparison as lines for a terminal."""
    from vitcore.report.comparison_handout import outlier_sentences, two_photos_sentence

    a, b = (side.rec for side in comparison.recordings)
    wide = max(len(a.model), 34)
    row = lambda name, one, two: f"{name:<9}{one:<{wide}}  {two}"  # noqa: E731
    sizes = [
        f"{r.grid.rows}×{r.grid.cols} patches, {len(s.tokens)} blocks" for r, s in zip((a, b), comparison.recordings, strict=True)
    ]
    lines = [row("model", a.model, b.model), row("photo", a.photo.name, b.photo.name), row("shape", *sizes)]
    tops = [[f"{p:6.1%}  {label}"[:34] for label, p in r.top_classes(TOP_CLASSES)] for r in (a, b)]
    for i in range(max(map(len, tops))):
        lines.append(row("" if i else "answer", *(top[i] if i < len(top) else "" for top in tops)))
    if not comparison.of_one_photo:
        return [*lines, *filter(None, outlier_sentences(comparison)), "", two_photos_sentence(), "", *_answers(comparison)]
    lines += ["", f"rollouts       {_on(comparison.grid)}", f"               rank correlation {comparison.rank_correlation:.3f}"]
    lines += [f"               {one}" for one in outlier_sentences(comparison) if one]
    if apart := _farthest(comparison):
        lines.append(f"               {apart}")
    lines += ["", f"tokens         {_on(comparison.cka_grid)}", "               linear CKA, block by block"]
    lines += [f"               {i:>3} · {j:<3} {value:.3f}  {'▇' * round(20 * value) if value == value else ''}"
              for i, j, value in comparison.cka_per_layer]  # fmt: skip
    return [*lines, "", *_answers(comparison)]


def _farthest(comparison: Comparison) -> str:
    """Where one rollout exceeds the other most; nothing where they are equal."""
    place = int(abs(comparison.difference).argmax())
    most, (row, col) = float(comparison.difference.flat[place]), divmod(place, comparison.grid.cols)
    who = comparison.recordings[0 if most > 0 else 1].rec.model
    return f"farthest apart in row {row}, column {col}: {who} has {abs(most):.2f} points more there" if most else ""


def _on(grid: Any) -> str:
    told = "averaged over the cells of a grid common to both" if grid.resampled else "patch by patch: the grids agree"
    return f"{grid.rows}×{grid.cols} positions, {told}"


def _answers(comparison: Comparison) -> list[str]:
    answers = comparison.answers
    if answers is None:
        return ["answers        can't be compared: the models don't tell the same classes apart"]
    same = "the same" if answers.same_top1 else "another"
    return [
        f"answers        the likeliest class is {same}; {answers.shared_top5} of the likeliest {answers.of} are shared",
        f"               Jensen-Shannon divergence {answers.divergence_bits:.3f} bits",
    ]


def _write_comparison(comparison: Comparison, vits: tuple[Vit, Vit], out: Path, quiet: bool = False) -> None:
    """Figures as PNG, what is compared on one scale, the handout, and the numbers as compare.npz."""
    import numpy as np

    from vitcore.report.comparison_handout import comparison_command, comparison_figures, comparison_handout

    out.mkdir(parents=True, exist_ok=True)
    for name, fig in comparison_figures(comparison, vits).items():
        (out / f"{name}.png").write_bytes(vitcore.figures.print_figure(fig, "png"))
        if not quiet:
            print(out / f"{name}.png")
    recs = [side.rec for side in comparison.recordings]
    place_by_place: dict[str, Any] = {"difference": comparison.difference, "cka": comparison.cka} if comparison.of_one_photo else {}
    np.savez_compressed(
        out / "compare.npz", rollout_a=comparison.rollouts[0], rollout_b=comparison.rollouts[1],
        distance_px_a=recs[0].distance_px, distance_px_b=recs[1].distance_px, **place_by_place,
    )  # fmt: skip
    photos = [rec.photo.name for rec in recs][: comparison.photo_count]
    command = comparison_command(vits[0].name, vits[1].name, *photos, mask_outliers=comparison.masked)
    (out / "compare.html").write_bytes(comparison_handout(comparison, vits, command=command))
    if not quiet:
        print(out / "compare.npz", out / "compare.html", sep="\n")
