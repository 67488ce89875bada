"""One frame: a model of a moment, run on a few photos, as the arrays that `train/film_files.py` describes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from vitcore.forward.recording import Recording
from vitcore.models import load_model
from vitcore.train.film_files import TOP_CLASSES


def film_frame_from_recordings(vit: load_model.Vit, recs: Sequence[Recording]) -> dict[str, NDArray]:
    """The arrays of a frame, of photos that are recorded already; float16 where pictures need no more."""
    looks = [rec.grid.to_map(rec.pooling_weights @ rec.attention_per_layer()[-1]) for rec in recs]  # (rows, cols) each
    kernel, table = load_model.patch_kernel(vit), load_model.position_embeddings(vit)
    frame: dict[str, Any] = {
        "distance_px": np.mean([rec.distance_px for rec in recs], 0, dtype=np.float32),
        "rollout": np.stack([rec.rollout() for rec in recs]).astype(np.float16),
        "last_block": np.stack(looks).astype(np.float16),
    }
    if kernel is not None:
        frame["kernel"] = kernel.astype(np.float16)
    if table is not None:
        frame["positions"] = table.astype(np.float16)
    return frame | _top(vit, recs)


def _top(vit: load_model.Vit, recs: Sequence[Recording]) -> dict[str, NDArray]:
    if not vit.labels:
        return {}
    logits = torch.from_numpy(np.stack([rec.logits for rec in recs]))
    top = logits.softmax(-1).topk(min(TOP_CLASSES, logits.shape[1]))
    return {"top_class": top.indices.int().numpy(), "top_p": top.values.half().numpy()}
