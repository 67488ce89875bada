"""The message to the switches: which there are, what is off, the answer and the map before and after, the drops of heads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from app.components.answer_change.answer_change import class_probability_row, encode_map_values
from app.state import landing_figures
from app.state.recordings import cached_interventions, covered_photos
from app.state.recordings.covered_photos import ChangedPass
from app.state.visit.visit import Visit
from app.views.switch import every_head
from app.widgets import outlier_masking
from vitcore.models.model_cards import ModelError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from vitcore.interventions.component_switches import Component

MAPS = ("rollout", "class_attention")
TEXT_KEYS = (
    "answer", "before", "after", "switches", "all on", "tokens", "attention", "mlp", "head", "layer", "a head", "an attention",
    "an mlp", "switch_by", "switch_map", "try every head", "trying",
    "positions", "registers", "class token", "is on", "is off", "drop of", "point", "row",
)  # fmt: skip


def switch_message(visit: SwitchVisit) -> dict[str, Any]:
    """The message to the switches: components, what is off, answers and maps before and after."""
    text, rec, grid, vit = visit.texts, visit.recording, visit.grid, visit.vit
    after = None if isinstance(visit.after, str) else visit.after
    rows = covered_photos.answer_change_rows(rec, after.logits) if after else []
    found, left = outlier_masking.outliers_in_map(visit, visit.map_before), visit.map_after
    marks = []
    if after is not None and left is not None and not outlier_masking.is_masking_on():
        marks = covered_photos.outliers_to_frame(left, after.outliers)
    framed = [outlier_masking.map_outliers_of_patches(marks, len(after.outliers), grid)] if after else []
    return {
        "state": {"off": visit.off, "by": visit.by, "map": visit.map_name, "scan": "" if visit.drops is None else every_head.TRIED},
        "choices": {
            "by": _options(visit, "switch_by", cached_interventions.REPLACEMENTS),
            "map": _options(visit, "switch_map", MAPS),
        },
        "scannable": bool(vit.labels),
        "layers": vit.blocks,
        "heads": vit.heads,
        "components": [{"name": one.name, "kind": one.kind, "layer": one.layer, "head": one.head} for one in visit.components],
        "grid": {"rows": grid.rows, "cols": grid.cols, "step": list(grid.step_px)},
        "photo": visit.photo_url,
        "detail": visit.detail_url,
        "colours": landing_figures.encoded_colour_tables(visit.mode),
        "map": _map(visit, found, marks),
        "scan": _scan(visit),
        "answer": [class_probability_row(*row) for row in rows],
        "told": switches_sentence(visit),
        "outlying": outlier_masking.framed_outliers_sentence([found], framed, grid),
        "words": {key: text[key] for key in TEXT_KEYS} | {"by help": text["switch_by help"]},
    }


def _options(visit: SwitchVisit, control: str, values: Iterable[str]) -> list[tuple[str, str]]:
    """What a row of buttons offers: values, and what they are called."""
    return [(value, visit.texts[f"{control}.{value}"]) for value in values]


def _map(visit: SwitchVisit, found: outlier_masking.MapOutliers, marks: list[int]) -> dict[str, Any]:
    """The map before and after on one colour scale, and the outlier tokens that hold much of each, where they are not masked."""
    before, left = visit.map_before, visit.map_after
    top, scale = covered_photos.common_scale(before, left, visit.grid)
    return {
        "title": visit.texts[f"switch_map.{visit.map_name}"], "before": encode_map_values(before),
        "top": top, "scale": scale, "after": None if left is None else encode_map_values(left),
        "outliers": {"before": found.patches, "after": marks},
    }  # fmt: skip


def _scan(visit: SwitchVisit) -> dict[str, Any] | None:
    """The drops of every head, where they were tried."""
    if visit.drops is None:
        return None
    best, top = cached_interventions.strongest_head(visit.drops), float(abs(visit.drops).max()) or 1.0
    label = visit.recording.top_classes(1, translated=True)[0][0]
    return {
        "drops": [[round(float(one), 3) for one in row] for row in visit.drops], "top": top, "scale": f"{top:.3g}",
        "strongest": f"L{best.layer}H{best.head}", "told": every_head.strongest_head_sentence(visit),
        "unit": visit.texts["drop unit"].format(label=label),
    }  # fmt: skip


def switches_sentence(visit: SwitchVisit) -> str:
    """How much is off, and what became of the answer; or why this can't be done."""
    text, count, after = visit.texts, len(visit.off.split(cached_interventions.BETWEEN)) if visit.off else 0, visit.after
    if isinstance(after, str):
        return after
    if not count:
        return text["nothing off"]
    change = covered_photos.answer_change_sentence(visit.recording, after.logits, text)
    return text.join_sentences((text.fill("off count", count=count), change))


@dataclass(frozen=True, eq=False, kw_only=True)
class SwitchVisit(Visit):
    """Names of what is off, as text; the replacement; "rollout" or "class_attention"; the drops, where every head was tried."""

    components: list[Component]
    off: str
    by: str
    map_name: str
    drops: NDArray | None

    @cached_property
    def after(self) -> ChangedPass | str:
        """The pass without what is off, or why this model can't make it, as a sentence."""
        try:
            return cached_interventions.switched_pass(self.recording, self.off, self.by, outlier_masking.is_masking_on(), self.vit)
        except ModelError as error:
            return str(error)

    @cached_property
    def map_before(self) -> NDArray:
        """(rows, cols) of the pass as it is."""
        shown = outlier_masking.recording_masked_if_on(self)
        return shown.rollout() if self.map_name == "rollout" else shown.pooled_attention(self.vit.blocks - 1)

    @cached_property
    def map_after(self) -> NDArray | None:
        """(rows, cols) without what is off; None where the model can't make it."""
        return None if isinstance(self.after, str) else getattr(self.after, self.map_name)
