"""What a comparison comes to: three numbers, both answers, on whose patches maps are drawn, and who taught whom."""

import streamlit as st

from app import texts
from app.views.compare.model_pair import ModelPair
from app.widgets import outlier_masking
from vitcore.translation import decimal, decimal_or_dash, percents


def show_similarity_numbers(pair: ModelPair) -> None:
    """Rank correlation of rollouts, CKA of tokens at the same depth, and how many of the likeliest five are shared.

    Of two photos the first two are not defined, and why is said: how far heads attend, and how far the answers are apart instead.
    """
    from vitcore.report.comparison_handout import mean_distance_shares

    text, comparison = pair.texts, pair.comparison
    if comparison is None:
        return
    answers = comparison.answers
    if pair.of_one_photo:
        numbers = {"rollouts": decimal_or_dash(comparison.rank_correlation, 2), "tokens": decimal_or_dash(comparison.mean_cka, 2)}
    else:
        st.caption(text["two photos"])
        px = [outlier_masking.distances_masked_if_on(one)[0].distance_renormalised_px for one in pair.visits]
        far = [decimal(share, 1) for share in mean_distance_shares(px, pair.vits)]
        numbers = {"distances": f"{far[0]} · {far[1]} %", "divergence": decimal(answers.divergence_bits, 2) if answers else "–"}
    with st.container(horizontal=True, key="alike"):
        for name, value in numbers.items():
            st.metric(text[f"alike {name}"], value, help=text[f"alike {name} help"])
        shared = f"{answers.shared_top5} / {answers.of}" if answers else "–"
        st.metric(text["alike answers"], shared, help=text["alike answers help"])


def show_answers_and_grid(pair: ModelPair, picture: str) -> None:
    """One line above both pictures: each model's first class and share; and on whose patches maps are drawn, where these differ."""
    tops = [top for rec in pair.recs for top in rec.top_classes(1, translated=True) or [("", 0.0)]]
    shares = percents(*(share for _, share in tops))
    named = zip("AB", tops, shares, strict=True)
    said = [f"{letter}: {texts.escape_markdown(label)} **{share}**" for letter, (label, _), share in named if label]
    if picture in ("filters", "positions") and not pair.of_one_photo and pair.vit.name == pair.second.vit.name:
        said = [pair.texts["same model"]]
    if picture in ("rollout", "attention") and pair.comparison and (grid := pair.comparison.grid).resampled:
        sizes = [(vit.grid.rows, vit.grid.cols) for vit in pair.vits]
        own = [letter for letter, size in zip("AB", sizes, strict=True) if size == (grid.rows, grid.cols)]
        same_part = not pair.of_one_photo or pair.recs[0].model_input.box == pair.recs[1].model_input.box
        key, whose = ("one grid", own[0]) if len(own) == 1 and same_part else ("common grid", "")
        facts = {"whose": whose, "other": "AB".replace(whose, ""), "rows": grid.rows, "cols": grid.cols}
        said.append(pair.texts[key].format(**facts))
    if said:
        st.caption(" · ".join(said))


def show_teacher_note(pair: ModelPair) -> None:
    """Say so where one of the two was taught by the other: that they are alike was the aim."""
    for vit, other in (pair.vits, pair.vits[::-1]):
        if other.card.title in (vit.card.teacher, vit.card.looker):
            sentence = pair.texts["taught"].format(model=vit.card.title, teacher=other.card.title)
            st.caption(f":material/school: {sentence}")
