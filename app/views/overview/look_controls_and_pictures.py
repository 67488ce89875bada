"""The Look page below its title: the linked pictures, and the same choices by number."""

from functools import partial

import streamlit as st

from app import texts
from app.components import light_or_dark
from app.components.figure import download_button, in_visitors_language
from app.components.look.look import look
from app.components.pending_choices import mark_controls_drawn, restore_pending_choices
from app.shell import copy_link, photo_ids_and_titles, query_controls, shared_selection
from app.shell.page_switch import switch_page
from app.state import reports
from app.state.models import loaded_models
from app.state.recordings import cached_recordings
from app.state.visit import current_photo
from app.state.visit.visit import Visit
from app.views.overview.look_message import look_message
from app.widgets import outlier_masking
from vitcore.report.report_settings import ReportSettings

TARGETS = {
    "patch": shared_selection.PATCH,
    "layer": shared_selection.LAYER,
    "head": shared_selection.HEAD,
    "mask": outlier_masking.STATE_KEY,
}
OPEN = "_open_page"


@st.fragment
def show_look(model: str, text: texts.Prose) -> None:
    """The pictures; runs on its own when something is chosen, and holds nothing in between."""
    if (page := st.session_state.pop(OPEN, None)) in reports.LOOK:
        switch_page(page)
    vit = loaded_models.loaded_model(model)
    photo = current_photo.load_photo(vit.bands)
    outlier_masking.set_masking(outlier_masking.is_masking_on())  # a touch in the picture sets it; the address follows
    restore_pending_choices(*TARGETS.values())
    pictures = st.container(key="lead")
    files = st.container()
    with st.expander(text["by number"], icon=":material/tune:"), st.container(horizontal=True):
        grid = vit.grid if vit.is_global else vit.patches or vit.grid
        patch = query_controls.optional_number_input(text["patch number"], shared_selection.PATCH, grid.patches, width=160)
        layer = head = None
        if vit.is_global:
            layer = query_controls.optional_number_input(text["layer number"], shared_selection.LAYER, vit.blocks, width=160)
            head = query_controls.head_menu(text["heads"], vit.heads, text["mean"], width=160)
    visit = Visit(
        vit=vit,
        photo=photo,
        recording=cached_recordings.cached_recording(vit, photo, vit.blocks - 1 if layer is None else layer),
        mode=light_or_dark.current_theme(),
        texts=text,
        patch=patch,
        head=head,
    )
    with pictures:
        masked = outlier_masking.is_masking_applied(visit)
        look(look_message(visit, layer, masked), key="look", targets=TARGETS, open_page=_open_page)
        photo_ids_and_titles.show_imagenet_name([label for label, _ in visit.recording.top_classes(2, translated=True)])
    if vit.is_global:
        with files:
            _download_button(visit)
    copy_link.offer_handout(
        patch=patch, ask=patch is not None, layer=layer, one_head=None if layer is None else head, **copy_link.USUAL_ROLLOUT
    )
    mark_controls_drawn()


def _download_button(visit: Visit) -> None:
    """The five pictures as files in one ZIP file, made when it is asked for."""
    settings = ReportSettings(patch=visit.patch, mask_outliers=outlier_masking.is_masking_applied(visit))
    make = partial(reports.five_pictures, visit.vit.name, visit.photo.key, settings, visit.mode)
    download_button(
        visit.texts["take"],
        in_visitors_language(make),
        "zip",
        ("pictures", *visit.subjects),
        key="take_pictures",
        icon=":material/download:",
    )


def _open_page(name: str) -> None:
    st.session_state[OPEN] = name
