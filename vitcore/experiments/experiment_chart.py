"""From the rows of an experiment to its chart: means over seeds, their intervals, and each run as a dot."""

import numpy as np

from vitcore.experiments.experiment import MEASURES, TWICE_AS_LONG_SUFFIX, Experiment
from vitcore.experiments.results_csv import ExperimentResults, MeasurementRow
from vitcore.experiments.verdict_statistics import CHART_INTERVAL_PERCENT, confidence_interval
from vitcore.figures.charts.experiment import ExperimentCurve, RunDot, experiment_chart
from vitcore.figures.drawing import Drawing
from vitcore.figures.theme_colours import Mode
from vitcore.translation import say


def _curve_name(curve: str) -> str:
    """A curve's name; of what checks another, that one's."""
    plain = curve.removesuffix(TWICE_AS_LONG_SUFFIX)
    return say(plain) if plain == curve else say("{name}, twice as long", name=say(plain))


def chart_from_results(experiment: Experiment, results: ExperimentResults, measure: str = "", mode: Mode = "light") -> Drawing:
    """A measure of an experiment (default: its own) over its places, a curve each."""
    measure = measure or experiment.measure
    rows = [row for row in results.rows if row.measure == measure]
    places = [] if experiment.numbers or experiment.x_measure else list(dict.fromkeys(row.x for row in rows))
    across = {(row.run, row.curve): row.value for row in results.rows if row.measure == experiment.x_measure}

    def where(row: MeasurementRow) -> float:
        if experiment.x_measure:
            return across[row.run, row.curve]
        return float(places.index(row.x)) if places else float(row.x)

    curves = []
    for name in dict.fromkeys(row.curve for row in rows):
        mine = [row for row in rows if row.curve == name]
        by_place = {x: [row for row in mine if row.x == x] for x in dict.fromkeys(row.x for row in mine)}
        ends = {
            x: confidence_interval([row.value for row in some], CHART_INTERVAL_PERCENT, results.facts["overlap"])
            for x, some in by_place.items()
        }
        at = {x: where(some[0]) for x, some in by_place.items()}
        order = sorted(by_place, key=at.__getitem__)
        curves.append(ExperimentCurve(
            _curve_name(name), [at[x] for x in order], [float(np.mean([row.value for row in by_place[x]])) for x in order],
            [float(ends[x][0]) for x in order], [float(ends[x][1]) for x in order],
            [RunDot(where(row), row.value, row.seed, row.run) for row in mine], order if experiment.x_measure else [],
        ))  # fmt: skip
    return experiment_chart(
        curves,
        say(experiment.title),
        say(experiment.x_title),
        say(MEASURES[measure]),
        len(results.seeds()),
        CHART_INTERVAL_PERCENT,
        [say(place) for place in places],
        experiment.numbers or bool(experiment.x_measure),
        mode,
    )
