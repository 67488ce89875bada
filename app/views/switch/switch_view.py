"""The page's first part: switches beside the answer and a map that are left, and the controls whose values are in the address."""

import streamlit as st

from app import texts
from app.components.figure import explain, lead
from app.components.pending_choices import mark_drawn, restore_pending
from app.components.switches.switches import switches
from app.shell import copy_link, current_visit, query_controls
from app.state.recordings import interventions
from app.state.visit.visit import Visit
from app.texts import escape_markdown
from app.views.switch import every_head, patching_view, switch_message
from app.views.switch.switch_message import SwitchVisit
from app.widgets import outlier_masking

OFF, BY, MAP = "off", "switch_by", "switch_map"  # controls


@st.fragment
def show_switches(model: str, text: texts.Prose) -> None:
    """The page's pictures and controls; runs on its own when something is touched, and holds nothing in between."""
    visit = current_visit.visit_of_fragment(model, text)
    vit = visit.vit
    outlier_masking.set_masking(outlier_masking.is_on())  # the address follows
    restore_pending(OFF, BY, MAP, every_head.SCAN)
    pictures = lead()
    asked = _controls(visit)
    with pictures:
        if asked.components:
            targets = {"off": OFF, "by": BY, "map": MAP, "scan": every_head.SCAN}
            switches(switch_message.switch_message(asked), key="switches", targets=targets)
        else:
            st.info(escape_markdown(interventions.why_none(vit)), icon=":material/info:")
    with st.container(horizontal=True, vertical_alignment="center"):
        explain(text["how"], text["limits"], text["source"])
        if asked.components:
            switch_message.download_button(asked)
            outlier_masking.switch_if_any(visit, "switch")
    if vit.labels and asked.components:
        every_head.show_question(asked)
    by = asked.by if asked.off and asked.by != "zero" else None
    copy_link.offer_handout(off=asked.off or None, switch_by=by, **copy_link.USUAL_ROLLOUT)
    copy_link.add_to_handout(**patching_view.chosen())
    mark_drawn()


def _controls(visit: Visit) -> SwitchVisit:
    """The fields that keep what is chosen in the address; they are not seen: the picture has the buttons."""
    text, vit = visit.texts, visit.vit
    with st.container(key="switch_controls"):
        by = query_controls.button_row(text, BY, list(interventions.REPLACEMENTS), help=text["switch_by help"])
        shown = query_controls.button_row(text, MAP, list(switch_message.MAPS))
        found = interventions.components(vit, by)
        asked = every_head.is_asked_for(visit, by)
    drops = every_head.try_every_head(visit, by) if asked and vit.labels and found else None
    known = [one.name for one in interventions.components(vit, "zero")]
    code = query_controls.code_field(
        text["off"], OFF, lambda code: interventions.encode_components(interventions.decode_components(code, known))
    )
    off = interventions.decode_components(code, [one.name for one in found])
    return visit.extend(
        SwitchVisit, components=found, off=interventions.encode_components(off), by=by, map_name=shown, drops=drops
    )  # fmt: skip
