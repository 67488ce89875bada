"""Below the two sides: rollout through the layers, what the residual connection does there, and how the sides differ."""

import math
from typing import Any

import streamlit as st

from app.components.figure import downloads, explain
from app.components.picture.picture import map_scale_bar, picture
from app.components.player.player import player
from app.state.jobs import map_tests
from app.state.recordings import relevance_maps
from app.texts import Prose
from app.views.rollout import rollout_visit
from app.views.rollout.method_panel import MethodMap
from app.views.rollout.rollout_visit import RolloutVisit
from app.widgets import outlier_masking
from vitcore import figures
from vitcore.figures.heat_overlay import heat_colour_scale
from vitcore.figures.relevance import relevance_scale_top, rollout_per_layer_scale
from vitcore.translation import decimal, decimal_or_dash, percent, percent_in_two_digits


def show_build_up(visit: RolloutVisit, settings: dict[str, Any]) -> None:
    """Rollout after each block, playing and as small pictures."""
    text, grid = visit.texts, visit.grid
    settings_used: dict[str, Any] = {"discard_ratio": 0.0, "residual": 0.5, "first_block": 0, "fusion": "mean"} | settings
    if outlier_masking.applies_to(visit):
        settings_used |= {outlier_masking.QUERY_KEY: True}
    maps, frames = relevance_maps.rollout_per_layer(visit.recording, visit.patch, tuple(sorted(settings_used.items())), visit.vit)
    layers, map_outliers = (range(len(maps)), [outlier_masking.outliers_in_map(visit, one) for one in maps])
    first = int(settings_used["first_block"])
    kind = rollout_visit.prefix_kind(visit)
    captions = [text.joined((_layer_caption(float(maps[i].sum()), i, first, kind, text), map_outliers[i].sentence)) for i in layers]
    names = [text["layer"].format(layer=i) for i in layers]
    player(
        visit.photo_url, visit.detail_url, frames, (grid.rows, grid.cols), names, captions,
        grid.image_px[1] / grid.image_px[0], {word: text[f"player.{word}"] for word in ("play", "pause", "layer", "layers")},
        key="build_up", label=visit.title_from_layer(text["build-up label"].format(who=visit.query_phrase), settings_used),
        marks=[one.patches for one in map_outliers],
    )  # fmt: skip
    map_scale_bar(rollout_per_layer_scale(maps, grid), "rollout_per_layer_scale")
    how_to_read = text.joined((text["build-up how"], text["build-up from"].format(first=first) if first else ""))
    photo_shown, mode, title = (visit.input_picture, visit.mode, visit.title_from_layer(text["build-up title"], settings_used))
    note = text.joined((how_to_read, map_outliers[-1].sentence))
    with st.container(horizontal=True):
        limits = text.joined((text["build-up limits"], map_tests.measured_sentences(visit.vit, "rollout")))
        explain(how_to_read, limits, is_map=True)
        downloads(
            lambda: figures.rollout_per_layer(maps, photo_shown, grid, title, mode=mode),
            "build_up", note, subjects=visit.subjects, file_stem="rollout build-up", build_up=maps,
        )  # fmt: skip


def _layer_caption(share: float, layer: int, first: int, before: str, text: Prose) -> str:
    """What is said below the picture of a layer; `share` of what was gathered is on the patches."""
    if layer < first:
        return text["frame before"].format(layer=layer, first=first)
    since = "after" if not first else "alone" if layer == first else "from"
    where = text[f"frame {since}"].format(layer=layer, first=first)
    rest = text[f"frame rest {before}"].format(rest=percent(1 - share, 0)) if before else ""
    return text["frame"].format(where=where, share=percent(share, 0), rest=rest)


def show_residual_effect(visit: RolloutVisit) -> None:
    """Why the residual connection is part of rollout, with what it changes here."""
    other = visit.grid.middle if visit.patch is None else 0  # another token: the middle patch, or the first beside a patch
    effect = relevance_maps.residual_effect(visit.recording, visit.patch, other, outlier_masking.applies_to(visit), visit.vit)
    facts = {"with_it": effect.with_residual, "without": effect.without_residual}
    shares = {name: percent_in_two_digits(share) for name, share in facts.items()}
    who = visit.texts["a patch"].format(patch=other)
    st.markdown(visit.texts["identity"].format(who=visit.query_phrase, other=who, **shares))
    if not math.isnan(effect.rank_correlation):
        st.markdown(visit.texts["identity map"].format(who=visit.query_phrase, rank=decimal(effect.rank_correlation, 2)))


def show_difference(visit: RolloutVisit, left: MethodMap, right: MethodMap) -> None:
    """Left minus right in percentage points of each map's total, and how alike the two order the patches."""
    text, grid = visit.texts, visit.grid
    values, rank_agreement = relevance_maps.map_difference(left.values, right.values)
    least, unit = (100 / grid.patches, text["points"])  # the scale reaches an even share: maps that hardly differ look like nothing
    most = relevance_scale_top(values, True, least)
    same = left.method is right.method  # the same twice, with other settings
    pair = {"left": text["left"] if same else text[f"method.{left.method.name}"],
            "right": text["right"] if same else text[f"method.{right.method.name}"]}  # fmt: skip
    title = text["difference"].format(**pair)
    map_outliers = outlier_masking.outliers_in_map(
        visit, values, attended=False, masked=left.outliers.masked and right.outliers.masked
    )
    photo_shown, mode = visit.input_picture, visit.mode
    one, two = st.columns(2, gap="large")
    with one:
        st.markdown(f"## {title}")
        keys = left.cache_key(visit), right.cache_key(visit)
        overlay = relevance_maps.heat_overlay(visit.recording, keys, True, values, most, mode)
        picture(
            visit.photo_url, grid.rows, grid.cols, grid.step_px, key="differ", label=title, target="patch",
            also_choose=("ask", True), overlay=overlay, detail=visit.detail_url, values=values.ravel().tolist(), unit=unit,
            lines=False, marks=map_outliers.patches, marks_sentence=map_outliers.sentence,
        )  # fmt: skip
        map_scale_bar(heat_colour_scale(values, most, unit, signed=True, mode=mode), "differ_scale")
        outlier_masking.note_and_switch(map_outliers, "differ")
    with two:
        if abs(values).max() > 0:  # not where nothing differs
            place = int(abs(values).argmax())
            row, col = grid.row_col(place)
            who = pair["left" if values.flat[place] > 0 else "right"]
            facts = {"patch": place, "row": row, "col": col, "points": abs(values.flat[place]), "who": who}
            st.markdown(text["apart"].format(**facts))
        st.metric(text["alike"], decimal_or_dash(rank_agreement, 2), help=text["alike help"])
    with two, st.container(horizontal=True):
        explain(text["difference how"].format(**pair), text["difference limits"], is_map=True)
        downloads(
            lambda: figures.frame_outliers(
                figures.relevance(values, photo_shown, grid, title, unit, signed=True, mode=mode, min_top=least),
                map_outliers.patches, grid,
            ),
            "difference", text["difference how"].format(**pair), subjects=visit.subjects,
            file_stem=f"{left.method.name} less {right.method.name}", difference=values,
        )  # fmt: skip
