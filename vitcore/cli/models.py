"""`vitcore models`: the menu of models, or Table 1 of one."""

import argparse
import json

from vitcore.models.model_cards import MODEL_CARDS


def list_models(args: argparse.Namespace) -> None:
    """The menu, one model a row; or the row of Table 1 of one."""
    if args.name:
        from vitcore.cli.table_1 import print_table_1

        print_table_1(args)
        return
    if args.json:
        fields = ("name", "title", "params_m", "download_mb", "licence", "good_for")
        print(json.dumps({"models": [{f: getattr(card, f) for f in fields} for card in MODEL_CARDS]}, ensure_ascii=False))
        return
    wide = max(len(card.name) for card in MODEL_CARDS)
    for card in MODEL_CARDS:
        print(f"{card.name:<{wide}}  {card.summary} · good for {card.good_for}")
