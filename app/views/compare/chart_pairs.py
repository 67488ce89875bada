"""The other pictures of two models: distances, tokens, filters, positions and answers, each pair on one scale, with its number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from app import texts
from app.components.figure import figure, show_explanation_fold
from app.menu import page_target
from app.shell import photo_ids_and_titles, query_controls
from app.state.models import model_weights
from app.state.recordings import cached_outliers, model_comparisons
from app.views.compare.model_pair import ControlPlaces, ModelPair, side_columns
from app.widgets import outlier_masking
from app.widgets.position_tiles import show_position_tiles
from vitcore import figures
from vitcore.figures.drawing import fit_figure_to_width
from vitcore.translation import decimal, digits_to_differ, percent

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from vitcore.figures.drawing import Drawing
    from vitcore.forward.compare_models import Comparison

COMPONENTS_SHOWN = 28  # components of the filters, the paper's number
PICTURE_WIDTH_PX = 540  # about half a page: a picture made for a whole one would stand in empty space


def show_distances(pair: ModelPair, comparison: Comparison, places: ControlPlaces) -> None:
    """One dot per head over depth, on axes that reach as far of what each model sees."""
    from vitcore.report import comparison_handout

    text = pair.texts
    with places.settings:
        cls = query_controls.button_row(text, "cls", ["drop", "renormalise"])
    recordings_and_notes = [outlier_masking.distances_masked_if_on(one) for one in pair.visits]
    px = [rec.distance_px if cls == "drop" else rec.distance_renormalised_px for rec, _ in recordings_and_notes]
    among = [rec.distance_renormalised_px for rec, _ in recordings_and_notes]
    drawn = comparison_handout.distance_figures(
        px, pair.vits, pair.mode, cls, [rec.prefix_attention_share for rec, _ in recordings_and_notes]
    )
    for (place, key, name), fig, array, (_, told) in zip(side_columns(pair), drawn, px, recordings_and_notes, strict=True):
        with place:
            if told:
                st.caption(told)
            _side_figure(pair, key, name, fig, "distance", distance_px=array)
    show_explanation_fold(text["how distance"], text["limits distance"])
    places.below.markdown(texts.escape_markdown(comparison_handout.attention_distance_sentence(among, pair.vits)))


def _side_figure(
    pair: ModelPair, side: str, name: str, fig: Drawing, kind: str, of_photo: bool = True, **arrays: ArrayLike
) -> None:
    """The figure of one model, `side` "a" or "b"."""
    named: dict[str, Any] = {f"{array}_{side}": values for array, values in arrays.items()}
    subjects = pair.file_subjects(side, with_photo=of_photo)
    figure(fig, f"{kind}_{side}", f"{pair.texts[f'picture.{kind}']}: {name}", subjects=subjects, file_stem=kind, **named)


def show_token_similarity(pair: ModelPair, comparison: Comparison, places: ControlPlaces) -> None:
    """Linear CKA of every layer of one beside every layer of the other; two photos are compared on other pages."""
    from vitcore.report import comparison_handout

    text = pair.texts
    if not pair.of_one_photo:
        st.info(text["no tokens of two"], icon=":material/info:")
        for page in ("tokens", "switch"):
            st.page_link(page_target(page), label=text[f"photos {page}"], icon=":material/photo_library:")
        return
    fig = figures.cka_heatmap(comparison.cka, pair.names, pair.mode)
    grid_sentence = texts.escape_markdown(comparison_handout.common_grid_sentence(comparison.cka_grid))
    figure(fig, "cka", text["picture.tokens"], text.join_sentences((text["how tokens"], grid_sentence)), text["limits tokens"],
           subjects=pair.file_subjects("a", "b"), cka=comparison.cka)  # fmt: skip
    with places.below:
        st.markdown(texts.escape_markdown(comparison_handout.token_similarity_sentence(comparison)))
        for letter, rec in zip("AB", pair.recs, strict=True):
            found = cached_outliers.find_outlier_tokens(rec)
            if len(found.patches):
                st.markdown(text.fill("cka outliers", model=letter, count=len(found.patches), first=int(found.first.min())))
        rows = comparison.cka_per_layer
        with st.expander(text["table"]):
            st.dataframe(
                {text["layer of"].format(model="A"): [i for i, *_ in rows],
                 text["layer of"].format(model="B"): [j for _, j, _ in rows],
                 "CKA": [round(value, 3) for *_, value in rows]},
                hide_index=True, alt=text["table"],
            )  # fmt: skip


def show_filters(pair: ModelPair, comparison: Comparison | None, places: ControlPlaces) -> None:
    """The first principal components of both, and how much of the spaces that they span is the same."""
    text = pair.texts
    parts = [model_weights.filter_components(vit.name) for vit in pair.vits]
    count = min([COMPONENTS_SHOWN, *(len(part.variance) for part in parts if part)])
    if parts[0] and parts[1]:
        one, two = (model_weights.components_needed(part) for part in parts if part)
        counts = {"one": one.share_count, "two": two.share_count}
        places.below.markdown(texts.escape_markdown(text.fill("needed", share=percent(one.share, 0), **counts)))
        if overlap := model_weights.filter_overlap(parts[0], parts[1], count):
            shared, chance = (percent(share, 0) for share in overlap)
            places.below.markdown(text.fill("overlap", count=count, shared=shared, chance=chance))
        else:
            places.below.markdown(text["no overlap"])
    for (place, key, name), part in zip(side_columns(pair, of_photo=False), parts, strict=True):
        with place:
            if part is None:
                st.info(text["no filters"])
                continue
            fig = fit_figure_to_width(
                figures.filters(model_weights.component_tiles(part, count), part.variance, pair.mode), PICTURE_WIDTH_PX
            )
            _side_figure(pair, key, name, fig, "filters", of_photo=False, components=part.vectors, variance=part.variance)
    show_explanation_fold(text["how filters"], text["limits filters"])


def show_positions(pair: ModelPair, comparison: Comparison | None, places: ControlPlaces) -> None:
    """The tiles of both, and how closely similarity follows distance in each."""
    text = pair.texts
    cosines = [model_weights.position_similarity(vit.name) for vit in pair.vits]
    first, second = (vit.grid for vit in pair.vits)
    same = (first.rows, first.cols) == (second.rows, second.cols)
    if cosines[0] is not None and cosines[1] is not None:
        one, two = (
            model_weights.correlation_with_distance(c, vit.grid) for c, vit in zip(cosines, pair.vits, strict=True) if c is not None
        )
        numbers = {"one": decimal(one, 2), "two": decimal(two, 2)}
        places.below.markdown(texts.escape_markdown(text["follows"].format(**numbers)))
    chosen = None
    if same and all(cosine is not None for cosine in cosines):
        with places.row:
            chosen = query_controls.patch_input(text["position"], pair.vit.grid, width=130)
    for (place, key, name), vit, cosine in zip(side_columns(pair, of_photo=False), pair.vits, cosines, strict=True):
        with place:
            if cosine is None:
                st.info(text["no positions"])
                continue
            label, values = f"{text['picture.positions']}: {name}", None if chosen is None else cosine[chosen].tolist()
            show_position_tiles(vit, chosen, label, text["cosine"], f"tiles_{key}", key=f"{key}_tiles", scale_key=f"{key}_cosine",
                           group="tiles" if same else "", values=values, unit=text["cosine"])  # fmt: skip
    show_explanation_fold(text["how positions"], text["limits positions"])


def show_top_classes(pair: ModelPair, comparison: Comparison | None, places: ControlPlaces) -> None:
    """The five likeliest classes of both, on one axis, and how alike the answers are."""
    from vitcore.report import comparison_handout

    text = pair.texts
    agreed = model_comparisons.answer_agreement(*pair.recs)
    tops = [rec.top_classes(1, translated=True) for rec in pair.recs]
    with places.below:
        st.markdown(texts.escape_markdown(comparison_handout.answer_agreement_sentence(agreed, tops)))
        photo_ids_and_titles.show_imagenet_name([label for rec in pair.recs for label, _ in rec.top_classes(translated=True)])
    digits = digits_to_differ(*(share for top in tops for _, share in top))
    for (place, key, name), rec in zip(side_columns(pair), pair.recs, strict=True):
        with place:
            if not rec.labels:
                st.info(text["no classes"])
                continue
            drawn = figures.predictions(rec.top_classes(translated=True), pair.mode, digits=digits)
            _side_figure(pair, key, name, drawn, "answers", logits=rec.logits)
    show_explanation_fold(text["how answers"], text["limits answers"])
