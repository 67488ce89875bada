"""Questions about heads: which looks nearest or farthest, whose attention it is, and who looks at the tokens before the patches."""

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from vitcore.analysis.attention_distance import uniform_distance_px
from vitcore.analysis.rollout import map_overlap
from vitcore.grid import SINK_SHARE
from vitcore.quiz import question_pictures
from vitcore.quiz.outlier_explanations import join_explanations, outlier_sentence_of_choices, outlier_sentence_of_map
from vitcore.quiz.patch_questions import MAX_DRAWS, distinct_integers, four_patches_picture
from vitcore.quiz.question import LETTERS, AnswerChoice, Question, QuestionPicture, make_question
from vitcore.quiz.quiz_data import SIDE_PX, QuizMaterial
from vitcore.translation import percent, say

MIN_DISTANCE_MARGIN = 0.1  # of the distance of even attention, by which a head is ahead
MIN_SHARE_MARGIN = 0.1  # of a head's attention, by which one is ahead
MIN_UNSHARED_OF_PLACES = 0.3  # of their attention, at least, that two places do not share
MAX_NEAR_DISTANCE = 0.6  # of the distance of even attention, at most: a head whose map tells where it looks from


def nearest_head_question(material: QuizMaterial, rng: Generator) -> Question | None:
    """Which head looks nearest?"""
    return _head_distance_question(material, rng, farthest=False)


def farthest_head_question(material: QuizMaterial, rng: Generator) -> Question | None:
    """Which head looks farthest?"""
    return _head_distance_question(material, rng, farthest=True)


def _head_distance_question(material: QuizMaterial, rng: Generator, farthest: bool) -> Question | None:
    """Of the patch whose maps are shown, by what each head gives to patches."""
    grid, heads = material.rec.grid, _heads_attending_to_patches(material)
    far = grid.distances_px()
    for _ in range(MAX_DRAWS if len(heads) >= 3 else 0):
        chosen = [heads[place] for place in distinct_integers(rng, 4, len(heads))]
        patch = int(rng.integers(grid.patches))
        maps = [_between_patches(material, block, head, patch) for block, head in chosen]
        here = [float(one @ far[patch] / max(one.sum(), 1e-12)) for one in maps]
        even = float(far[patch].mean())
        told = [say("layer {block}, head {head}: {px} px", block=block, head=head, px=f"{px:.1f}")
                for (block, head), px in zip(chosen, here, strict=True)]  # fmt: skip
        choices = [
            AnswerChoice("", px / even, words,
                   QuestionPicture(question_pictures.map_picture(grid.to_map(one), patch), say("A head's attention"), photo=False))
            for px, words, one in zip(here, told, maps, strict=True)
        ]  # fmt: skip
        sentence = (
            say("Each map shows what one head attends to from the outlined patch. Which head attends farthest, on average?")
            if farthest
            else say("Each map shows what one head attends to from the outlined patch. Which head attends nearest, on average?")
        )
        found = outlier_sentence_of_choices(material, maps)
        why = [
            say("The mean attention distances from this patch, renormalised over patches, are: {told}. Uniform attention has "
                "{even} px.", told=one, even=f"{even:.1f}")
            for one in told
        ]  # fmt: skip
        question = make_question(
            "farthest" if farthest else "nearest", sentence, choices, [join_explanations(one, found) for one in why],
            min_margin=MIN_DISTANCE_MARGIN, lowest_is_correct=not farthest, page="attention",
            address=[{"layer": block, "one_head": head, "patch": patch} for block, head in chosen],
        )  # fmt: skip
        others = [one for i, one in enumerate(maps) if question and i != question.correct_choice]
        if question and max(map_overlap(maps[question.correct_choice], one) for one in others) <= 1 - MIN_UNSHARED_OF_PLACES:
            return question
    return None


