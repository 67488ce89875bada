"""Pairs of models that are ready to be chosen at a touch, with what each shows and what has to be downloaded."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import streamlit as st

from app import mode, texts
from app.furniture import controls
from app.state import runs, session
from app.state.beside import second
from vitcore.models.model_cards import CARDS

if TYPE_CHECKING:
    from vitcore.models.load_model import Vit


class Ready(NamedTuple):
    """A pair to be chosen at a touch; `a` empty: the model that is chosen already."""

    key: str
    a: str
    b: str
    picture: str
    size: str = second.OWN


READY = (
    Ready("random", "", second.RANDOM, "tokens"),
    Ready("size", "", second.ITSELF, "rollout"),
    Ready("hybrid", "vit_base_patch16_384.augreg_in21k_ft_in1k", "vit_base_r50_s16_384.orig_in21k_ft_in1k", "distance"),
    Ready("positions", "vit_small_patch16_224.augreg_in21k_ft_in1k", "deit_small_patch16_224.fb_in1k", "positions"),
    Ready("dino", "vit_small_patch16_224.augreg_in21k_ft_in1k", "vit_small_patch14_dinov2.lvd142m", "rollout"),
    Ready("registers", "vit_small_patch14_dinov2.lvd142m", "vit_small_patch14_reg4_dinov2.lvd142m", "attention"),
    Ready("tuned", "vit_base_patch16_224.orig_in21k", "vit_base_patch16_224.orig_in21k_ft_in1k", "tokens"),
    Ready("clip", "vit_base_patch16_clip_224.openai", "vit_base_patch16_clip_224.openai_ft_in1k", "tokens"),
)
UNLISTED_MB = {"vit_base_patch16_224.orig_in21k_ft_in1k": 346}  # what is downloaded for models outside the menu


def popover(text: texts.Prose, first: Vit) -> None:
    """The pairs, each a button with what it shows."""
    cards = {card.name: card for card in CARDS}
    with st.popover(text["ready"], icon=":material/auto_awesome:", key="ready"):
        for one in READY:
            size = _half(first) if one.key == "size" else one.size
            if one.key == "size" and size == second.OWN:
                continue
            wanted = [name for name in (one.a, one.b) if name and name not in (second.RANDOM, second.ITSELF)]
            if not all(name in cards for name in wanted) and not mode.allows("downloads"):
                continue
            _button(text, one._replace(size=size))
            said = text[f"ready {one.key} about"]
            if mb := [cards[n].download_mb if n in cards else UNLISTED_MB[n] for n in wanted]:
                said += " " + text["ready download"].format(sizes=" + ".join(f"{one:.0f} MB" for one in mb))
            st.caption(said)
        for name in list(runs.cards())[:3]:
            for which in second.steps(name)[-1:]:
                _button(text, Ready("steps", name, which, "tokens"), run=name)
                st.caption(text["ready steps about"])


def _button(text: texts.Prose, one: Ready, run: str = "") -> None:
    label = text[f"ready {one.key}"].format(run=controls.verbatim(run))
    st.button(label, key=f"ready_{one.key}_{run}", width="stretch", on_click=choose, args=(one,))


def _half(first: Vit) -> str:
    """A smaller input for the model beside itself, or OWN."""
    return next(iter(second.sizes(first)), second.OWN)


def choose(one: Ready) -> None:
    """Show this pair."""
    session.forget_model_errors()
    second.forget()
    st.session_state.update(
        {"b": one.b, "b_px": one.size, "picture": one.picture} | ({"model": one.a} if one.a else {})
    )
