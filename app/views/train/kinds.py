"""What kind of model learns: the paper's families and its ablations by plain names, each with what follows from it.

A kind is some fields of a recipe. Only those are offered that go together with the preset's task.
"""

from __future__ import annotations

from typing import Any

import streamlit as st

from app import texts
from app.furniture.controls import named, verbatim
from vitcore.train.presets import PRESETS
from vitcore.train.recipe import Recipe, RecipeError, changed

PLAIN = "plain"
BASE = 768  # a preset as wide as this, or wider, is given the paper's convolutions, others small ones
KINDS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {  # small, and as the paper has it
    PLAIN: ({}, {}),
    "hybrid": ({"resnet": "R14/16", "patch_px": 16}, {"resnet": "R50/16", "patch_px": 16}),
    "axial": ({"family": "axial", "readout": "mean"}, {"family": "axial", "readout": "mean"}),
    "resnet": ({"family": "resnet", "resnet": "R26", "width": 64, "patch_px": 32},
               {"family": "resnet", "resnet": "R50", "width": 64, "patch_px": 32, "mlp_head": False}),
    "axial resnet": ({"family": "axial resnet", "resnet": "R26", "width": 32, "heads": 4, "patch_px": 32},
                     {"family": "axial resnet", "resnet": "R50", "width": 64, "heads": 8, "patch_px": 32, "mlp_head": False}),
    "none": ({"positions": "none"}, {"positions": "none"}),
    "2d": ({"positions": "2d"}, {"positions": "2d"}),
    "relative": ({"positions": "relative", "positions_at": "blocks"}, {"positions": "relative", "positions_at": "blocks"}),
    "mean": ({"readout": "mean"}, {"readout": "mean"}),
}  # fmt: skip
CELLS = 4  # rows and columns that convolutions leave of a picture, at least; ResNets as few as two
FEW = 2


def fields(preset: str, kind: str) -> dict[str, Any]:
    """What the kind changes of the preset's recipe; a picture that convolutions would leave too little of is enlarged."""
    usual = PRESETS[preset]()
    wanted = dict(KINDS[kind][usual.width >= BASE])
    if apart_px := wanted.get("patch_px"):
        least = apart_px * (FEW if "resnet" in wanted.get("family", "") else CELLS)
        wanted["image_px"] = max(usual.image_px, least)
    return {name: value for name, value in wanted.items() if value != getattr(usual, name)}


def offered(preset: str) -> list[str]:
    """The kinds that can learn what the preset teaches."""
    return [kind for kind in KINDS if _goes(preset, kind)]


def _goes(preset: str, kind: str) -> bool:
    try:
        changed(PRESETS[preset](), fields(preset, kind))
    except RecipeError:
        return False
    return kind == PLAIN or bool(fields(preset, kind))


def recipe(preset: str, kind: str) -> Recipe:
    """The preset's recipe for a model of that kind."""
    return changed(PRESETS[preset](), fields(preset, kind))


def choose(preset: str, text: texts.Prose) -> str:
    """The menu of kinds, and what follows from the one that is chosen."""
    there = offered(preset)
    if st.session_state.get("kind", PLAIN) not in there:
        st.session_state["kind"] = PLAIN
    others = [{kind: texts.prose("train", lang)[f"kind {kind}"] for kind in there} for lang in texts.LANGUAGES]
    kind = named(text["kind"], {kind: text[f"kind {kind}"] for kind in there}, "kind", others, help=text["kind help"])
    st.caption(text[f"kind {kind} about"])
    if kind != PLAIN:
        wanted = ", ".join(f"`--{name.replace('_', '-')} {value}`" for name, value in fields(preset, kind).items())
        st.caption(f"{text['kind sets']} {wanted}. {text['kind other']}")
    if len(there) < len(KINDS):
        away = [text[f"kind {one}"] for one in KINDS if one not in there]
        st.caption(text["kind away"].format(kinds=verbatim(" · ".join(away))))
    return kind
