"""What is left to take along: the drops of every head where they were tried, else the map, and the numbers before and after."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from app.components.figure import downloads
from app.state import step_animations
from app.state.recordings import interventions
from app.texts import Prose
from app.views.switch import switch_message
from app.widgets import outlier_masking
from vitcore import figures

if TYPE_CHECKING:
    from app.views.switch.switch_visit import SwitchVisit
    from vitcore.interventions.component_switches import Component


def download_button(visit: SwitchVisit) -> None:
    """Nothing where this model can't do without what is off."""
    after, drops = visit.after, visit.drops
    if isinstance(after, str) or visit.map_after is None:
        return
    text, mode, left, grid, photo = visit.texts, visit.mode, visit.map_after, visit.grid, visit.input_picture
    names = visit.off.split(interventions.BETWEEN) if visit.off else []
    title, unit = text["download title"].format(map=text[f"switch_map.{visit.map_name}"]), text["percent of all"]
    title = outlier_masking.masked_title(title, outlier_masking.is_on())
    label = visit.recording.top_classes(1, translated=True)[0][0] if visit.vit.labels else ""
    arrays = {} if drops is None else {"drop_of_logit": drops}
    downloads(
        lambda: figures.relevance(100 * left, photo, grid, title, unit, mode=mode, even_share=100 * grid.even_share)
        if drops is None else figures.head_drops(drops, label, mode),
        "switch", switch_message.told(visit), subjects=visit.subjects, file_stem="switched off",
        **interventions.switches_as_arrays(names, visit.vit), logits_before=visit.recording.logits, logits_after=after.logits,
        map_before=visit.map_before, map_after=left, animation=_animation(visit, names), **arrays,
    )  # fmt: skip


def _animation(visit: SwitchVisit, names: list[str]) -> Callable[[], bytes]:
    """The map as parts are switched off: those that are, the strongest heads, or each layer's attention."""
    text = visit.texts
    steps = step_animations.switch_steps(names, [one.name for one in visit.components], visit.drops)
    words = {one.name: _part_title(one, text) for one in visit.components}
    shown = text[f"switch_map.{visit.map_name}"]
    words |= {"": text["nothing off yet"], "title": text[f"film {steps.kind}"].format(map=shown), "unit": text["percent of all"]}
    return partial(
        step_animations.switch_animation, visit.vit.name, visit.photo.key, steps, visit.by, visit.map_name,
        outlier_masking.is_on(), words, visit.mode,
    )  # fmt: skip


def _part_title(one: Component, text: Prose) -> str:
    of_layer = {"head": "a head", "attn": "an attention", "mlp": "an mlp"}.get(one.kind)
    if of_layer is None:
        return text[one.kind.replace("_", " ")]
    return text[of_layer].format(layer=one.layer, head=one.head)
