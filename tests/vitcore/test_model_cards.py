"""The table of models: true, and cheap to read."""

import re

import pytest

from vitcore.architectures.meta_device import building_on_meta_device
from vitcore.models.assembly.assemble import assemble_vit
from vitcore.models.model_cards import DEFAULT_MODEL, MODEL_CARDS, ModelCard

FROM_HUB = MODEL_CARDS[1:]


def test_the_menu():
    assert MODEL_CARDS[0].name == DEFAULT_MODEL and MODEL_CARDS[0].download_mb == 0
    assert len({card.name for card in MODEL_CARDS}) == len({card.title for card in MODEL_CARDS}) == len(MODEL_CARDS) >= 15


def test_every_row_says_what_a_person_wants_to_know(subtests):
    assert MODEL_CARDS[0].summary == "5.6 M parameters · ships with the app · Apache-2.0"
    assert next(card for card in FROM_HUB if card.title == "ViT-B/16").summary == "86.6 M parameters · 346 MB download · Apache-2.0"
    assert ModelCard("a", "A", 12.34, 0, "", note="trained here").summary == "12.3 M parameters · trained here"
    for card in MODEL_CARDS:
        with subtests.test(card.name):
            assert card.title and card.good_for and not card.note
            assert re.fullmatch(r"\d+\.\d M parameters · (ships with the app|\d+ MB download) · [\w.-]+", card.summary)


@pytest.mark.parametrize("card", FROM_HUB, ids=lambda card: card.name)
def test_rows_of_the_hub_are_true(card):
    """Parameters, licence and where it lies, from timm itself; and it is a model these pictures are defined for: two of its blocks
    say as much as all, which are alike."""
    import timm
    from timm.data import resolve_model_data_config

    with building_on_meta_device():
        module, two_blocks = (timm.create_model(card.name, pretrained=False, **few) for few in ({}, {"depth": 2}))
    assert card.params_m == pytest.approx(sum(p.numel() for p in module.parameters()) / 1e6, abs=0.06)
    assert card.download_mb == pytest.approx(4 * card.params_m)  # safetensors with 32 bits
    config = timm.models.get_pretrained_cfg(card.name)
    assert config.hf_hub_id == f"timm/{card.name}" and config.hf_hub_filename is None
    assert config.license == card.licence.lower()
    vit = assemble_vit(card, two_blocks, resolve_model_data_config(two_blocks))
    assert vit.grid.prefix == module.num_prefix_tokens and vit.hybrid == ("hybrid" in card.title)
