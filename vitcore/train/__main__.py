"""`python -m vitcore.train`: teach (once), then distil; stop it at any time and start it again to go on."""

import argparse
import json
from dataclasses import fields
from pathlib import Path

import numpy as np

from vitcore.train.recipe import Distil


def parse() -> argparse.Namespace:
    """The recipe's fields are the flags."""
    parser = argparse.ArgumentParser(prog="python -m vitcore.train", description=__doc__)
    parser.add_argument("--dense", nargs="+", type=Path, required=True, help="Parquet files both teachers look at")
    parser.add_argument("--extra", nargs="*", type=Path, default=[], help="Parquet files only labelled")
    parser.add_argument("--labels-from", type=Path, required=True, help="safetensors of vit_tiny_patch16_224")
    parser.add_argument("--tokens-from", type=Path, required=True, help="safetensors of vit_small_patch14_dinov2")
    parser.add_argument("--out", type=Path, required=True, help="run folder")
    for f in fields(Distil):
        parser.add_argument(f"--{f.name.replace('_', '-')}", type=type(f.default), default=f.default)
    return parser.parse_args()


def main() -> None:
    """Lessons, then the loop; a line of JSON a record."""
    from vitcore.train import data, loop, teach

    args = parse()
    recipe = Distil(**{f.name: getattr(args, f.name) for f in fields(Distil)})
    lessons = args.out / "lessons"
    photos = [(p, True) for p, _ in data.rows(args.dense)] + [(p, False) for p, _ in data.rows(args.extra)]
    order = np.random.default_rng(recipe.seed).permutation(len(photos))
    labeller = teach.load_teacher("vit_tiny_patch16_224", args.labels_from)
    looker = teach.load_teacher("vit_small_patch14_dinov2", args.tokens_from, img_size=224, num_classes=0)
    patches = (recipe.image_px // recipe.patch_px) ** 2
    for done in teach.teach(
        lessons, [photos[i] for i in order], labeller, looker, recipe.image_px, patches, recipe.seed
    ):
        print(json.dumps({"taught": done, "of": len(photos)}), flush=True)
    run = loop.start(recipe, args.out)
    with (args.out / "log.jsonl").open("a") as log:
        for record in loop.train(run, teach.open_lessons(lessons), looker):
            print(json.dumps(record), file=log, flush=True)


if __name__ == "__main__":
    main()
