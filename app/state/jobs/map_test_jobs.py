"""Tests of maps: what ships for the gallery's photos and the shipped model, and the same computed for others when asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from app import texts
from app.state.memory import memory_cache
from app.state.models import loaded_models
from app.state.recordings import covered_photos
from vitcore.assets import asset_path
from vitcore.figures.drawing import Drawing
from vitcore.figures.theme_colours import Mode
from vitcore.models.model_cards import DEFAULT_MODEL
from vitcore.models.vit import Vit, no_classes_error

if TYPE_CHECKING:
    from vitcore.faithfulness.map_test_tables import PlausibilityMeans
    from vitcore.faithfulness.method_ranking import MethodDeletionScores, PhotoDeletion
    from vitcore.faithfulness.weight_randomisation import RandomisationTest
    from vitcore.forward.recording import Recording

BATCH = 8  # images that are run together
CHANCE_ORDERS = 4  # whose mean is drawn at once; places take more, which are drawn when asked for
Progress = Callable[[int, int], object]


class MethodAreas(NamedTuple):
    """A method's areas on a photo, and its place among random orders (None where none were drawn)."""

    name: str
    deletion: float
    insertion: float
    place: float | None


class ShippedTests(NamedTuple):
    """What ships of the default model, and the commands that made it, by test."""

    deletion: tuple[PhotoDeletion, ...]
    weights: Mapping[str, Mapping[str, RandomisationTest]]
    stability: Mapping[str, Mapping[str, Mapping[str, float]]]
    plausibility: Mapping[str, PlausibilityMeans]
    commands: Mapping[str, str]


@lru_cache(maxsize=1)
def shipped_tests() -> ShippedTests:
    """The tables in `assets/maps`."""
    from vitcore.faithfulness import map_test_tables

    text = {name: (asset_path("maps") / f"{name}.csv").read_text(encoding="utf-8")
            for name in ("deletion", "weights", "stability", "plausibility")}  # fmt: skip
    return ShippedTests(
        tuple(map_test_tables.read_deletion_csv(text["deletion"])), map_test_tables.read_randomisation_csv(text["weights"]),
        {photo: test.correlations for photo, test in map_test_tables.read_stability_csv(text["stability"]).items()},
        map_test_tables.read_plausibility_csv(text["plausibility"]),
        {name: map_test_tables.command_of_table(table) for name, table in text.items()},
    )  # fmt: skip


def has_shipped_tests(vit: Vit) -> bool:
    return vit.name == DEFAULT_MODEL


def why_not_testable(vit: Vit) -> str:
    """Why maps can't be tested by this model's answers, as a sentence; "" where they can."""
    return "" if vit.labels else str(no_classes_error(vit))


def deletion_or_none(rec: Recording, sample: str, fill: str, vit: Vit) -> PhotoDeletion | None:
    """Deletion and insertion of a photo, shipped (`sample`: its name in the gallery) or computed before."""
    for computed in (rank_among_random_orders, photo_deletion):
        if (kept := memory_cache.cached_value_or_none(computed, rec, fill)) is not None:
            return kept
    if not (has_shipped_tests(vit) and sample):
        return None
    return next((one for one in shipped_tests().deletion if one.photo == f"{sample}.jpg" and one.fill == fill), None)


def own_or_shipped_randomisation_tests(rec: Recording, vit: Vit) -> tuple[Mapping[str, Mapping[str, RandomisationTest]], bool]:
    """Tests with random weights by photo, and whether they are of this photo; none where they were neither computed nor ship."""
    kept = memory_cache.cached_value_or_none(photo_randomisation, rec)
    if kept is not None:
        return {rec.photo.name: kept}, True
    return (shipped_tests().weights, False) if has_shipped_tests(vit) else ({}, False)


def stability_or_none(rec: Recording, vit: Vit) -> tuple[Mapping[str, Mapping[str, float]], int]:
    """Correlations by method and change, and over how many shipped photos they are means: 0 where they are of this photo."""
    from vitcore.faithfulness.stability import mean_correlations

    kept = memory_cache.cached_value_or_none(photo_stability, rec)
    if kept is not None:
        return kept, 0
    shipped = shipped_tests().stability if has_shipped_tests(vit) else {}
    return (mean_correlations(list(shipped.values())), len(shipped)) if shipped else ({}, 0)


class ShippedMapCorrelations(NamedTuple):
    """A map's rank correlations with itself, means over photos: as the photo changes, and with random weights."""

    photos: int
    random_photos: int  # of the last
    shift: float
    mirror: float
    jpeg: float
    random: float


def map_robustness_sentences(vit: Vit, name: str) -> str:
    """What backs a map's "what this cannot tell": how far it stays with its object, in two sentences; "" where that is not known.

    `name`: of `method_maps.MAPS`; but pages draw "class_attention" of the last layer alone.
    """
    measured = "last_layer_attention" if name == covered_photos.CLASS_ATTENTION else name
    found = _shipped_numbers().get(measured) if has_shipped_tests(vit) else None
    if found is None:
        return ""
    facts = {field: f"{getattr(found, field):.2f}" for field in ("shift", "mirror", "jpeg", "random")}
    return texts.prose("common").fill("map measured", count=found.photos, others=found.random_photos, **facts)


