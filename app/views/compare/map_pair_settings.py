"""What is asked of two models' maps: rollout with its settings, or the attention of a layer, of a place or the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from app import texts
from app.shell import copy_link, query_controls, shared_selection
from app.state.recordings import model_comparisons
from app.views.compare import map_pair_pictures
from app.views.compare.model_pair import ControlPlaces, ModelPair
from app.widgets import outlier_masking

if TYPE_CHECKING:
    from vitcore.forward.compare_models import Comparison


def show_rollout(pair: ModelPair, comparison: Comparison, places: ControlPlaces) -> None:
    """What was gathered through all layers."""
    text = pair.texts
    with places.row:
        cell = _place_input(pair, comparison)
    with places.settings:
        helps = texts.prose("common")
        fusion = query_controls.button_row(text, "fusion", ["mean", "max", "min"], help=helps["fusion help"])
        settings: dict[str, Any] = {"fusion": fusion}
        for key, name, start in (("discard", "discard_ratio", 0), ("residual", "residual", 50)):
            settings[name] = query_controls.slider(text[key], key, 0, 95, start, help=helps[f"{key} help"]) / 100
    settings |= {outlier_masking.QUERY_KEY: True} if outlier_masking.is_masking_on() else {}
    items = tuple(sorted(settings.items()))
    copy_link.offer_handout(
        patch=_patch_asked(comparison, cell), ask=_patch_asked(comparison, cell) is not None,
        **{key: st.session_state.get(key, usual) for key, usual in copy_link.USUAL_ROLLOUT.items() if key != "first"},
    )  # fmt: skip
    maps = model_comparisons.rollout_maps(comparison, cell, items, pair.vits)
    map_pair_pictures.show_maps(pair, comparison, maps, "rollout", (cell, items), cell, places)


def show_attention(pair: ModelPair, comparison: Comparison, places: ControlPlaces) -> None:
    """What is attended to in one layer; in the other model, in the layer at the same depth."""
    from vitcore.forward.compare_models import layer_at_same_depth

    text = pair.texts
    blocks, heads = [vit.blocks for vit in pair.vits], min(vit.heads for vit in pair.vits)
    deep = max(blocks)
    key = map_pair_pictures.rename_query_and_choose_key("both_layer", shared_selection.LAYER, is_shared=blocks[0] == deep)
    with places.row:
        layer = query_controls.slider(text["layer"], key, 0, deep - 1, deep - 1, width=260)
        head = query_controls.head_menu(text["one head"], heads, text["mean of heads"], width=150)
        cell = _place_input(pair, comparison)
    first, second = (layer if count == deep else layer_at_same_depth(layer, deep, count) for count in blocks)
    here = (first, second)
    if blocks[0] != blocks[1]:
        places.row.caption(text["other layer"].format(first=here[0], second=here[1], blocks=blocks[0], others=blocks[1]))
    copy_link.offer_handout(pin=_patch_asked(comparison, cell), layer=first, one_head=head)
    maps = model_comparisons.attention_maps(comparison, cell, here, head, pair.vits)
    map_pair_pictures.show_maps(
        pair, comparison, maps, "attention", (cell, here, head, outlier_masking.is_masking_on()), cell, places
    )


def _patch_asked(comparison: Comparison, cell: int | None) -> int | None:
    """The patch of the first model that is asked, for its handout; None where a place is no patch of it."""
    return None if comparison.grid.resampled else cell


def _place_input(pair: ModelPair, comparison: Comparison) -> int | None:
    """The place that is asked, or None for where the answer is read."""
    text, count, key = pair.texts, comparison.grid.rows * comparison.grid.cols, map_pair_pictures.selected_place_key(comparison)
    label = texts.prose("patches")["patch"] if key == shared_selection.PATCH else text["place"]
    asks = st.toggle(text["ask"], key="ask", bind="query-params", value=False, help=text["ask help"])
    middle = (comparison.grid.rows // 2) * comparison.grid.cols + comparison.grid.cols // 2
    cell = query_controls.number_input(label, key, count, middle, width=130, disabled=not asks)
    return cell if asks else None
