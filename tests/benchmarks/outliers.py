"""Benchmark: outlier tokens that the rule of `vitcore/analysis/outlier_tokens.py` finds in models on the photos of the gallery.

Run `python tests/benchmarks/outliers.py [NAME_OR_FILE …] [--px 224] [--normalise half|imagenet]`; without a name, of the model that
ships. Names of timm's are downloaded: the page Outlier tokens speaks of vit_tiny_patch16_224.augreg_in21k_ft_in1k,
deit_tiny_patch16_224.fb_in1k and vit_small_patch14_dinov2.lvd142m. Norms are counted after blocks 7 and later.
"""

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[0] = str(ROOT)
LATE = 7  # blocks whose norms are counted: where outliers have grown


def row(name: str, px: int | None, answers: dict[str, str]) -> str:
    """One model on all photos, as a line of the table."""
    import numpy as np

    from vitcore.assets import SAMPLES
    from vitcore.forward.mask_outliers import outliers_in_recording
    from vitcore.forward.recording import record
    from vitcore.models.load_model import load

    vit = load(name, px, answers=answers)
    corners = {0, vit.grid.cols - 1, vit.grid.patches - vit.grid.cols, vit.grid.patches - 1}
    each = [outliers_in_recording(record(vit, photo, store="query_key")) for photo in sorted(SAMPLES.glob("*.jpg"))]
    counts = [len(one.patches) for one in each]
    cornered = sum(len(corners.intersection(one.patches.tolist())) for one in each)
    times = np.stack([one.times for one in each])
    late = times[:, LATE:]
    high, middle = (late > 5).sum(), ((late > 2) & (late <= 5)).sum()
    cells = [Path(name).name, f"{vit.grid.image_px[0]} px", len(each), f"{min(counts)} to {max(counts)}"]
    cells += [f"{cornered} of {sum(counts)}", f"{times.max((1, 2)).min():.1f} to {times.max():.1f}", f"{late.size:,}"]
    return f"| {' | '.join(map(str, [*cells, high, (late > 20).sum(), middle]))} |"


def main() -> None:
    """Print the table."""
    from vitcore.cli import inspect
    from vitcore.models.model_cards import DEFAULT_MODEL

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=[DEFAULT_MODEL])
    parser.add_argument("--px", type=int, help="side of the input (default: the model's own)")
    inspect.add_checkpoint_config_flags(parser)
    args = parser.parse_args()
    print("| model | input | photos | outliers a photo | in corners | largest norm, × median | norms | > 5 × | > 20 × | 2 to 5 × |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name in args.models:
        print(row(name, args.px, inspect.answers_from_flags(args)), flush=True)


if __name__ == "__main__":
    main()
