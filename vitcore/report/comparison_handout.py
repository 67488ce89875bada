"""Two models on one photo, or on one each, to take along: figures with shared scales, sentences, a handout of both.

The handout is one HTML file as `quiz_handout.py` makes them: pictures embedded, words as text, no network, no script.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitcore import figures
from vitcore.analysis.attention_distance import uniform_distance_px
from vitcore.figures.drawing import Drawing
from vitcore.figures.heat_overlay import scale_top
from vitcore.figures.theme_colours import Mode
from vitcore.forward.compare_models import Comparison, common_photo, layer_at_same_depth, outliers_in_common_map
from vitcore.forward.mask_outliers import outliers_in_recording
from vitcore.grid import Grid
from vitcore.images import photo_with_crop_outlined
from vitcore.models.load_model import Vit
from vitcore.outlier_sentences import masked_outliers_sentence, outlier_sentence
from vitcore.report import html_page
from vitcore.report.handout import recording_title
from vitcore.report.report_numbers import current_time_text, package_versions
from vitcore.report.report_settings import ReportOrigin
from vitcore.translation import percents, say

ModelNames = tuple[str, str]
MODEL_LETTERS = ("A", "B")  # what sentences call both; their names, which may be long, stand once at the top
LETTER_FACTS = dict(zip(("first", "second"), MODEL_LETTERS, strict=True))
EQUAL_DISTANCE_SHARE = 0.0005  # of the width: layers that differ by less reach equally far
COMPARISON_SOURCES = (
    "Kornblith et al., Similarity of Neural Network Representations Revisited, ICML 2019. arXiv 1905.00414: linear CKA",
    "Abnar & Zuidema, Quantifying Attention Flow in Transformers, ACL 2020. arXiv 2005.00928: rollout",
    "Dosovitskiy et al., An Image is Worth 16×16 Words, ICLR 2021. arXiv 2010.11929: App. D.7, D.8",
)
TOP_CLASSES = 5


def comparison_figures(
    comparison: Comparison, vits: tuple[Vit, Vit], names: ModelNames | None = None, mode: Mode = "light"
) -> dict[str, Drawing]:
    """Both rollouts on one scale and both models' distances on axes of one length; of one photo also the difference, and CKA."""
    grid = Grid(comparison.grid.rows, comparison.grid.cols, 1)
    recs = [side.rec for side in comparison.recordings]
    names = names or _names_with_photos(comparison, (recs[0].model, recs[1].model), [rec.photo.name for rec in recs])
    most = scale_top(comparison.stacked, 1)
    drawn: dict[str, Drawing] = {}
    for which, (letter, mask, name) in enumerate(zip("ab", comparison.times_even, names, strict=True)):
        even = comparison.even_shares[which]
        cells, patches = outliers_in_common_map(comparison, which, mask)
        said = outlier_sentence(patches, recs[which].grid)
        fig = figures.attention_on_photo(
            mask * even, common_photo(comparison, which=which), grid, say("Attention rollout"), most * even, mode, subtitle=name,
            even_share=even,
        )  # fmt: skip
        drawn[f"rollout-{letter}"] = figures.frame_outliers(fig, cells, grid, sentence=said)
    px, shares = [rec.distance_px for rec in recs], [rec.prefix_attention_share for rec in recs]
    drawn |= zip(("distance-a", "distance-b"), distance_figures(px, vits, mode, prefix_attention_shares=shares), strict=True)
    if not comparison.of_one_photo:
        return drawn
    drawn["difference"] = figures.relevance(
        comparison.difference, common_photo(comparison), grid,
        say("Rollout: {first} minus {second}", first=names[0], second=names[1]), say("percentage points"),
        signed=True, mode=mode, min_top=100 / comparison.difference.size,
    )  # fmt: skip
    drawn["cka"] = figures.cka_heatmap(comparison.cka, names, mode)
    return drawn


def _names_with_photos(comparison: Comparison, names: ModelNames, titles: Sequence[str]) -> ModelNames:
    """What both pictures are called: by their models, and of two photos by these `titles`, too."""
    if comparison.of_one_photo:
        return names
    return f"{titles[0]} · {names[0]}", f"{titles[-1]} · {names[1]}"


def distance_figures(
    px: list[NDArray], vits: tuple[Vit, Vit], mode: Mode = "light", cls: str = "drop",
    prefix_attention_shares: Sequence[NDArray | None] = (None, None),
) -> list[Drawing]:  # fmt: skip
    """(L, H) distances of both models in pixels of their input, on axes that reach as far of what each sees.

    With `prefix_attention_shares` (L, H), which each head gives to tokens that are not patches, those that give half or more are
    hollow.
    """
    wide = [vit.grid.image_px[1] for vit in vits]
    even = [uniform_distance_px(vit.grid) for vit in vits]
    reach = max(max(float(one.max()), flat) / side for one, flat, side in zip(px, even, wide, strict=True))
    return [
        figures.attention_distance(one, vit.grid, flat, cls, mode=mode, max_px=reach * side, prefix_attention_share=share)
        for one, vit, flat, side, share in zip(px, vits, even, wide, prefix_attention_shares, strict=True)
    ]


