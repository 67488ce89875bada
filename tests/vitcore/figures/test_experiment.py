"""An experiment's chart: the numbers along an axis that is drawn by ratio are written out."""

import pytest

from vitcore.figures.charts.experiment import ExperimentCurve, experiment_chart


@pytest.mark.parametrize(("x", "written"), [
    ([3, 4, 6, 9, 14, 40, 90, 200], ["5", "10", "20", "50", "100", "200"]),
    ([0.7, 4, 6, 9, 14, 40, 90, 5000], ["1", "10", "100", "1000"]),
    ([8, 40, 300], ["8", "40", "300"]),
])  # fmt: skip
def test_numbers_by_ratio_are_written_out(x, written):
    curve = ExperimentCurve("ViT", x, [80.0] * len(x), [79.0] * len(x), [81.0] * len(x), [])
    axis = experiment_chart([curve], "title", "operations", "accuracy", 5, 95, log_x=True).x
    assert list(axis.tick_labels) == written and [float(text) for text in written] == list(axis.ticks)