def attending_patch_question(material: QuizMaterial, rng: Generator) -> Question | None:
    """From which of four patches does a head look so? Of a head that looks near, so that its map tells."""
    rec, grid, even = material.rec, material.rec.grid, uniform_distance_px(material.rec.grid)
    heads = [
        place for place in _heads_attending_to_patches(material) if rec.distance_renormalised_px[place] <= MAX_NEAR_DISTANCE * even
    ]
    far = grid.distances_px()
    for _ in range(MAX_DRAWS if heads and grid.patches >= 9 else 0):
        block, head = heads[int(rng.integers(len(heads)))]
        places = distinct_integers(rng, 4, grid.patches)
        asked = places[int(rng.integers(4))]
        maps = {place: _between_patches(material, block, head, place) for place in places}
        away = [float(maps[asked] @ far[place] / max(maps[asked].sum(), 1e-12)) for place in places]
        if not question_pictures.are_letters_apart(places, grid, SIDE_PX) or places[int(np.argmin(away))] != asked:
            continue
        if sorted(away)[1] - min(away) < MIN_DISTANCE_MARGIN * even:
            continue
        choices = [
            AnswerChoice(letter, map_overlap(maps[place], maps[asked]), say("patch {patch}: {px} px away on average", patch=place,
                                                                    px=f"{px:.1f}"))
            for letter, place, px in zip(LETTERS, places, away, strict=True)
        ]  # fmt: skip
        shown = [
            QuestionPicture(question_pictures.map_picture(grid.to_map(maps[asked])), say("A head's attention"), photo=False),
            four_patches_picture(material, places, grid),
        ]
        question = make_question(
            "whose",
            say("The map shows what head {head} of layer {block} attends to from one of the four patches. Which patch is it?",
                head=head,
                block=block),
            choices,
            join_explanations(say(
            "This head attends locally. Its attention lies {px} px from that patch on average, and farther from the others.",
                px=f"{min(away):.1f}"), outlier_sentence_of_map(material, maps[asked], material.photo)),
            min_margin=MIN_UNSHARED_OF_PLACES, page="attention", pictures=shown,
            address={"layer": block, "one_head": head, "patch": asked},
        )  # fmt: skip
        if question:
            return question
    return None


def nearest_layer_question(material: QuizMaterial, rng: Generator) -> Question | None:
    """In which of four layers do the heads look nearest on average?"""
    px = material.rec.distance_renormalised_px
    if len(px) < 3:
        return None
    mean, even = px.mean(1), uniform_distance_px(material.rec.grid)
    layers = sorted({int(mean.argmin()), *distinct_integers(rng, min(4, len(px)), len(px))})
    while len(layers) > 4:  # the nearest stays
        layers.remove(next(layer for layer in layers if layer != mean.argmin()))
    choices = [
        AnswerChoice(say("layer {block}", block=layer), float(mean[layer] / even), f"{mean[layer]:.1f} px") for layer in layers
    ]
    return make_question(
        "nearest_layer", say("Which of these layers has the smallest attention distance, on average over its heads?"), choices,
        [say("The heads of layer {block} attend {px} px far on average, those of the other layers {rest}.", block=layer,
             px=f"{mean[layer]:.1f}", rest=", ".join(f"{mean[one]:.1f} px" for one in layers if one != layer))
         for layer in layers],
        min_margin=MIN_DISTANCE_MARGIN, lowest_is_correct=True, page="distance", address={"cls": "renormalise"},
    )  # fmt: skip


def attention_sink_question(material: QuizMaterial, rng: Generator) -> Question | None:
    """Which of four heads gives most of its attention to tokens that are not patches?"""
    rec = material.rec
    if not rec.grid.prefix or rec.prefix_attention_share.size < 3:
        return None
    shares = rec.prefix_attention_share
    places = [divmod(place, shares.shape[1]) for place in distinct_integers(rng, shares.size, shares.size)]
    most = max(places, key=lambda place: float(shares[place]))
    places = [most, *(place for place in places if shares[place] <= shares[most] - MIN_SHARE_MARGIN)][:4]
    places = [places[i] for i in rng.permutation(len(places))]
    choices = [
        AnswerChoice(say("layer {block}, head {head}", block=block, head=head), float(shares[block, head]),
               say("{share} of its attention", share=percent(shares[block, head], 0)))
        for block, head in places
    ]  # fmt: skip
    sentence = (
        say("In which of these heads do patches attend most to the class token?")
        if rec.grid.prefix == 1 and material.vit.pooling == "class token"
        else say("In which of these heads do patches attend most to the tokens before them?")
    )
    return make_question(
        "sink", sentence, choices,
        say("In this head, patches give on average {share} of their attention to tokens that are not patches.",
            share=percent(shares[most], 0)),
        min_margin=MIN_SHARE_MARGIN, page="attention", address={"layer": most[0], "one_head": most[1]},
    )  # fmt: skip


def _heads_attending_to_patches(material: QuizMaterial) -> list[tuple[int, int]]:
    """(block, head) of the heads whose maps there are and that look at patches with most of their attention."""
    share = material.rec.prefix_attention_share
    return [
        (block, head) for block in sorted(material.rec.maps) for head in range(share.shape[1]) if share[block, head] < SINK_SHARE
    ]


def _between_patches(material: QuizMaterial, block: int, head: int, patch: int) -> NDArray[np.float64]:
    """(N,) what a head gives to each patch from one."""
    grid = material.rec.grid
    return material.rec.maps[block][head, grid.prefix + patch, grid.prefix :].astype(np.float64)
