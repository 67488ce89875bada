"""The message to the covering component: words, the answer before and after, and both maps as numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from app.components.answer_change.answer_change import class_probability_row, encode_map_values
from app.components.component_files import media_url
from app.state import landing_figures
from app.state.recordings import covered_photos
from app.state.recordings.covered_photos import ChangedPass
from app.state.visit.visit import Visit
from app.widgets import outlier_masking
from vitcore.models.model_cards import ModelError

if TYPE_CHECKING:
    from numpy.typing import NDArray

TEXT_KEYS = (
    "photo", "canvas", "tools", "brush", "eraser", "rectangle", "object", "undo", "redo", "clear", "size", "threshold", "fill",
    "answer", "before", "after", "rollout", "class attention", "keys", "point", "value", "row",
)  # fmt: skip
LAYERS = ("mean", "blur", "noise")  # fills that are a picture; of a neighbour, the browser takes the photo


@dataclass(frozen=True, eq=False, kw_only=True)
class CoverVisit(Visit):
    """What is covered, as text; with what; and the map that the button and the whole object ask, with how many patches of it."""

    covered: str
    fill: str
    fills: tuple[str, ...]  # those that this model can be shown
    about: str  # what is to be said of them
    map_name: str
    count: int


def cover_message(visit: CoverVisit) -> dict[str, Any]:
    """The message to the covering component: words, answers and maps before and after."""
    text, rec, grid, vit = visit.texts, visit.recording, visit.grid, visit.vit
    shown, covered = outlier_masking.recording_masked_if_on(visit), covered_pass_or_problem(visit)
    after = None if isinstance(covered, str) else covered
    rows = covered_photos.answer_change_rows(rec, after.logits) if after else []
    before = {"rollout": shown.rollout(), "class_attention": shown.pooled_attention(vit.blocks - 1)}
    left = {"rollout": after.rollout, "class_attention": after.class_attention} if after else {}
    found = {name: outlier_masking.outliers_in_map(visit, values) for name, values in before.items()}
    marks = {name: covered_photos.outliers_to_frame(values, after.outliers) for name, values in left.items()} if after else {}
    framed = [outlier_masking.map_outliers_of_patches(one, len(after.outliers), grid) for one in marks.values()] if after else []
    wanted = covered_photos.map_by_name(rec, visit.map_name, outlier_masking.is_masking_applied(visit), vit)
    layer = covered_photos.fill_png(rec, visit.fill if visit.fill in LAYERS else "mean")
    return {
        "key": f"{vit.name} {visit.photo.key}",
        "state": {"covered": visit.covered, "fill": visit.fill},
        "fills": {one: text[f"fill.{one}"] for one in visit.fills},
        "about": visit.about,
        "grid": {"rows": grid.rows, "cols": grid.cols, "step": list(grid.step_px)},
        "photo": visit.photo_url,
        "detail": visit.detail_url,
        "layer": media_url(layer, "image/png", "covered"),
        "object": encode_map_values(wanted),
        "colours": landing_figures.encoded_colour_tables(visit.mode),
        "maps": {name: _map(visit, before[name], left.get(name), found[name].patches, marks.get(name, [])) for name in before},
        "answer": [class_probability_row(*row) for row in rows],
        "told": covered if isinstance(covered, str) else covering_sentence(visit, covered),
        "outlying": outlier_masking.framed_outliers_sentence([*found.values()], framed, grid),
        "words": {key: text[key] for key in TEXT_KEYS},
    }


def covered_pass_or_problem(visit: CoverVisit) -> ChangedPass | str:
    """The pass without what is covered, or why this model can't make it, as a sentence."""
    try:
        return covered_photos.covered_pass(visit.recording, visit.covered, visit.fill, outlier_masking.is_masking_on(), visit.vit)
    except ModelError as error:
        return str(error)


def _map(visit: CoverVisit, before: NDArray, after: NDArray | None, marks: list[int], left: list[int]) -> dict[str, Any]:
    """A map before and after on one colour scale, and the outlier tokens that hold much of each, where they are not masked."""
    top, scale = covered_photos.common_scale(before, after, visit.grid)
    return {
        "before": encode_map_values(before), "after": None if after is None else encode_map_values(after), "top": top,
        "scale": scale,
        "outliers": {"before": marks, "after": [] if outlier_masking.is_masking_on() else left},
    }  # fmt: skip


def covering_sentence(visit: CoverVisit, after: ChangedPass) -> str:
    """How much is covered, and what became of the answer."""
    text, count = visit.texts, covered_photos.count_patches(visit.covered, visit.grid)
    if not count:
        return text["nothing covered"]
    how = text.fill("removed count" if visit.fill == "removed" else "covered count", count=count, total=visit.grid.patches,
                    left=visit.grid.tokens - count)  # fmt: skip
    return text.join_sentences((how, covered_photos.answer_change_sentence(visit.recording, after.logits, text)))
