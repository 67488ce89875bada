"""`python -m tests.shipping.ship`: a run's model in half precision with its card, and its film, for `assets/`."""

import argparse
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from vitcore.train import film_files, run_folder


def ship(folder: run_folder.RunFolder, to: Path, card: dict[str, Any], trained: dict[str, Any], version: int,
         mixed: run_folder.RunFolder | None = None, share: float = 1.0) -> None:  # fmt: skip
    """Write `to`.safetensors in float16 and `to`.json: the run's card with `card`, its recipe, and what was measured.

    With `mixed`, the run it started from, the weights are `share` of the way from that run's to this one's.
    """
    facts = json.loads(folder.model.with_suffix(".json").read_text(encoding="utf-8"))
    facts["card"] |= card
    facts |= {"version": version, "recipe": asdict(run_folder.read_recipe(folder)), "trained": trained}
    if "labels" in facts and len(facts["labels"]) == 1000:
        del facts["labels"]  # ImageNet's names come with timm
    to.parent.mkdir(parents=True, exist_ok=True)
    weights = {
        k: v.half() for k, v in interpolate_weights(load_file(folder.model), load_file((mixed or folder).model), share).items()
    }
    run_folder.replace_file_atomically(to.with_suffix(".safetensors"), lambda file: save_file(weights, file))
    run_folder.write_file_atomically(to.with_suffix(".json"), json.dumps(facts, indent=1, ensure_ascii=False) + "\n")


def interpolate_weights(weights: dict[str, Tensor], start: dict[str, Tensor], share: float) -> dict[str, Tensor]:
    """Weights on the straight line from `start` (share 0) to `weights` (1): what fine-tuning gained, and less of what it cost.

    Wortsman et al., "Robust fine-tuning of zero-shot models", arXiv 2109.01903.
    """
    return {name: torch.lerp(start[name].float(), value.float(), share) for name, value in weights.items()}


def main() -> None:
    """Ship a run's model, its film, or both."""
    parser = argparse.ArgumentParser("python -m tests.shipping.ship", description=__doc__)
    parser.add_argument("run", help="the run's name or folder")
    parser.add_argument("--to", type=Path, help="the model's path without its ending")
    parser.add_argument("--film", type=Path, help="the recording's path, ending in .safetensors")
    parser.add_argument("--mixed-with", default="", help="the run it started from, to take weights in between")
    parser.add_argument("--share", type=float, default=1.0, help="how far from there to this run's weights")
    parser.add_argument("--title", required=True)
    parser.add_argument("--command", default="", help="what made the run, for those who want to make it again")
    parser.add_argument("--data", default="", help="the photos it learned from, in words, for the film")
    parser.add_argument("--good-for", default="")
    parser.add_argument("--version", type=int, default=1, help="which training of this name it is")
    parser.add_argument("--teacher", default="", help="who taught its layers, as people call it")
    parser.add_argument("--looker", default="", help="who taught its last class attention, as people call it")
    parser.add_argument("--licence", default="Apache-2.0")
    parser.add_argument("--trained", type=Path, help="JSON of what it was trained on and what was measured")
    args = parser.parse_args()
    folder = run_folder.find_run(args.run)
    if args.to:
        trained = json.loads(args.trained.read_text(encoding="utf-8")) if args.trained else {}
        card = {"title": args.title, "good_for": args.good_for, "licence": args.licence}
        card |= {"teacher": args.teacher, "looker": args.looker}
        mixed = run_folder.find_run(args.mixed_with) if args.mixed_with else None
        ship(folder, args.to, card, trained, args.version, mixed, args.share)
    if args.film:
        film = replace(film_files.film_of_run(folder.path, args.title), command=args.command, data=args.data)
        film_files.save_film(film, args.film)
    print(f"{folder.path} -> {' '.join(str(path) for path in (args.to, args.film) if path)}")


if __name__ == "__main__":
    main()