# What it says, in sentences


def two_photos_sentence() -> str:
    """Why two photos are not compared place by place."""
    return say("The two photos show different things at the same place. So A minus B, rank correlation and CKA are not given.")


def common_grid_sentence(grid: Any, of_one_photo: bool = True) -> str:
    """On which positions two models were compared; nothing where each read its own patches of its own photo."""
    facts = {"rows": grid.rows, "cols": grid.cols}
    if grid.resampled:
        return say("Resampled: the models' patches differ, so both are averaged over the cells of one grid of {rows}×{cols}.",
                   **facts)  # fmt: skip
    if not of_one_photo:
        return ""
    return say("Patch by patch: both models cut the photo into the same {rows}×{cols} patches.", **facts)


def map_difference_sentence(difference: NDArray, rank_correlation: float) -> str:
    """Where two maps (rows, cols) differ most, in percentage points, and how alike they rank the places."""
    if np.isnan(difference).all():
        return two_photos_sentence()
    place = int(np.abs(difference).argmax())
    most = float(difference.flat[place])
    if not most:
        return say("The two maps are the same.")
    row, col = divmod(place, difference.shape[1])
    told = say(
        "The largest difference is in row {row}, column {col} of the {rows}×{cols} grid. There {who} has {points} percentage "
        "points more.",
        row=row, col=col, rows=difference.shape[0], cols=difference.shape[1], who=MODEL_LETTERS[most < 0],
        points=f"{abs(most):.2f}",
    )  # fmt: skip
    if rank_correlation != rank_correlation:
        return told
    return f"{say('Rank correlation over {count} places: {value}.', count=difference.size, value=f'{rank_correlation:.2f}')} {told}"


def outlier_sentences(comparison: Comparison) -> list[str]:
    """For each model what is said of outlier tokens that hold much of its rollout, or that they are masked; empty for none."""
    said = []
    for which, (letter, mask) in enumerate(zip(MODEL_LETTERS, comparison.rollouts, strict=True)):
        rec, patches = comparison.recordings[which].rec, outliers_in_common_map(comparison, which, mask)[1]
        one = (
            masked_outliers_sentence(len(outliers_in_recording(rec).patches))
            if comparison.masked
            else outlier_sentence(patches, rec.grid)
        )
        said.append(f"{letter}: {one}" if one else "")
    return said


def token_similarity_sentence(comparison: Comparison) -> str:
    """How alike the tokens are, layer beside layer at the same depth."""
    if not comparison.of_one_photo:
        return two_photos_sentence()
    pairs = [pair for pair in comparison.cka_per_layer if pair[2] == pair[2]]
    if not pairs:
        return say("In one model, all tokens of a layer are the same, so there is nothing to compare.")
    most, least = max(pairs, key=lambda pair: pair[2]), min(pairs, key=lambda pair: pair[2])
    mean = float(np.mean([value for *_, value in pairs]))
    if most[2] - least[2] < 0.005:
        return say("Linear CKA of the tokens at the same depth is {mean} in every layer.", mean=f"{mean:.2f}")
    facts: dict[str, Any] = {"mean": f"{mean:.2f}", "most": f"{most[2]:.2f}", "least": f"{least[2]:.2f}"}
    facts |= {"i": most[0], "j": most[1], "k": least[0], "m": least[1]} | LETTER_FACTS
    return say(
        "Linear CKA of the tokens at the same depth is {mean} on average. The highest, {most}, is in layer {i} of {first} and "
        "layer {j} of {second}. The lowest, {least}, is in layer {k} of {first} and layer {m} of {second}.",
        **facts,
    )


def _comparison_agreement_sentence(comparison: Comparison) -> str:
    """Whether both give the same answer."""
    tops = [side.rec.top_classes(1, translated=True) for side in comparison.recordings]
    return answer_agreement_sentence(comparison.answers, tops)


