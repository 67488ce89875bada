"""The norms layer by layer, and what masking outlier tokens changes: attention of a layer, or rollout, with them and without."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from app import selection, texts
from app.components import address
from app.components.figure import downloads, explain, figure
from app.components.player.player import player
from app.furniture import controls, model_card
from app.furniture.outliers import KEY, switch
from app.state import insights, session
from vitcore.models.model_cards import DEFAULT
from vitcore.translation import percent

if TYPE_CHECKING:
    from vitcore.forward.recording import Recording
    from vitcore.images import Photo
    from vitcore.models.load_model import Vit


HARDLY, MUCH = 0.95, 0.7  # rank correlations: what more is hardly a change, and what less is much of one
WIDE_PX = 540  # about half a page: a picture made for a whole one would stand in empty space


def layers(vit: Vit, photo: Photo, rec: Recording, text: texts.Prose) -> None:
    """The norms on the photo after each layer, playing and as small pictures."""
    from vitcore import figures
    from vitcore.figures.charts.token_norms import strip_top
    from vitcore.figures.theme import HEAT

    grid, words = rec.grid, texts.prose("rollout")
    outliers = insights.outliers(rec)
    shown, file = session.shown(rec)
    said = [text.fill("frame", layer=layer, count=int(high.sum()), most=f"{times.max():.3g}")
            for layer, (high, times) in enumerate(zip(outliers.high, outliers.times, strict=True))]  # fmt: skip
    player(
        address(file, "image/jpeg", "photo"), address(insights.detail(rec), "image/jpeg", "detail"),
        insights.norm_frames(rec), (grid.rows, grid.cols),
        [text["strip layer"].format(layer=layer, count=int(high.sum())) for layer, high in enumerate(outliers.high)], said,
        grid.image_px[1] / grid.image_px[0], {word: words[f"player.{word}"] for word in ("play", "pause", "layer", "layers")},
        key="norms_by_layer", label=text["strip alt"], marks=[high.nonzero()[0].tolist() for high in outliers.high],
    )  # fmt: skip
    controls.scale_strip(HEAT, 0, strip_top(outliers), text["norm unit"], "norms_by_layer_scale")
    mode = controls.theme()
    downloads(
        lambda: figures.norm_strip(outliers, shown, grid, mode),
        "norm_strip",
        text["map how"],
        of=(photo.name, vit.called),
        times=outliers.times,
    )


def show(vit: Vit, photo: Photo, rec: Recording, block: int, text: texts.Prose) -> None:
    """How much attention goes to outlier tokens, two pictures, and the ways to the pages where they can be masked."""
    from vitcore import figures
    from vitcore.analysis.relevance import rank_correlation
    from vitcore.figures.heat_overlay import scale_top
    from vitcore.figures.theme import fitted_to

    grid = rec.grid
    outliers = insights.outliers(rec)
    if not len(outliers.patches):
        st.info(text["nothing to mask"], icon=":material/info:")
        return
    patches, answer = insights.attention_on_outliers(rec)
    most = int(patches.argmax())
    st.markdown(text.fill("drawn" if most == block else "drawn elsewhere", count=len(outliers.patches), block=block,
                          layer=most, here=percent(patches[block], 0), share=percent(patches[most], 0),
                          even=percent(len(outliers.patches) / grid.tokens), answer=percent(answer[most], 0),
                          readout=controls.readout(vit)))  # fmt: skip
    of = controls.choice(text, "of", ["patches", "answer", "rollout"])
    before, after = (_map(one, of, block) for one in (rec, insights.masked(vit, rec)))
    rest = np.delete(before, outliers.patches), np.delete(after, outliers.patches)
    taken, alike = before.ravel()[outliers.patches].sum(), rank_correlation(*rest)
    chance = len(outliers.patches) * (before.mean() if of == "rollout" else 1 / grid.tokens)
    much = "hardly" if alike >= HARDLY else "much" if alike < MUCH else "somewhat"
    st.markdown(text.fill(f"{of} taken", share=percent(float(taken)), block=block, even=percent(float(chance)),
                          alike=f"{alike:.2f}", much=text[much], readout=controls.readout(vit),
                          count=len(outliers.patches)))  # fmt: skip
    top, even = scale_top(after), float(after.mean())
    shown = np.asarray(session.shown(rec)[0])
    for place, key, amounts in zip(st.columns(2, gap="large"), ("before", "after"), (before, after), strict=True):
        with place:
            title, about = text[f"side {key}"], text[f"{of} about"].format(block=block, readout=controls.readout(vit))
            drawn = fitted_to(
                figures.gathered(amounts, shown, grid, title, top, controls.theme(), about, even), WIDE_PX
            )
            drawn = figures.outlined(drawn, outliers.patches, grid)
            arrays: Any = {f"{of}_{key}": amounts}
            figure(
                drawn,
                f"masking_{key}",
                f"{title}: {about}",
                of=(photo.name, vit.called),
                called=f"{of} {key}",
                **arrays,
            )
    explain(text["masking how"], text["masking limits"])
    if found := model_card.localised(DEFAULT):
        measured = text["measured"].format(photos=found.photos, before=found.rollout, after=found.masked)
        whose = text["measured here" if vit.card.name == DEFAULT else "measured elsewhere"]
        st.markdown(text.joined([measured, whose, texts.prose("common")["plausible"]]))
    switch(vit, rec, "here")
    with st.container(horizontal=True):
        for patch in outliers.patches[:4]:
            st.page_link("views/attention/page.py", label=text["to patch"].format(patch=patch), icon=":material/arrow_forward:",
                         query_params={selection.LAYER: str(block), selection.PATCH: str(patch),
                                       "direction": texts.prose("attention")["direction.gets"]})  # fmt: skip
        st.page_link("views/attention/page.py", label=text["to explorer"], query_params={KEY: "true"},
                     icon=":material/arrow_forward:")  # fmt: skip
        st.page_link("views/rollout/page.py", label=text["to lab"], icon=":material/arrow_forward:",
                     query_params={KEY: "true"})  # fmt: skip


def _map(rec: Recording, of: str, block: int) -> np.ndarray:
    """What all patches together, or the answer's token, attend to in a layer, or rollout of the latter: (rows, cols)."""
    if of == "rollout":
        return rec.rollout()
    weights = rec.attention_per_layer()[block].astype(np.float32)
    rows = weights[rec.grid.prefix :].mean(0) if of == "patches" else rec.pooling_weights @ weights
    return rec.grid.to_map(rows)