@lru_cache(maxsize=1)
def _shipped_numbers() -> dict[str, ShippedMapCorrelations]:
    from vitcore.faithfulness.stability import mean_correlations
    from vitcore.faithfulness.weight_randomisation import mean_randomisation_tests

    shipped = shipped_tests()
    stable, random = mean_correlations(list(shipped.stability.values())), mean_randomisation_tests(list(shipped.weights.values()))
    return {
        name: ShippedMapCorrelations(
            len(shipped.stability),
            len(shipped.weights),
            values["shift"],
            values["mirror"],
            values["jpeg"],
            float(random[name].correlations[-1]),
        )
        for name, values in stable.items()
        if name in random
    }


@memory_cache.cached
def photo_deletion(rec: Recording, fill: str, _vit: Vit, _on_progress: Progress) -> PhotoDeletion:
    """Deletion and insertion of all methods on a photo beside a few random orders, too few for places. Raises: ModelError."""
    from vitcore.faithfulness.method_ranking import photo_deletion as compute

    with memory_cache.CACHE.reserve(_bytes(_vit)):
        found = compute(_vit, rec, fill=fill, batch=BATCH, random_orders=CHANCE_ORDERS, on_progress=_on_progress)
    return replace(found, places={})


@memory_cache.cached
def rank_among_random_orders(
    rec: Recording, fill: str, _photo_deletion: PhotoDeletion, _vit: Vit, _on_progress: Progress
) -> PhotoDeletion:
    """What was found of a photo, with each method's place among random orders: only these are run. Raises: ModelError."""
    from vitcore.faithfulness.method_ranking import add_random_orders

    with memory_cache.CACHE.reserve(_bytes(_vit)):
        return add_random_orders(_vit, rec, _photo_deletion, batch=BATCH, on_progress=_on_progress)


@memory_cache.cached
def photo_randomisation(rec: Recording, _vit: Vit, _on_progress: Progress) -> dict[str, RandomisationTest]:
    """Every map of a photo as the weights become random."""
    from vitcore.faithfulness.method_maps import MAPS, maps_by_model
    from vitcore.faithfulness.weight_randomisation import randomisation_tests

    with memory_cache.CACHE.reserve(_bytes(_vit) + loaded_models.model_size(_vit).weights_bytes):
        return randomisation_tests(_vit, maps_by_model(rec, MAPS, int(rec.logits.argmax())), on_progress=_on_progress)


@memory_cache.cached
def photo_stability(rec: Recording, _vit: Vit, _on_progress: Progress) -> Mapping[str, Mapping[str, float]]:
    """Every map of a photo as the photo, or the class, changes."""
    from vitcore.faithfulness.stability import stability_test

    with memory_cache.CACHE.reserve(_bytes(_vit)):
        return stability_test(_vit, rec, on_progress=_on_progress).correlations


def _bytes(vit: Vit) -> int:
    plan = loaded_models.model_size(vit)
    return max(BATCH * plan.pass_bytes, plan.gradient_bytes)


def filmed_map(names: Iterable[str]) -> str:
    """Of the maps that were tested the first whose numbers have no sign: rollout, where it is defined."""
    from vitcore.analysis.relevance import METHODS

    return next(name for name in names if name not in METHODS or not METHODS[name].signed)


def method_areas(photo_deletion: PhotoDeletion) -> list[MethodAreas]:
    """The table of a photo, the best method first."""
    curves = photo_deletion.curves
    return [
        MethodAreas(name, curves[name].deletion, curves[name].insertion, photo_deletion.places.get(name))
        for name in photo_deletion.ranked
    ]


@lru_cache(maxsize=8)
def shipped_ranking(fill: str) -> list[MethodDeletionScores]:
    """The methods' ranking over the gallery by the model that ships."""
    from vitcore.faithfulness.method_ranking import rank_methods

    return rank_methods([one for one in shipped_tests().deletion if one.fill == fill])


def ranking_sentences(fill: str, method: str = "") -> tuple[str, str]:
    """Which method is best over the gallery, and which place `method` has; "" for the best itself."""
    from vitcore.faithfulness.method_ranking import best_method, rank_of_method_sentence, ranking_sentence

    scores = shipped_ranking(fill)
    is_best = best_method(scores)[0] == method
    return ranking_sentence(scores, fill), "" if is_best else rank_of_method_sentence(scores, method)


def deletion_drawing(photo_result: PhotoDeletion, insertion: bool, mode: Mode, narrow: bool) -> Drawing:
    from vitcore.faithfulness.map_test_results_as_charts import photo_deletion_chart

    return photo_deletion_chart(photo_result, insertion, mode, narrow)


def ranking_drawing(mode: Mode) -> Drawing:
    """The ranking over the gallery, for every fill."""
    from vitcore.faithfulness.map_test_results_as_charts import method_ranking_chart

    return method_ranking_chart(shipped_tests().deletion, mode)


def randomisation_drawing(tests: Mapping[str, Mapping[str, RandomisationTest]], mode: Mode, narrow: bool) -> tuple[Drawing, str]:
    """What random weights leave of the maps, drawn, and in a sentence."""
    from vitcore.faithfulness.map_test_results_as_charts import mean_randomisation_chart
    from vitcore.faithfulness.weight_randomisation import mean_randomisation_tests, unchanged_maps_sentence

    every = list(tests.values())
    return mean_randomisation_chart(every, mode, narrow), unchanged_maps_sentence(mean_randomisation_tests(every))


def randomisation_correlations(tests: Mapping[str, Mapping[str, RandomisationTest]]) -> dict[str, Any]:
    """Mean correlations by method, part by part."""
    from vitcore.faithfulness.weight_randomisation import mean_randomisation_tests

    return {name: test.correlations.tolist() for name, test in mean_randomisation_tests(list(tests.values())).items()}