def answer_agreement_sentence(agreement: Any, tops: list[list[tuple[str, float]]]) -> str:
    """An agreement of answers in a sentence; `tops` are each model's likeliest class with its probability, if it has any."""
    if agreement is None:
        mute = [name for name, top in zip(MODEL_LETTERS, tops, strict=True) if not top]
        if mute:
            return say("{names} names no classes, so the predictions can't be compared.", names=" · ".join(mute))
        return say("The models have different classes, or different kinds of probability, so their predictions can't be compared.")
    (one, p), (two, q) = (top[0] for top in tops)
    facts = {"one": one, "two": two, **dict(zip("pq", percents(p, q), strict=True)), **LETTER_FACTS}
    told = (
        say("Both predict “{one}”: {first} with {p}, {second} with {q}.", **facts)
        if agreement.same_top1
        else say("{first} predicts “{one}” ({p}), {second} predicts “{two}” ({q}).", **facts)
    )
    return f"{told} " + say(
        "They share {shared} of their {of} most likely classes. The Jensen-Shannon divergence of the predictions is {bits} "
        "bits (0: the same, 1: nothing in common).",
        of=agreement.of, shared=agreement.shared_top5, bits=f"{agreement.divergence_bits:.2f}",
    )  # fmt: skip


def mean_distance_shares(px: Sequence[NDArray], vits: tuple[Vit, Vit]) -> list[float]:
    """The mean of (L, H) distances over all heads and layers, in percent of the width that each model sees."""
    return [float(100 * one.mean() / vit.grid.image_px[1]) for one, vit in zip(px, vits, strict=True)]


def attention_distance_sentence(px: list[NDArray], vits: tuple[Vit, Vit]) -> str:
    """How far heads look, as shares of the width that each model sees, in the first layer and over all.

    Of (L, H) renormalised distances: with the class token dropped, what heads give it would count as near.
    """
    share = [one / vit.grid.image_px[1] for one, vit in zip(px, vits, strict=True)]
    facts = {
        f"{part}{i}": f"{100 * value:.0f}"
        for i, one in enumerate(share)
        for part, value in (("near", one[0].min()), ("far", one[0].max()), ("mean", one.mean()))
    }
    told = say(
        "Among the patches alone (renormalised), the heads of layer 0 attend over {near0} to {far0} % of the picture's width in "
        "{first}, and over {near1} to {far1} % in {second}. The mean over all heads and layers is {mean0} and {mean1} %.",
        **LETTER_FACTS, **facts,
    )  # fmt: skip
    return f"{told} {_layer_by_layer([one.mean(1) for one in share])}"


def _layer_by_layer(means: list[NDArray]) -> str:
    """In which layers which model reaches farther, from the mean share of the width in each layer of both."""
    few, many = sorted(len(one) for one in means)
    deeper = int(len(means[1]) > len(means[0]))
    other = means[1 - deeper][[layer_at_same_depth(block, many, few) for block in range(many)]]
    lead = (means[deeper] - other) * (-1 if deeper else 1)  # of the first
    places = [np.flatnonzero(lead > EQUAL_DISTANCE_SHARE).tolist(), np.flatnonzero(lead < -EQUAL_DISTANCE_SHARE).tolist()]
    how = "" if few == many else say(" (at the same depth, counted as the layers of {model})", model=MODEL_LETTERS[deeper])
    facts: dict[str, Any] = {"how": how, "here": _ranges(places[0]), "there": _ranges(places[1]), **LETTER_FACTS}
    facts |= {"one": len(places[0]), "two": len(places[1])}
    if places[0] and places[1]:
        return say("On average over a layer's heads{how}, {first} attends farther in {one:layer|layers} {here}, {second} in "
            "{two:layer|layers} {there}.", **facts)  # fmt: skip
    if not places[0] and not places[1]:
        return say("On average over a layer's heads{how}, both attend equally far in every layer.", **facts)
    side = int(not places[0])
    return say("On average over a layer's heads{how}, {who} attends farther in {count:layer|layers} {where}, the other in none.",
               how=how, who=MODEL_LETTERS[side], count=len(places[side]), where=_ranges(places[side]))  # fmt: skip


