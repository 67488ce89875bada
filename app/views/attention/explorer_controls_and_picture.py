"""The attention explorer on its page: its controls, the component, and what stands below it."""

from dataclasses import replace

import streamlit as st

from app import texts
from app.components.explorer.explorer import explorer
from app.components.figure import picture_container, show_explanation_fold
from app.components.pending_choices import mark_controls_drawn, restore_pending_choices
from app.menu import page_target
from app.shell import copy_link, load_page_visit, query_controls, shared_selection
from app.state.recordings import attention_bytes_for_browser, cached_outliers, cached_recordings
from app.state.visit.visit import Visit
from app.views.attention import explorer_download, explorer_message, pinned_tokens
from app.views.attention.explorer_message import ExplorerVisit
from app.widgets import outlier_masking
from vitcore.figures.heat_overlay import MIN_TOP_IN_EVEN_SHARES
from vitcore.translation import percent

DIRECTIONS = ("gives", "gets")
TARGETS = {"block": shared_selection.LAYER, "head": shared_selection.HEAD, "column": "direction", "rolled": "rolled",
           "mask": outlier_masking.STATE_KEY}  # fmt: skip


@st.fragment
def show_explorer(model: str, text: texts.Prose) -> None:
    """The page below its first sentence; runs on its own when something on it is touched, and holds nothing in between."""
    visit = load_page_visit.load_fragment_visit(model, text)
    vit = visit.vit
    outlier_masking.set_masking(outlier_masking.is_masking_on())  # a touch in the picture sets it; the address follows
    restore_pending_choices("direction", "lit", "log", "one_scale", *TARGETS.values(), *pinned_tokens.FIELDS.values())
    explorer_visit, outliers = _controls(visit), cached_outliers.find_outlier_tokens(visit.recording).patches.tolist()
    with picture_container():
        explorer(explorer_message.explorer_message(explorer_visit, outliers), key="explorer", targets=TARGETS,
                 directions=DIRECTIONS, pin=pinned_tokens.pin_token)  # fmt: skip
    how = [
        text["how"].format(
            worst=percent(attention_bytes_for_browser.BYTE_MAX_RELATIVE_ERROR),
            least=f"{attention_bytes_for_browser.BYTE_SMALLEST_NONZERO:.6f}",
        ),
        text["axial"] * bool(vit.structure.axes),
    ]
    with st.container(horizontal=True, vertical_alignment="center"):
        show_explanation_fold(text.join_sentences(how), text["limits"], is_map=True)
        explorer_download.explorer_download_button(explorer_visit)
        if outliers:
            st.page_link(page_target("outliers"), label=text["to outliers"], icon=":material/flare:",
                         query_params={shared_selection.LAYER: str(explorer_visit.layer)})  # fmt: skip
        st.page_link(page_target("compare"), label=text["to compare"], icon=":material/compare:",
                     query_params={"picture": "attention", shared_selection.LAYER: str(explorer_visit.layer)})  # fmt: skip
    _offer_handout(explorer_visit)
    mark_controls_drawn()


def _offer_handout(visit: ExplorerVisit) -> None:
    """The handout shows the same: a layer's or a head's attention of the pinned token, or its rollout."""
    place, prefix = visit.token, visit.grid.prefix
    patch = place - prefix if place >= prefix else None
    if visit.is_rollout:
        return copy_link.offer_handout(patch=patch, ask=patch is not None, pin=patch, **copy_link.USUAL_ROLLOUT)
    copy_link.offer_handout(
        pin=patch, layer=visit.layer, one_head=visit.head, of_token=None if patch is not None else place, received=visit.received
    )


def _controls(visit: Visit) -> ExplorerVisit:
    """The controls that keep what is chosen in the address bar; the picture and its keys set them too."""
    text, vit = visit.texts, visit.vit
    with st.container(horizontal=True, vertical_alignment="bottom", gap="xsmall", key="explorer_controls"):
        block = query_controls.layer_slider(text["block"], vit, vit.blocks // 2, width=104)
        head = query_controls.head_menu(text["head control"], vit.heads, text["mean"], width=104, help=text["head help"])
        direction = query_controls.button_row(text, "direction", list(DIRECTIONS))
        token, second = pinned_tokens.pinned_token_fields(visit.grid, explorer_message.prefix_token_labels(visit), text)
        with st.popover(text["drawing"], icon=":material/tune:", key="drawing_settings"):
            style = query_controls.button_row(text, "lit", ["heat", "light"])
            log = st.toggle(text["log"], key="log", bind="query-params", help=text["log help"])
            about = text.fill("shared help", least=f"{MIN_TOP_IN_EVEN_SHARES:g}")
            shared = st.toggle(text["shared"], key="one_scale", bind="query-params", help=about)
            rolled = st.toggle(text["rolled"], key="rolled", bind="query-params", help=text["rolled help"])
            mask = outlier_masking.outlier_masking_switch(visit, "drawing")
    rec = cached_recordings.cached_recording(vit, visit.photo, block)
    return replace(visit, recording=cached_outliers.mask_outliers(rec) if mask else rec, layer=block, head=head).extend(
        ExplorerVisit, token=token, second=second, received=direction == DIRECTIONS[1], is_rollout=rolled, style=style, log=log,
        shared=shared, mask=mask,
    )  # fmt: skip
