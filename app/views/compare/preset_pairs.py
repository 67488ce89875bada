"""Pairs of models that are ready to be chosen at a touch, with what each shows and what has to be downloaded."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import streamlit as st

from app import permissions, texts
from app.state.training import runs
from app.state.visit import current_model, second_model
from vitcore.models.model_cards import MODEL_CARDS

if TYPE_CHECKING:
    from vitcore.models.load_model import Vit


class PresetPair(NamedTuple):
    """A pair to be chosen at a touch; `first` empty: the model that is chosen already."""

    key: str
    first: str
    second: str
    picture: str
    size: str = second_model.OWN_SIZE


PRESET_PAIRS = (
    PresetPair("random", "", second_model.RANDOM, "tokens"),
    PresetPair("size", "", second_model.ITSELF, "rollout"),
    PresetPair("hybrid", "vit_base_patch16_384.augreg_in21k_ft_in1k", "vit_base_r50_s16_384.orig_in21k_ft_in1k", "distance"),
    PresetPair("positions", "vit_small_patch16_224.augreg_in21k_ft_in1k", "deit_small_patch16_224.fb_in1k", "positions"),
    PresetPair("dino", "vit_small_patch16_224.augreg_in21k_ft_in1k", "vit_small_patch14_dinov2.lvd142m", "rollout"),
    PresetPair("registers", "vit_small_patch14_dinov2.lvd142m", "vit_small_patch14_reg4_dinov2.lvd142m", "attention"),
    PresetPair("tuned", "vit_base_patch16_224.orig_in21k", "vit_base_patch16_224.orig_in21k_ft_in1k", "tokens"),
    PresetPair("clip", "vit_base_patch16_clip_224.openai", "vit_base_patch16_clip_224.openai_ft_in1k", "tokens"),
)
UNLISTED_MB = {"vit_base_patch16_224.orig_in21k_ft_in1k": 346}  # what is downloaded for models outside the menu


def presets_popover(text: texts.Prose, first: Vit) -> None:
    """The pairs, each a button with what it shows."""
    cards = {card.name: card for card in MODEL_CARDS}
    with st.popover(text["ready"], icon=":material/auto_awesome:", key="ready"):
        for preset in PRESET_PAIRS:
            size = _smaller_size(first) if preset.key == "size" else preset.size
            if preset.key == "size" and size == second_model.OWN_SIZE:
                continue
            wanted = [
                name for name in (preset.first, preset.second) if name and name not in (second_model.RANDOM, second_model.ITSELF)
            ]
            if not all(name in cards for name in wanted) and not permissions.allows("downloads"):
                continue
            _preset_button(text, preset._replace(size=size))
            caption = text[f"ready {preset.key} about"]
            if mb := [cards[n].download_mb if n in cards else UNLISTED_MB[n] for n in wanted]:
                caption += " " + text["ready download"].format(sizes=" + ".join(f"{one:.0f} MB" for one in mb))
            st.caption(caption)
        for name in list(runs.model_cards())[:3]:
            for which in second_model.run_checkpoints(name)[-1:]:
                _preset_button(text, PresetPair("steps", name, which, "tokens"), run=name)
                st.caption(text["ready steps about"])


def _preset_button(text: texts.Prose, preset: PresetPair, run: str = "") -> None:
    label = text[f"ready {preset.key}"].format(run=texts.escape_markdown(run))
    st.button(label, key=f"ready_{preset.key}_{run}", width="stretch", on_click=choose_preset, args=(preset,))


def _smaller_size(first: Vit) -> str:
    """A smaller input for the model beside itself, or OWN."""
    return next(iter(second_model.input_sizes(first)), second_model.OWN_SIZE)


def choose_preset(preset: PresetPair) -> None:
    """Show this pair."""
    current_model.FIRST.forget_problem()
    second_model.forget_variant_problem()
    st.session_state.update(
        {"b": preset.second, "b_px": preset.size, "picture": preset.picture} | ({"model": preset.first} if preset.first else {})
    )
