"""Rollout through the layers: its build-up after each block, and what it would be without the residual connection."""

from __future__ import annotations

import math
from typing import Any

import streamlit as st

from app.components.figure import downloads, explain
from app.components.player.player import player
from app.furniture import controls, outliers
from app.state import insights
from app.texts import Prose
from app.views.rollout import told
from app.views.rollout.question import Asked
from vitcore.translation import percent, percent_in_two_digits


def build_up(a: Asked, settings: dict[str, Any]) -> None:
    """Rollout after each block, playing and as small pictures."""
    from vitcore import figures
    from vitcore.figures.relevance import build_up_scale

    text, grid = a.text, a.rec.grid
    how: dict[str, Any] = {"discard_ratio": 0.0, "residual": 0.5, "first_block": 0, "fusion": "mean"} | settings
    if outliers.masks(a.vit, a.rec):
        how |= {outliers.KEY: True}
    maps, frames = insights.built_up(a.rec, a.query, tuple(sorted(how.items())), a.vit)
    layers, found = range(len(maps)), [outliers.in_map(a.vit, a.rec, one) for one in maps]
    first = int(how["first_block"])
    player(
        a.address, a.detail, frames, (grid.rows, grid.cols), [text["layer"].format(layer=i) for i in layers],
        [text.joined((_caption(float(maps[i].sum()), i, first, told.before(a), text), found[i].told)) for i in layers],
        grid.image_px[1] / grid.image_px[0], {word: text[f"player.{word}"] for word in ("play", "pause", "layer", "layers")},
        key="build_up", label=a.since(text["build-up label"].format(who=a.who), how), marks=[one.patches for one in found],
    )  # fmt: skip
    controls.bar(build_up_scale(maps), "build_up_scale")
    outliers.beside(found[-1]._replace(told=""), "build_up", always=True)  # each picture says it itself
    how_told = text.joined((text["build-up how"], text["build-up from"].format(first=first) if first else ""))
    explain(how_told, text["build-up limits"])
    photo_shown, mode, title = a.photo_shown, a.mode, a.since(text["build-up title"], how)
    note = text.joined((how_told, found[-1].told))
    downloads(
        lambda: figures.build_up(maps, photo_shown, grid, title, mode=mode),
        "build_up", note, of=(a.photo.name, a.vit.called), called="rollout build-up", build_up=maps,
    )  # fmt: skip


def _caption(share: float, layer: int, first: int, before: str, text: Prose) -> str:
    """What is said below the picture of a layer; `share` of what was gathered is on the patches."""
    if layer < first:
        return text["frame before"].format(layer=layer, first=first)
    since = "after" if not first else "alone" if layer == first else "from"
    where = text[f"frame {since}"].format(layer=layer, first=first)
    rest = text[f"frame rest {before}"].format(rest=percent(1 - share, 0)) if before else ""
    return text["frame"].format(where=where, share=percent(share, 0), rest=rest)


def identity(a: Asked) -> None:
    """Why the residual connection is part of rollout, with what it changes here."""
    from vitcore.analysis.relevance import rank_correlation
    from vitcore.analysis.rollout import map_overlap

    other = a.rec.grid.middle if a.query is None else 0  # another token: the middle patch, or the first beside a patch
    apart, mine = {}, []
    for residual in (0.5, 0.0):
        settings: Any = (("discard_ratio", 0.0), ("first_block", 0), ("fusion", "mean"), ("residual", residual))
        settings += ((outliers.KEY, True),) if outliers.masks(a.vit, a.rec) else ()
        one, two = (insights.rollout(a.rec, q, settings, a.vit) for q in (a.query, other))
        apart[residual] = percent_in_two_digits(max(0.0, 1 - map_overlap(one, two)))
        mine.append(one)
    who = a.text["a patch"].format(patch=other)
    st.markdown(a.text["identity"].format(who=a.who, other=who, with_it=apart[0.5], without=apart[0.0]))
    if not math.isnan(rank := rank_correlation(*mine)):
        st.markdown(a.text["identity map"].format(who=a.who, rank=f"{rank:.2f}"))
