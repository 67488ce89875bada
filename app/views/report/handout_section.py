"""The parts of the page Take it away that are of one photo: the rollout's settings, the handout and the animation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from app import texts
from app.components.figure import download_button, in_visitors_language
from app.components.page_style.page_style import scale_to_page_px
from app.shell import copy_link, query_controls
from app.state import reports
from app.state.recordings import cached_recordings
from app.state.visit.visit import Visit
from app.views.report import cause_controls, cause_pictures
from app.widgets import model_card_and_cautions, outlier_masking
from vitcore.figures.theme_colours import file_to_data_uri
from vitcore.report.report_settings import ReportSettings, report_command

if TYPE_CHECKING:
    from app.views.report.cause_controls import CauseSettings
    from vitcore.models.load_model import Vit


def rollout_setting_controls(visit: Visit) -> ReportSettings:
    """The rollout's settings, under the same names in the address as on its own page."""
    text, grid = visit.texts, visit.grid
    copy_link.restore_page_settings("report")
    with st.expander(text["settings"], icon=":material/tune:"), st.container(horizontal=True, vertical_alignment="bottom"):
        helps = texts.prose("common")
        fusion = query_controls.button_row(text, "fusion", ["mean", "max", "min"], help=helps["fusion help"])
        discard = query_controls.slider(text["discard"], "discard", 0, 95, 0, width=200, help=helps["discard help"])
        residual = query_controls.slider(text["residual"], "residual", 0, 95, 50, width=200, help=helps["residual help"])
        first = query_controls.slider(text["first"], "first", 0, visit.vit.blocks - 1, 0, width=160, help=helps["first help"])
        patch_wanted = st.toggle(text["ask"], key="ask", bind="query-params", value=False)
        query = query_controls.patch_input(text["query"], grid, width=140, disabled=not patch_wanted)
        pin = _number_or_none(text, "pin", grid.patches, text["no pin"], text["pin help"])
        layer = _number_or_none(text, "layer", visit.vit.blocks, text["last layer"])
        head = _number_or_none(text, "one_head", visit.vit.heads, text["mean of heads"])
        token = _number_or_none(text, "of_token", grid.prefix, text["no pin"]) if grid.prefix else None
        received = st.toggle(text["received"], key="received", bind="query-params", value=False)
        mask = outlier_masking.outlier_masking_switch(visit, "report")
    chosen: Any = fusion
    return ReportSettings(
        fusion=chosen, discard=discard / 100, residual=residual / 100, first_block=first, patch=query if patch_wanted else None,
        pin=pin, layer=layer, head=head, token=token, received=received, mask_outliers=mask,
    )  # fmt: skip


def _number_or_none(text: texts.Prose, key: str, count: int, none: str, about: str | None = None) -> int | None:
    """A whole number 0…count−1, or none, which is called `none`; it is this page's alone."""
    if (kept := st.session_state.get(key)) is not None and not 0 <= kept < count:
        st.session_state[key] = None
    return st.number_input(
        text[key],
        0,
        count - 1,
        None,
        key=key,
        step=1,
        bind="query-params",
        width=scale_to_page_px(140),
        placeholder=none,
        help=about,
    )


def show_handout(visit: Visit, settings: ReportSettings, causes: CauseSettings) -> None:
    """The handout: its picture, and the file with its size."""
    text = visit.texts
    with st.spinner(text["handout making"], show_time=True):
        lacking, cautions = copy_link.link_limits_sentence(text, "report"), model_card_and_cautions.model_cautions(visit.vit)
        address = copy_link.page_url(copy_link.non_default_settings(settings) | cause_controls.cause_query_params(causes))
        more = cause_pictures.cause_pictures(visit, causes)
        said = tuple(one.about for one in more)
        page = reports.photo_handout(
            visit.recording, settings, texts.language(), address, lacking, visit.sample, cautions, said, more, visit.vit
        )
    st.iframe(page.decode(), height=680, alt=text["handout alt"])  # a stranger's words in it are escaped; it has no script
    download_button(
        text["handout get"].format(size=readable_bytes(text, len(page))), lambda: page, "html", ("handout", *visit.subjects),
        key="handout_html", icon=":material/print:", type="primary", help=text["handout about"],
    )  # fmt: skip


def show_animation(visit: Visit, chosen_settings: ReportSettings) -> None:
    """Rollout through the layers, still until somebody wants it to move, and its two files."""
    from vitcore.report.report_numbers import rollout_map

    text, vit, rec, mode = visit.texts, visit.vit, visit.recording, visit.mode
    report_arguments = rec, chosen_settings, texts.language(), mode
    with st.spinner(text["animation making"], show_time=True):
        moving = reports.rollout_animation(*report_arguments, "webp", vit)
    picture_place = st.container()
    plays = st.toggle(text["animation play"], key="animation_plays", help=text["animation about"])
    shown = file_to_data_uri(moving, "image/webp") if plays else reports.rollout_end_frame(*report_arguments, vit)
    alt = text.fill("animation alt", count=vit.blocks - chosen_settings.first_block)
    picture_place.image(shown, alt=alt, width=scale_to_page_px(560))
    outlier_masking.show_note_and_switch(outlier_masking.outliers_in_map(visit, rollout_map(rec, chosen_settings)), "animation")
    model, image, fusion = vit.name, visit.photo.key, chosen_settings.fusion

    def gif() -> bytes:
        """Made when asked for; a page that waits holds no model and no recording."""
        from vitcore.report.animations.rollout_animation import rollout_animation as made

        return made(*cached_recordings.recording_from_key(model, image, fusion), chosen_settings, "gif", mode=mode)

    of = "rollout", *visit.subjects
    with st.container(horizontal=True):
        webp = text["animation webp"].format(size=readable_bytes(text, len(moving)))
        download_button(webp, lambda: moving, "webp", of, key="animation_webp", icon=":material/movie:")
        download_button(text["animation gif"], in_visitors_language(gif), "gif", of, key="animation_gif", icon=":material/gif_box:")


def shell_command(vit: Vit, settings: ReportSettings) -> str:
    """The command that does the same for a folder of photos."""
    return report_command("photos/*.jpg", vit.display_name, settings).replace("'photos/*.jpg'", "photos/*.jpg")


def readable_bytes(text: texts.Prose, count: int) -> str:
    """Bytes as a person says them."""
    if count < 10**6:
        return text["kb"].format(size=max(1, round(count / 1000)))
    return text["mb"].format(size=f"{count / 10**6:.1f}")
