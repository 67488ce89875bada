"""The norms layer by layer, and what masking outlier tokens changes: attention of a layer, or rollout, with them and without."""

from typing import Any

import streamlit as st

from app import texts
from app.components.figure import figure, show_downloads, show_explanation_fold
from app.components.picture.picture import colour_strip
from app.components.player.player import player
from app.menu import page_target
from app.shell import query_controls, shared_selection
from app.state.recordings import cached_outliers
from app.state.visit.visit import Visit
from app.widgets import model_card_and_cautions
from app.widgets.outlier_masking import QUERY_KEY, outlier_masking_switch
from vitcore import figures
from vitcore.figures.charts.token_norms import norm_strip_scale_top
from vitcore.figures.drawing import fit_figure_to_width
from vitcore.figures.heat_overlay import scale_top
from vitcore.figures.theme_colours import HEAT
from vitcore.models.model_cards import DEFAULT_MODEL
from vitcore.translation import decimal, percent

HARDLY_CHANGED, MUCH_CHANGED = (0.95, 0.7)  # rank correlations: what more is hardly a change, and what less is much of one
PICTURE_WIDTH_PX = 540  # about half a page: a picture made for a whole one would stand in empty space


def show_norms_per_layer(visit: Visit) -> None:
    """The norms on the photo after each layer, playing and as small pictures."""
    text, grid, shown, mode, words = visit.texts, visit.grid, visit.input_picture, visit.mode, texts.prose("rollout")
    outliers = cached_outliers.find_outlier_tokens(visit.recording)
    captions = [text.fill("frame", layer=layer, count=int(high.sum()), most=f"{times.max():.3g}")
            for layer, (high, times) in enumerate(zip(outliers.high, outliers.times, strict=True))]  # fmt: skip
    player(
        visit.photo_url, visit.detail_url, cached_outliers.norm_heat_maps(visit.recording), (grid.rows, grid.cols),
        [text["strip layer"].format(layer=layer, count=int(high.sum())) for layer, high in enumerate(outliers.high)], captions,
        grid.image_px[1] / grid.image_px[0], {word: words[f"player.{word}"] for word in ("play", "pause", "layer", "layers")},
        key="norms_by_layer", label=text["strip alt"], marks=[high.nonzero()[0].tolist() for high in outliers.high],
    )  # fmt: skip
    colour_strip(HEAT, 0, norm_strip_scale_top(outliers), text["norm unit"], "norms_by_layer_scale")
    show_downloads(lambda: figures.norm_strip(outliers, shown, grid, mode), "norm_strip", text["map how"], subjects=visit.subjects,
              times=outliers.times)  # fmt: skip


def show_masking_effect(visit: Visit) -> None:
    """How much attention goes to outlier tokens, two pictures, and the ways to the pages where they can be masked."""
    rec, grid, block, readout, text = visit.recording, visit.grid, visit.layer, visit.readout, visit.texts
    outliers = cached_outliers.find_outlier_tokens(rec)
    if not len(outliers.patches):
        st.info(text["nothing to mask"], icon=":material/info:")
        return
    patches, answer = cached_outliers.outlier_attention_share(rec)
    most = int(patches.argmax())
    attended = text.fill("drawn" if most == block else "drawn elsewhere", count=len(outliers.patches), block=block, layer=most,
                         here=percent(patches[block], 0), share=percent(patches[most], 0), answer=percent(answer[most], 0),
                         even=percent(len(outliers.patches) * grid.even_share), readout=readout)  # fmt: skip
    source = query_controls.button_row(text, "of", ["patches", "answer", "rollout"])
    effect = cached_outliers.masking_effect(rec, source, block)
    rank_agreement = effect.rank_correlation
    much = "hardly" if rank_agreement >= HARDLY_CHANGED else "much" if rank_agreement < MUCH_CHANGED else "somewhat"
    st.markdown(text.fill(f"{source} taken", share=percent(effect.outlier_share), times=f"{effect.times_even:.2g}",
                          alike=decimal(rank_agreement, 2), much=text[much], readout=readout, block=block,
                          count=len(outliers.patches)))  # fmt: skip
    top, even = scale_top(effect.after, grid.even_share), grid.even_share
    for place, key, amounts in zip(st.columns(2, gap="large"), ("before", "after"), (effect.before, effect.after), strict=True):
        with place:
            title, about = text[f"side {key}"], text[f"{source} about"].format(block=block, readout=readout)
            drawn = fit_figure_to_width(
                figures.attention_on_photo(amounts, visit.input_picture, grid, title, top, visit.mode, about, even),
                PICTURE_WIDTH_PX,
            )
            drawn = figures.frame_outliers(drawn, outliers.patches, grid)
            arrays: Any = {f"{source}_{key}": amounts}
            figure(drawn, f"masking_{key}", f"{title}: {about}", subjects=visit.subjects, file_stem=f"{source} {key}", **arrays)
    limits = [text["masking limits"]]
    if score := model_card_and_cautions.localisation_score(DEFAULT_MODEL):
        measured = text["measured"].format(photos=score.photos, before=score.rollout_auc, after=score.masked_rollout_auc)
        whose = text["measured here" if visit.vit.card.name == DEFAULT_MODEL else "measured elsewhere"]
        limits += [measured, whose, texts.prose("common")["plausible"]]
    show_explanation_fold(text.join_sentences((attended, text["masking how"])), text.join_sentences(limits), is_map=True)
    with st.container(horizontal=True, vertical_alignment="center"):
        outlier_masking_switch(visit, "here")
        links = st.popover(text["to pages"], icon=":material/arrow_forward:")
    with links:
        for patch in outliers.patches[:4]:
            st.page_link(page_target("attention"), label=text["to patch"].format(patch=patch), icon=":material/arrow_forward:",
                         query_params={shared_selection.LAYER: str(block), shared_selection.PATCH: str(patch),
                                       "direction": texts.prose("attention")["direction.gets"]})  # fmt: skip
        st.page_link(page_target("attention"), label=text["to explorer"], query_params={QUERY_KEY: "true"},
                     icon=":material/arrow_forward:")  # fmt: skip
        st.page_link(page_target("rollout"), label=text["to lab"], icon=":material/arrow_forward:",
                     query_params={QUERY_KEY: "true"})  # fmt: skip
