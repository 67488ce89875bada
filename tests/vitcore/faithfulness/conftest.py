"""Small models of every kind whose patches can be covered."""

from dataclasses import replace

import pytest

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
