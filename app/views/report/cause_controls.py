"""What the handout shows of causes: the controls of the pages that show them."""

import streamlit as st

from app import texts
from app.shell import photo_picker, query_controls
from app.state.photos import uploaded_photo
from app.state.recordings import cached_interventions, covered_photos
from app.state.visit.visit import Visit

OFF, BY, DELETION = "off", "switch_by", "deletion_fill"  # controls, named as on the pages that they are from
COVERED, FILL = "covered", "fill"
STEER, STEER_LAYER = "steer", "steer_layer"
FILLS = ("none", "removed", "mean", "blur")
COVER_FILLS = ("mean", "blur", "noise", "neighbour", "removed")
FARTHEST = 300  # per cent of the way that a photo is steered
PAGES = {BY: "switch", DELETION: "report", FILL: "cover"}  # control → the page whose words name its choices

CauseSettings = dict[str, str]  # values of the controls above, and of the second photo, that are not as usual


def cause_controls(visit: Visit) -> CauseSettings:
    """The controls, in a row, and what was chosen."""
    return _covered_settings(visit) | _switched_settings(visit) | _steered_settings(visit) | _deleted_settings(visit)


def _covered_settings(visit: Visit) -> CauseSettings:
    text, grid = texts.prose("cover"), visit.grid
    given = st.text_input(text["covered"], key=COVERED, bind="query-params", width=200)
    code = covered_photos.encode_patches(covered_photos.decode_patches(given or "", grid), grid)
    why = covered_photos.why_not_removable(visit.vit)
    fill = query_controls.button_row(text, FILL, [one for one in COVER_FILLS if one != "removed" or not why])
    return {COVERED: code} | ({FILL: fill} if fill != COVER_FILLS[0] else {}) if code else {}


def _switched_settings(visit: Visit) -> CauseSettings:
    text = texts.prose("switch")
    off = st.text_input(text["off"], key=OFF, bind="query-params", width=200)
    by = query_controls.button_row(text, BY, list(cached_interventions.REPLACEMENTS), help=text["switch_by help"])
    known = [one.name for one in cached_interventions.switchable_components(visit.vit, by)]
    code = cached_interventions.encode_components(cached_interventions.decode_components(off or "", known))
    return {OFF: code} | ({BY: by} if by != "zero" else {}) if code else {}


def _steered_settings(visit: Visit) -> CauseSettings:
    text, blocks = texts.prose("switch"), visit.vit.blocks
    second = photo_picker.second_photo_menu(visit, text["second photo"])
    layer = query_controls.slider(text["steer layer"], STEER_LAYER, 0, blocks - 1, blocks // 2, width=200)
    label = text["steer by"].format(photo=second.title)
    scale = query_controls.slider(label, STEER, -FARTHEST, FARTHEST, 0, width=200, help=text["steer help"])
    return {STEER: str(scale), STEER_LAYER: str(layer), photo_picker.SECOND_PHOTO: second.photo} if scale else {}


def _deleted_settings(visit: Visit) -> CauseSettings:
    fill = query_controls.button_row(visit.texts, DELETION, list(FILLS))
    return {} if fill == "none" else {DELETION: fill}


def cause_query_params(causes: CauseSettings) -> dict[str, str]:
    """As the controls write them into an address, which holds no photo of a visitor's own."""
    kept = {key: value for key, value in causes.items() if value not in uploaded_photo.KINDS}
    return {key: texts.prose(PAGES[key])[f"{key}.{value}"] if key in PAGES else value for key, value in kept.items()}
