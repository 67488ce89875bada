"""Questions about heads: which looks nearest or farthest, whose attention it is, and who looks at the tokens before the patches."""

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from vitcore.analysis.attention_distance import uniform_distance_px
from vitcore.analysis.rollout import map_overlap
from vitcore.grid import SINK_SHARE
from vitcore.quiz import question_pictures
from vitcore.quiz.outlier_explanations import of_choices, of_map, with_more
from vitcore.quiz.patch_questions import TRIES, four, some
from vitcore.quiz.question import LETTERS, Choice, Picture, Question, judged
from vitcore.quiz.quiz_data import SIDE_PX, Material
from vitcore.translation import percent, say

REACH = 0.1  # of the distance of even attention, by which a head is ahead
SHARE = 0.1  # of a head's attention, by which one is ahead
COMMON = 0.3  # of their attention, at least, that two places do not share
NEAR = 0.6  # of the distance of even attention, at most: a head whose map tells where it looks from


def nearest(m: Material, rng: Generator) -> Question | None:
    """Which head looks nearest?"""
    return _reach(m, rng, farthest=False)


def farthest(m: Material, rng: Generator) -> Question | None:
    """Which head looks farthest?"""
    return _reach(m, rng, farthest=True)


def _reach(m: Material, rng: Generator, farthest: bool) -> Question | None:
    """Of the patch whose maps are shown, by what each head gives to patches."""
    grid, heads = m.rec.grid, _lookers(m)
    far = grid.distances_px()
    for _ in range(TRIES if len(heads) >= 3 else 0):
        chosen = [heads[place] for place in some(rng, 4, len(heads))]
        patch = int(rng.integers(grid.patches))
        maps = [_between_patches(m, block, head, patch) for block, head in chosen]
        here = [float(one @ far[patch] / max(one.sum(), 1e-12)) for one in maps]
        even = float(far[patch].mean())
        told = [say("layer {block}, head {head}: {px} px", block=block, head=head, px=f"{px:.1f}")
                for (block, head), px in zip(chosen, here, strict=True)]  # fmt: skip
        choices = [
            Choice("", px / even, words,
                   Picture(question_pictures.cells(grid.to_map(one), patch), say("A head's attention"), photo=False))
            for px, words, one in zip(here, told, maps, strict=True)
        ]  # fmt: skip
        question = judged(
            "farthest" if farthest else "nearest",
            say("Each map is what one head attends to from the outlined patch. Which head looks farthest from there, on average?")
            if farthest else
            say("Each map is what one head attends to from the outlined patch. Which head looks nearest from there, on average?"),
            choices,
            [with_more(say("Mean distance from this patch, of what goes to patches (renormalised): {told}. Even attention to all "
                           "patches would read {even} px.", told=one, even=f"{even:.1f}"), of_choices(m, maps)) for one in told],
            least=REACH, lowest=not farthest, page="attention",
            address=[{"layer": block, "one_head": head, "patch": patch} for block, head in chosen],
        )  # fmt: skip
        if (
            question
            and max(map_overlap(maps[question.right], one) for i, one in enumerate(maps) if i != question.right)
            <= 1 - COMMON
        ):
            return question
    return None


