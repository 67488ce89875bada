"""The flags of rollout, which `rollout` and `report` share, and outlier tokens left out where that is asked."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from vitcore.analysis.rollout_options import HEAD_FUSIONS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from vitcore.forward.recording import Recording


def add_rollout_flags(verb: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Give the parser of a verb the settings of a rollout."""
    verb.add_argument("--fusion", choices=HEAD_FUSIONS, default=HEAD_FUSIONS[0], help="how heads are fused")
    verb.add_argument("--discard", type=float, default=0.0, help="share of the weakest weights set to 0, 0 to below 1")
    verb.add_argument("--residual", type=float, default=0.5, help="weight of the identity, 0 to 1 (default 0.5)")
    verb.add_argument("--first-block", type=int, default=0, help="the first block, from 0, or from the last as -1")
    verb.add_argument("--patch", type=int, help="ask for this patch instead of the class token")
    return add_mask_flag(verb)


def add_mask_flag(verb: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Give the parser of a verb the setting that the pages call "mask outlier tokens"."""
    verb.add_argument("--mask-outliers", action="store_true", help="take outlier tokens (arXiv 2309.16588) out of attention")
    return verb


def mask_outliers(rec: Recording, requested: bool) -> tuple[Recording, list[int]]:
    """The recording with its outlier tokens masked, if that was asked, and which patches they are; says so where there are none."""
    if not requested:
        return rec, []
    from vitcore.forward.mask_outliers import mask_outlier_tokens, outliers_in_recording

    patches = outliers_in_recording(rec).patches.tolist()
    if not patches:
        print(f"{rec.photo.name}: no patch is an outlier, so nothing is masked.", file=sys.stderr)
    return mask_outlier_tokens(rec), patches


def outliers_in_rollout(rec: Recording, mask: NDArray) -> tuple[list[int], str]:
    """The outlier tokens (patches) that hold much of a rollout, and what is said of them; none where they are masked."""
    from vitcore.analysis.outlier_tokens import outliers_in_map as of_map
    from vitcore.forward.mask_outliers import outliers_in_recording
    from vitcore.outlier_sentences import outlier_sentence

    marks = of_map(mask, outliers_in_recording(rec).patches).tolist()
    return marks, outlier_sentence(marks, rec.grid)
