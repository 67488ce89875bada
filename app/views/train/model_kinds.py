"""What kind of model learns: the paper's families and its ablations by plain names, each with what follows from it.

A kind is some fields of a recipe. Only those are offered that go together with the preset's task.
"""

from typing import Any

import streamlit as st

from app import texts
from app.shell.query_controls import select_menu
from app.texts import escape_markdown
from vitcore.train.presets import PRESETS
from vitcore.train.recipe import Recipe, RecipeError, with_changes

PLAIN_VIT = "plain"
BASE_WIDTH = 768  # a preset as wide as this, or wider, is given the paper's convolutions, others small ones
KINDS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {  # small, and as the paper has it
    PLAIN_VIT: ({}, {}),
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
MIN_CELLS = 4  # rows and columns that convolutions leave of a picture, at least; ResNets as few as two
MIN_RESNET_CELLS = 2


def kind_fields(preset: str, kind: str) -> dict[str, Any]:
    """What the kind changes of the preset's recipe; a picture that convolutions would leave too little of is enlarged."""
    usual = PRESETS[preset]()
    fields = dict(KINDS[kind][usual.width >= BASE_WIDTH])
    if patch_px := fields.get("patch_px"):
        least = patch_px * (MIN_RESNET_CELLS if "resnet" in fields.get("family", "") else MIN_CELLS)
        fields["image_px"] = max(usual.image_px, least)
    return {name: value for name, value in fields.items() if value != getattr(usual, name)}


def offered_kinds(preset: str) -> list[str]:
    """The kinds that can learn what the preset teaches."""
    return [kind for kind in KINDS if _fits_preset(preset, kind)]


def _fits_preset(preset: str, kind: str) -> bool:
    try:
        with_changes(PRESETS[preset](), kind_fields(preset, kind))
    except RecipeError:
        return False
    return kind == PLAIN_VIT or bool(kind_fields(preset, kind))


def kind_recipe(preset: str, kind: str) -> Recipe:
    """The preset's recipe for a model of that kind."""
    return with_changes(PRESETS[preset](), kind_fields(preset, kind))


def kind_menu(preset: str, text: texts.Prose) -> str:
    """The menu of kinds, and what follows from the one that is chosen."""
    offered = offered_kinds(preset)
    if st.session_state.get("kind", PLAIN_VIT) not in offered:
        st.session_state["kind"] = PLAIN_VIT
    others = [{kind: texts.prose("train", lang)[f"kind {kind}"] for kind in offered} for lang in texts.LANGUAGES]
    kind = select_menu(text["kind"], {kind: text[f"kind {kind}"] for kind in offered}, "kind", others, help=text["kind help"])
    st.caption(text[f"kind {kind} about"])
    if kind != PLAIN_VIT:
        wanted = ", ".join(f"`--{name.replace('_', '-')} {value}`" for name, value in kind_fields(preset, kind).items())
        st.caption(f"{text['kind sets']} {wanted}. {text['kind other']}")
    if len(offered) < len(KINDS):
        away = [text[f"kind {one}"] for one in KINDS if one not in offered]
        st.caption(text["kind away"].format(kinds=escape_markdown(" · ".join(away))))
    return kind