def whose(m: Material, rng: Generator) -> Question | None:
    """From which of four patches does a head look so? Of a head that looks near, so that its map tells."""
    rec, grid, even = m.rec, m.rec.grid, uniform_distance_px(m.rec.grid)
    heads = [place for place in _lookers(m) if rec.distance_renormalised_px[place] <= NEAR * even]
    far = grid.distances_px()
    for _ in range(TRIES if heads and grid.patches >= 9 else 0):
        block, head = heads[int(rng.integers(len(heads)))]
        places = some(rng, 4, grid.patches)
        asked = places[int(rng.integers(4))]
        maps = {place: _between_patches(m, block, head, place) for place in places}
        away = [float(maps[asked] @ far[place] / max(maps[asked].sum(), 1e-12)) for place in places]
        if not question_pictures.apart(places, grid, SIDE_PX) or places[int(np.argmin(away))] != asked:
            continue
        if sorted(away)[1] - min(away) < REACH * even:
            continue
        choices = [
            Choice(letter, map_overlap(maps[place], maps[asked]), say("patch {patch}: {px} px away on average", patch=place,
                                                                    px=f"{px:.1f}"))
            for letter, place, px in zip(LETTERS, places, away, strict=True)
        ]  # fmt: skip
        shown = [
            Picture(question_pictures.cells(grid.to_map(maps[asked])), say("A head's attention"), photo=False),
            four(m, places, grid),
        ]
        question = judged(
            "whose",
            say("The map is what head {head} of layer {block} attends to from one of the four patches. From which?", head=head,
                block=block),
            choices,
            with_more(say("This head looks near: what the map shows lies {px} px from that patch on average, and farther from the "
                          "others.", px=f"{min(away):.1f}"), of_map(m, maps[asked], m.own)),
            least=COMMON, page="attention", pictures=shown,
            address={"layer": block, "one_head": head, "patch": asked},
        )  # fmt: skip
        if question:
            return question
    return None


def nearest_layer(m: Material, rng: Generator) -> Question | None:
    """In which of four layers do the heads look nearest on average?"""
    px = m.rec.distance_renormalised_px
    if len(px) < 3:
        return None
    mean, even = px.mean(1), uniform_distance_px(m.rec.grid)
    layers = sorted({int(mean.argmin()), *some(rng, min(4, len(px)), len(px))})
    while len(layers) > 4:  # the nearest stays
        layers.remove(next(layer for layer in layers if layer != mean.argmin()))
    choices = [
        Choice(say("layer {block}", block=layer), float(mean[layer] / even), f"{mean[layer]:.1f} px")
        for layer in layers
    ]
    return judged(
        "nearest_layer", say("In which of these layers do the heads look nearest, on average over the layer's heads?"), choices,
        [say("The heads of layer {block} look {px} px far on average; those of the others {rest}.", block=layer,
             px=f"{mean[layer]:.1f}", rest=", ".join(f"{mean[one]:.1f} px" for one in layers if one != layer))
         for layer in layers],
        least=REACH, lowest=True, page="distance", address={"cls": "renormalise"},
    )  # fmt: skip


def sink(m: Material, rng: Generator) -> Question | None:
    """Which of four heads gives most of its attention to tokens that are not patches?"""
    rec = m.rec
    if not rec.grid.prefix or rec.prefix_attention_share.size < 3:
        return None
    shares = rec.prefix_attention_share
    places = [divmod(place, shares.shape[1]) for place in some(rng, shares.size, shares.size)]
    most = max(places, key=lambda place: float(shares[place]))
    places = [most, *(place for place in places if shares[place] <= shares[most] - SHARE)][:4]
    places = [places[i] for i in rng.permutation(len(places))]
    choices = [
        Choice(say("layer {block}, head {head}", block=block, head=head), float(shares[block, head]),
               say("{share} of its attention", share=percent(shares[block, head], 0)))
        for block, head in places
    ]  # fmt: skip
    sentence = (
        say("Patches attend to the class token, too. In which of these heads do they do so most?")
        if rec.grid.prefix == 1 and m.vit.readout == "class token" else
        say("Patches attend to the tokens before them, too. In which of these heads do they do so most?")
    )  # fmt: skip
    return judged(
        "sink", sentence, choices,
        say("In this head, patches give on average {share} of their attention to what is not a patch.",
            share=percent(shares[most], 0)),
        least=SHARE, page="attention", address={"layer": most[0], "one_head": most[1]},
    )  # fmt: skip


def _lookers(m: Material) -> list[tuple[int, int]]:
    """(block, head) of the heads whose maps there are and that look at patches with most of their attention."""
    share = m.rec.prefix_attention_share
    return [
        (block, head)
        for block in sorted(m.rec.maps)
        for head in range(share.shape[1])
        if share[block, head] < SINK_SHARE
    ]


def _between_patches(m: Material, block: int, head: int, patch: int) -> NDArray[np.float64]:
    """(N,) what a head gives to each patch from one."""
    grid = m.rec.grid
    return m.rec.maps[block][head, grid.prefix + patch, grid.prefix :].astype(np.float64)
