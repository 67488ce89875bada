"""`python -m vitcore.train.ship`: a run's averaged weights, and the facts known of them, as a model file and its JSON card."""

import argparse
import json
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from safetensors import safe_open

from vitcore.train.recipe import Distil


def ship(snapshot: Path, recipe: Distil, to: Path, card: dict[str, Any], trained: dict[str, Any]) -> None:
    """Copy a snapshot's weights to `to`.safetensors and write `to`.json: card, architecture, input, training, measures."""
    architecture = {
        "img_size": recipe.image_px, "patch_size": recipe.patch_px, "embed_dim": recipe.width, "depth": recipe.blocks,
        "num_heads": recipe.heads, "num_classes": recipe.classes,
    }  # fmt: skip
    sees = {"mean": [0.5] * 3, "std": [0.5] * 3, "interpolation": "bicubic", "crop_pct": 1.0, "crop_mode": "center"}
    facts = {"card": card, "architecture": architecture, "input": sees, "recipe": asdict(recipe), "trained": trained}
    to.parent.mkdir(parents=True, exist_ok=True)
    to.with_suffix(".safetensors").write_bytes(snapshot.read_bytes())
    to.with_suffix(".json").write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n")


def parameters_m(snapshot: Path) -> float:
    """Parameters of a snapshot, in millions."""
    with safe_open(snapshot, "numpy") as file:
        return round(sum(file.get_tensor(name).size for name in file.keys()) / 1e6, 1)


def main() -> None:
    """Ship the newest snapshot of a run."""
    parser = argparse.ArgumentParser("python -m vitcore.train.ship", description=__doc__)
    parser.add_argument("run", type=Path, help="run folder")
    parser.add_argument("to", type=Path, help="the model's path without its ending")
    parser.add_argument("--title", required=True)
    parser.add_argument("--good-for", default="")
    parser.add_argument("--licence", default="Apache-2.0")
    parser.add_argument("--trained", type=Path, help="JSON of what it was trained on and what was measured")
    args = parser.parse_args()
    snapshot = max(args.run.glob("snapshot-*.safetensors"))
    saved = json.loads((args.run / "recipe.json").read_text())
    recipe = Distil(**{f.name: saved[f.name] for f in fields(Distil) if f.name in saved})
    card = {"title": args.title, "params_m": parameters_m(snapshot), "download_mb": 0, "licence": args.licence}
    trained = json.loads(args.trained.read_text()) if args.trained else {}
    ship(snapshot, recipe, args.to, card | {"good_for": args.good_for}, trained)
    print(f"{snapshot.name} -> {args.to}.safetensors")


if __name__ == "__main__":
    main()
