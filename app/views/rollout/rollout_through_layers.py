"""Below the two sides: rollout through the layers, and what the residual connection does there."""

import math
from typing import Any

import streamlit as st

from app.components.figure import show_downloads, show_explanation_fold
from app.components.picture.picture import map_scale_bar
from app.components.player.player import player
from app.state.jobs import map_test_jobs
from app.state.recordings import relevance_maps
from app.texts import Prose
from app.views.rollout import rollout_sentences
from app.views.rollout.rollout_visit import RolloutVisit
from app.widgets import outlier_masking
from vitcore import figures
from vitcore.figures.relevance import rollout_per_layer_scale
from vitcore.translation import decimal, percent, percent_in_two_digits


def show_rollout_per_layer(visit: RolloutVisit, settings: dict[str, Any]) -> None:
    """Rollout after each block, playing and as small pictures."""
    text, grid = visit.texts, visit.grid
    settings_used: dict[str, Any] = {"discard_ratio": 0.0, "residual": 0.5, "first_block": 0, "fusion": "mean"} | settings
    if outlier_masking.is_masking_applied(visit):
        settings_used |= {outlier_masking.QUERY_KEY: True}
    maps, frames = relevance_maps.rollout_per_layer(visit.recording, visit.patch, tuple(sorted(settings_used.items())), visit.vit)
    layers, map_outliers = (range(len(maps)), [outlier_masking.outliers_in_map(visit, one) for one in maps])
    first = int(settings_used["first_block"])
    kind = rollout_sentences.prefix_text_key(visit)
    captions = [
        text.join_sentences((_layer_caption(float(maps[i].sum()), i, first, kind, text), map_outliers[i].sentence)) for i in layers
    ]
    names = [text["layer"].format(layer=i) for i in layers]
    player(
        visit.photo_url, visit.detail_url, frames, (grid.rows, grid.cols), names, captions,
        grid.image_px[1] / grid.image_px[0], {word: text[f"player.{word}"] for word in ("play", "pause", "layer", "layers")},
        key="build_up", label=visit.title_from_layer(text["build-up label"].format(who=visit.query_phrase), settings_used),
        marks=[one.patches for one in map_outliers],
    )  # fmt: skip
    map_scale_bar(rollout_per_layer_scale(maps, grid), "rollout_per_layer_scale")
    how_to_read = text.join_sentences((text["build-up how"], text["build-up from"].format(first=first) if first else ""))
    photo_shown, mode, title = (visit.input_picture, visit.mode, visit.title_from_layer(text["build-up title"], settings_used))
    note = text.join_sentences((how_to_read, map_outliers[-1].sentence))
    with st.container(horizontal=True):
        limits = text.join_sentences((text["build-up limits"], map_test_jobs.map_robustness_sentences(visit.vit, "rollout")))
        show_explanation_fold(how_to_read, limits, is_map=True)
        show_downloads(
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
    effect = relevance_maps.residual_effect(
        visit.recording, visit.patch, other, outlier_masking.is_masking_applied(visit), visit.vit
    )
    facts = {"with_it": effect.with_residual, "without": effect.without_residual}
    shares = {name: percent_in_two_digits(share) for name, share in facts.items()}
    who = visit.texts["a patch"].format(patch=other)
    st.markdown(visit.texts["identity"].format(who=visit.query_phrase, other=who, **shares))
    if not math.isnan(effect.rank_correlation):
        st.markdown(visit.texts["identity map"].format(who=visit.query_phrase, rank=decimal(effect.rank_correlation, 2)))
