"""`vitcore models`: the menu of models, or the columns of the paper's Table 1 for any model; nothing is downloaded."""

from __future__ import annotations

import argparse
import dataclasses
import json
from typing import TYPE_CHECKING

import vitcore
from vitcore.models.model_cards import MODEL_CARDS

if TYPE_CHECKING:
    from vitcore.architectures.model_summary import Table1Row


def print_models(args: argparse.Namespace) -> None:
    """The menu, one model a row; or the row of Table 1 of one."""
    if args.name:
        _print_table_1_row(args)
    elif args.json:
        fields = ("name", "title", "params_m", "download_mb", "licence", "good_for")
        print(json.dumps({"models": [{f: getattr(card, f) for f in fields} for card in MODEL_CARDS]}, ensure_ascii=False))
    else:
        wide = max(len(card.name) for card in MODEL_CARDS)
        for card in MODEL_CARDS:
            print(f"{card.name:<{wide}}  {card.summary} · good for {card.good_for}")


def _print_table_1_row(args: argparse.Namespace) -> None:
    """A line, or one JSON object; with `--out` also architecture.svg."""
    from vitcore.architectures.model_summary import module_parts_with_repeats, table_1_row
    from vitcore.models.model_size import build_without_weights

    name, module, image_px = build_without_weights(args.name, args.px)
    table = table_1_row(module, image_px)
    if args.out:
        args.out.mkdir(parents=True, exist_ok=True)
        drawing = vitcore.figures.architecture(
            module_parts_with_repeats(module, image_px), name, subtitle=_table_1_line(table, short=True)
        )
        (args.out / "architecture.svg").write_bytes(vitcore.figures.print_figure(drawing, "svg"))
    print(json.dumps({"name": name} | dataclasses.asdict(table)) if args.json else f"{name}: {_table_1_line(table)}")


def _table_1_line(table: Table1Row, short: bool = False) -> str:
    """Table 1's columns; a range where stages differ. A `short` one has no image and fewer words."""
    spans = {"width": table.width, "MLP": table.mlp, "heads": table.heads}
    said = [f"{table.blocks} blocks"]
    said += [f"{name} {ends[0]}" + (f"–{ends[-1]}" if len(ends) > 1 else "") for name, ends in spans.items() if ends]
    said += [f"{table.params / 1e6:.2f} M parameters", f"{table.gmacs:.2f} GMACs"]
    said += [f"{table.tokens} tokens"] if table.tokens else []
    if short:
        return " · ".join(word.replace(" parameters", "").replace("width", "D") for word in said)
    return ", ".join(said) + f" at {table.image_px[0]} × {table.image_px[1]} px"
