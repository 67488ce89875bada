"""The tests of maps as charts: what was found, put into the arrays that `vitcore.figures` draws."""

from collections.abc import Mapping, Sequence

import numpy as np

from vitcore import figures
from vitcore.faithfulness.method_maps import map_title
from vitcore.faithfulness.method_ranking import FILL_TITLES, PhotoDeletion, rank_methods
from vitcore.faithfulness.weight_randomisation import UNCHANGED, RandomisationTest, mean_randomisation_tests
from vitcore.figures.drawing import Drawing
from vitcore.figures.theme_colours import Mode
from vitcore.translation import say

PART_TITLES = {"head": "classifier", "embedding": "all"}


def photo_deletion_chart(
    photo_deletion: PhotoDeletion, insertion: bool = False, mode: Mode = "light", narrow: bool = False
) -> Drawing:
    """Deletion, or insertion, of all methods on one photo."""
    curves = [
        figures.MapCurve(name, map_title(name), 1 - curve.shares[::-1] if insertion else curve.shares,
                         curve.weakest_first[::-1] if insertion else curve.strongest_first,
                         curve.insertion if insertion else curve.deletion)
        for name, curve in photo_deletion.curves.items()
    ]  # fmt: skip
    return figures.deletion_chart(curves, photo_deletion.label, say(FILL_TITLES[photo_deletion.fill]), insertion, mode, narrow)


def method_ranking_chart(results: Sequence[PhotoDeletion], mode: Mode = "light") -> Drawing:
    """Insertion minus deletion of each method over photos, for each fill, by the order that the first fill gives."""
    fills = list(dict.fromkeys(one.fill for one in results))
    ranked = {fill: rank_methods([one for one in results if one.fill == fill]) for fill in fills}
    by_name = {fill: {score.name: score for score in scores} for fill, scores in ranked.items()}
    rows = [
        [
            figures.MethodInterval(map_title(first.name), score.gap, *(score.interval if len(score.gaps) > 1 else (score.gap,) * 2))
            for score in (by_name[fill][first.name] for fill in fills)
        ]
        for first in ranked[fills[0]]
    ]
    return figures.ranking_chart(rows, [say(FILL_TITLES[fill]) for fill in fills], len(ranked[fills[0]][0].gaps), mode)


def mean_randomisation_chart(
    tests: Sequence[Mapping[str, RandomisationTest]], mode: Mode = "light", narrow: bool = False
) -> Drawing:
    """What random weights leave of each map, mean over photos."""
    means = mean_randomisation_tests(tests)
    parts = [say("none"), *(randomised_part_title(part) for part in next(iter(means.values())).parts)]
    curves = [
        figures.MapCurve(name, map_title(name), range(len(parts)), np.r_[1.0, test.correlations], float(test.correlations[-1]))
        for name, test in means.items()
    ]
    return figures.randomisation_chart(curves, parts, UNCHANGED, mode, narrow)


def randomised_part_title(part: str) -> str:
    """A part of the model whose weights are random: a layer by its number, the classifier by name; with the embedding, all are."""
    return part.removeprefix("blocks.") if part.startswith("blocks.") else say(PART_TITLES[part])
