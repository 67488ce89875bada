"""What the handout and the animation show otherwise than by default, named at the top of the page, with one way back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app import texts
from app.shell.copy_link import USUAL_ROLLOUT, non_default_settings
from app.state.recordings import covered_photos
from app.views.report import cause_controls
from app.widgets import outlier_masking

if TYPE_CHECKING:
    from app.state.visit.visit import Visit
    from app.views.report.cause_controls import CauseSettings
    from vitcore.report.report_settings import ReportSettings

USUAL: dict[str, Any] = USUAL_ROLLOUT | {
    "ask": False, "pin": None, "layer": None, "one_head": None, "of_token": None, "received": False, cause_controls.COVERED: "",
    cause_controls.OFF: "", cause_controls.STEER: 0, cause_controls.DELETION: cause_controls.FILLS[0],
}  # fmt: skip
NUMBERS = ("discard", "residual", "first", "layer", "one_head", "of_token")  # settings of a report that are a number


def show_changed_settings(visit: Visit, settings: ReportSettings, causes: CauseSettings, place: DeltaGenerator) -> None:
    """One line in `place`, and a button back to the defaults; nothing where all is by default."""
    said = [*_rollout_settings(visit, settings), *_cause_settings(visit, causes)]
    if not said:
        return
    with place.container(horizontal=True, vertical_alignment="center"):
        st.markdown(visit.texts["with"].format(settings=texts.escape_markdown(" · ".join(said))))
        label = texts.prose("rollout")["as usual"]
        st.button(label, key="defaults", icon=":material/restart_alt:", type="tertiary", on_click=_back_to_defaults)


def _rollout_settings(visit: Visit, settings: ReportSettings) -> list[str]:
    text = visit.texts
    unusual = non_default_settings(settings)
    patches = {"from patch": settings.patch, "patch pinned": settings.pin}
    said = [text[key].format(patch=patch) for key, patch in patches.items() if patch is not None]
    said += [f"{text[key]}: {unusual[key]}" for key in NUMBERS if unusual[key] is not None]
    if settings.fusion != USUAL["fusion"]:
        said.append(f"{text['fusion']}: {text[f'fusion.{settings.fusion}']}")
    said += [text["received"]] * settings.received
    return said + [texts.prose("outliers")["side after"]] * settings.mask_outliers


def _cause_settings(visit: Visit, causes: CauseSettings) -> list[str]:
    said, switch = [], texts.prose("switch")
    if code := causes.get(cause_controls.COVERED):
        count = covered_photos.count_patches(code, visit.grid)
        said.append(texts.prose("cover").fill("covered count", count=count, total=visit.grid.patches).rstrip(".。"))
    if off := causes.get(cause_controls.OFF):
        said.append(f"{switch['off']}: {off}")
    if layer := causes.get(cause_controls.STEER_LAYER):
        said.append(f"{switch['steer layer']} {layer}: {causes[cause_controls.STEER]} %")
    if fill := causes.get(cause_controls.DELETION):
        said.append(f"{visit.texts[cause_controls.DELETION]}: {visit.texts[f'{cause_controls.DELETION}.{fill}']}")
    return said


def _back_to_defaults() -> None:
    """Every control as at first; not in the page: Streamlit keeps what a button calls."""
    st.session_state.update({key: usual for key, usual in USUAL.items() if key in st.session_state})
    outlier_masking.set_masking(False)
