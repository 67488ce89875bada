"""Small models of every kind whose patches can be covered."""

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

KINDS = {
    "class token": {},
    "registers": {"reg_tokens": 4},
    "mean of patches": {"class_token": False, "global_pool": "avg", "fc_norm": False},
    "attention pool": {"class_token": False, "global_pool": "map"},
    "wide": {"img_size": (24, 48)},
    "no positions": {"pos_embed": "none"},
}


@pytest.fixture(params=KINDS)
def vit(request, make_vit):
    return replace(make_vit(**KINDS[request.param]), labels=tuple("abcdefghij"))


def noise_for(vit, seed=0):
    """A picture of the model's size."""
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, (*vit.grid.image_px, 3), np.uint8))