def _ranges(numbers: list[int]) -> str:
    """Whole numbers in rising order, as people write them: "0–8, 10"."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


# The handout


def comparison_handout(
    comparison: Comparison, vits: tuple[Vit, Vit], names: ModelNames | None = None, origin: ReportOrigin | None = None,
    command: str = "",
) -> bytes:  # fmt: skip
    """The handout of two models as the bytes of a self-contained HTML file; `names` are what they are called in it."""
    origin = origin or ReportOrigin()
    names = names or (vits[0].name, vits[1].name)
    recs = [side.rec for side in comparison.recordings]
    difference = map_difference_sentence(comparison.difference, comparison.rank_correlation)
    maps = " ".join([difference, *filter(None, outlier_sentences(comparison))])
    photos = list(zip(recs, (origin.credit, origin.second_credit), strict=True))[: comparison.photo_count]
    titles = [recording_title(rec, replace(origin, credit=credit)) for rec, credit in photos]
    called = _names_with_photos(comparison, names, titles)
    dimmed = [say("The photo {name}; what the model does not see is dimmed", name=title) for title in titles]
    return html_page.render_html(
        "compare.html",
        lang=origin.lang,
        title=" · ".join(titles),
        names=[f"{letter} · {name}" for letter, name in zip(MODEL_LETTERS, called, strict=True)],
        lead=say("seen by A: {first}, and by B: {second}", first=names[0], second=names[1]),
        photos=[
            html_page.embed_image(photo_with_crop_outlined(rec.photo, rec.model_input), alt, True, 800, "fitted")
            for (rec, _), alt in zip(photos, dimmed, strict=True)
        ],
        drawn={name: html_page.embed_figure(fig) for name, fig in comparison_figures(comparison, vits, called).items()},
        tops=[rec.top_classes(translated=True) for rec in recs],
        on=common_grid_sentence(comparison.grid, comparison.of_one_photo),
        tokens_on=common_grid_sentence(comparison.cka_grid),
        said={"maps": maps, "tokens": token_similarity_sentence(comparison), "answers": _comparison_agreement_sentence(comparison)}
        | {"distances": attention_distance_sentence([rec.distance_renormalised_px for rec in recs], vits)},
        models=[_facts(vit) for vit in vits],
        versions=[*package_versions().items(), (say("Made"), origin.made or current_time_text())],
        credits=[[
            (say("File"), rec.photo.name), (say("Author"), credit.get("author", "")),
            (say("Licence"), credit.get("licence", "")), (say("Source"), credit.get("source", "")),
        ] for rec, credit in photos],
        origin=origin,
        sources=COMPARISON_SOURCES,
        command=command,
        numbers=comparison_as_json(comparison),
    )  # fmt: skip


def comparison_command(first: str, second: str, *photos: str, mask_outliers: bool = False) -> str:
    """The shell command that compares the same models on a photo, or on one each."""
    masks = ["--mask-outliers"] if mask_outliers else []
    return shlex.join(["python", "-m", "vitcore", "compare", first, second, *photos, *masks, "--out", "compared"])


def _facts(vit: Vit) -> list[tuple[str, str]]:
    grid = vit.grid
    (high, wide), (tall, broad) = grid.step_px, grid.image_px
    return [
        (say("Name"), vit.name), (say("Licence"), vit.card.licence),
        (say("Parameters"), f"{sum(p.numel() for p in vit.module.parameters()):,}".replace(",", " ")),
        (say("Grid"), say("{rows} × {cols} patches of {high} × {wide} px", rows=grid.rows, cols=grid.cols, high=high, wide=wide)),
        (say("What the model sees"), f"{broad} × {tall} px"), (say("Layers × heads"), f"{vit.blocks} × {vit.heads}"),
        (say("Output read from"), say(vit.pooling)),
    ]  # fmt: skip


# The numbers


def comparison_as_json(comparison: Comparison) -> Mapping[str, Any]:
    """All numbers of a comparison, as JSON has them; null where there is none."""
    both, answers = comparison.recordings, comparison.answers
    models = [{
        "model": side.rec.model, "photo": side.rec.photo.name, "grid": [side.rec.grid.rows, side.rec.grid.cols],
        "patch_px": side.rec.grid.patch_px, "sees_px": list(side.rec.model_input.box),
        "blocks": len(side.tokens), "width": side.tokens.shape[-1],
        "distance_px": side.rec.distance_px.tolist(), "top5": [list(pair) for pair in side.rec.top_classes(TOP_CLASSES)],
    } for side in both]  # fmt: skip
    place_by_place = {
        "box_px": list(comparison.grid.box), "difference_points": comparison.difference.tolist(),
        "cka": [[_number(value) for value in row] for row in comparison.cka],
        "cka_grid": [comparison.cka_grid.rows, comparison.cka_grid.cols], "cka_resampled": comparison.cka_grid.resampled,
    }  # fmt: skip
    return {
        "models": models, "grid": [comparison.grid.rows, comparison.grid.cols], "resampled": comparison.grid.resampled,
        "mask_outliers": comparison.masked, "rank_correlation": _number(comparison.rank_correlation),
        "rollouts": [mask.tolist() for mask in comparison.rollouts],
        **(place_by_place if comparison.of_one_photo else dict.fromkeys(place_by_place)),
        "same_top1": answers and answers.same_top1, "shared_top5": answers and answers.shared_top5,
        "of": answers and answers.of, "divergence_bits": answers and answers.divergence_bits,
    }  # fmt: skip


def _number(value: float) -> float | None:
    return float(value) if value == value else None
