"""The page's first part: switches beside the answer and a map that are left, and the controls whose values are in the address."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from app import texts
from app.components.figure import picture_container, show_downloads, show_explanation_fold
from app.components.pending_choices import mark_controls_drawn, restore_pending_choices
from app.components.switches.switches import switches
from app.shell import copy_link, load_page_visit, query_controls
from app.state import step_animations
from app.state.jobs import map_test_jobs
from app.state.recordings import cached_interventions
from app.state.visit.visit import Visit
from app.texts import Prose, escape_markdown
from app.views.switch import every_head, steering_section, switch_message
from app.views.switch.switch_message import SwitchVisit
from app.widgets import outlier_masking
from vitcore import figures

if TYPE_CHECKING:
    from vitcore.interventions.component_switches import Component

OFF, BY, MAP = "off", "switch_by", "switch_map"  # controls


@st.fragment
def show_switches(model: str, text: texts.Prose) -> None:
    """The page's pictures and controls; runs on its own when something is touched, and holds nothing in between."""
    visit = load_page_visit.load_fragment_visit(model, text)
    vit = visit.vit
    outlier_masking.set_masking(outlier_masking.is_masking_on())  # the address follows
    restore_pending_choices(OFF, BY, MAP, every_head.SCAN)
    pictures = picture_container()
    asked = _controls(visit)
    with pictures:
        if asked.components:
            targets = {"off": OFF, "by": BY, "map": MAP, "scan": every_head.SCAN}
            switches(switch_message.switch_message(asked), key="switches", targets=targets)
        else:
            st.info(escape_markdown(cached_interventions.why_nothing_switchable(vit)), icon=":material/info:")
    with st.container(horizontal=True, vertical_alignment="center"):
        limits = text.join_sentences((text["limits"], map_test_jobs.map_robustness_sentences(vit, asked.map_name)))
        show_explanation_fold(text["how"], limits, text["source"], is_map=True)
        if asked.components:
            _switch_download_button(asked)
            outlier_masking.show_switch_if_outliers(visit, "switch")
    if vit.labels and asked.components:
        every_head.show_depth_question(asked)
    by = asked.by if asked.off and asked.by != "zero" else None
    copy_link.offer_handout(off=asked.off or None, switch_by=by, **copy_link.USUAL_ROLLOUT)
    copy_link.add_to_handout(**steering_section.steering_params_for_handout())
    mark_controls_drawn()


def _controls(visit: Visit) -> SwitchVisit:
    """The fields that keep what is chosen in the address; they are not seen: the picture has the buttons."""
    text, vit = visit.texts, visit.vit
    with st.container(key="switch_controls"):
        by = query_controls.button_row(text, BY, list(cached_interventions.REPLACEMENTS), help=text["switch_by help"])
        shown = query_controls.button_row(text, MAP, list(switch_message.MAPS))
        found = cached_interventions.switchable_components(vit, by)
        asked = every_head.is_every_head_wanted(visit, by)
    drops = every_head.try_every_head(visit, by) if asked and vit.labels and found else None
    known = [one.name for one in cached_interventions.switchable_components(vit, "zero")]
    code = query_controls.hidden_code_field(
        text["off"], OFF, lambda code: cached_interventions.encode_components(cached_interventions.decode_components(code, known))
    )
    off = cached_interventions.decode_components(code, [one.name for one in found])
    return visit.extend(
        SwitchVisit, components=found, off=cached_interventions.encode_components(off), by=by, map_name=shown, drops=drops
    )  # fmt: skip


def _switch_download_button(visit: SwitchVisit) -> None:
    """Nothing where this model can't do without what is off."""
    after, drops = visit.after, visit.drops
    if isinstance(after, str) or visit.map_after is None:
        return
    text, mode, left, grid, photo = visit.texts, visit.mode, visit.map_after, visit.grid, visit.input_picture
    names = visit.off.split(cached_interventions.BETWEEN) if visit.off else []
    title, unit = text["download title"].format(map=text[f"switch_map.{visit.map_name}"]), text["percent of all"]
    title = outlier_masking.title_with_masking(title, outlier_masking.is_masking_on())
    label = visit.recording.top_classes(1, translated=True)[0][0] if visit.vit.labels else ""
    arrays = {} if drops is None else {"drop_of_logit": drops}
    show_downloads(
        lambda: (
            figures.relevance(100 * left, photo, grid, title, unit, mode=mode, even_share=100 * grid.even_share)
            if drops is None
            else figures.head_drops(drops, label, mode)
        ),
        "switch",
        switch_message.switches_sentence(visit),
        subjects=visit.subjects,
        file_stem="switched off",
        **cached_interventions.switched_off_arrays(names, visit.vit),
        logits_before=visit.recording.logits,
        logits_after=after.logits,
        map_before=visit.map_before,
        map_after=left,
        animation=_animation(visit, names),
        **arrays,
    )


def _animation(visit: SwitchVisit, names: list[str]) -> Callable[[], bytes]:
    """The map as parts are switched off: those that are, the strongest heads, or each layer's attention."""
    text = visit.texts
    steps = step_animations.switch_steps(names, [one.name for one in visit.components], visit.drops)
    words = {one.name: _part_title(one, text) for one in visit.components}
    shown = text[f"switch_map.{visit.map_name}"]
    words |= {"": text["nothing off yet"], "title": text[f"film {steps.kind}"].format(map=shown)}
    return partial(
        step_animations.switch_animation, visit.vit.name, visit.photo.key, steps, visit.by, visit.map_name,
        outlier_masking.is_masking_on(), words, visit.mode,
    )  # fmt: skip


def _part_title(one: "Component", text: Prose) -> str:
    of_layer = {"head": "a head", "attn": "an attention", "mlp": "an mlp"}.get(one.kind)
    if of_layer is None:
        return text[one.kind.replace("_", " ")]
    return text[of_layer].format(layer=one.layer, head=one.head)
