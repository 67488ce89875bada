"""What the handout shows of causes, by the controls of the pages that show them: covered patches, parts off, steering, deletion."""

import streamlit as st

from app import texts
from app.shell import photo_picker, query_controls
from app.state.photos import uploaded_photo
from app.state.recordings import covered_photos, interventions
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
    return _covered(visit) | _switched(visit) | _steered(visit) | _deleted(visit)


def _covered(visit: Visit) -> CauseSettings:
    text, grid = texts.prose("cover"), visit.grid
    given = st.text_input(text["covered"], key=COVERED, bind="query-params", width=200)
    code = covered_photos.encode_patches(covered_photos.decode_patches(given or "", grid), grid)
    why = covered_photos.why_not_removable(visit.vit)
    fill = query_controls.button_row(text, FILL, [one for one in COVER_FILLS if one != "removed" or not why])
    if not code:
        return {}
    return {COVERED: code} | ({FILL: fill} if fill != COVER_FILLS[0] else {})


def _switched(visit: Visit) -> CauseSettings:
    text = texts.prose("switch")
    off = st.text_input(text["off"], key=OFF, bind="query-params", width=200)
    by = query_controls.button_row(text, BY, list(interventions.REPLACEMENTS), help=text["switch_by help"])
    known = [one.name for one in interventions.components(visit.vit, by)]
    code = interventions.encode_components(interventions.decode_components(off or "", known))
    if not code:
        return {}
    return {OFF: code} | ({BY: by} if by != "zero" else {})


def _steered(visit: Visit) -> CauseSettings:
    text, blocks = texts.prose("switch"), visit.vit.blocks
    second = photo_picker.second_photo_menu(visit, text["second photo"])
    layer = query_controls.slider(text["steer layer"], STEER_LAYER, 0, blocks - 1, blocks // 2, width=200)
    label = text["steer by"].format(photo=second.title)
    scale = query_controls.slider(label, STEER, -FARTHEST, FARTHEST, 0, width=200, help=text["steer help"])
    if not scale:
        return {}
    return {STEER: str(scale), STEER_LAYER: str(layer), photo_picker.SECOND_PHOTO: second.photo}


def _deleted(visit: Visit) -> CauseSettings:
    fill = query_controls.button_row(visit.texts, DELETION, list(FILLS))
    return {} if fill == "none" else {DELETION: fill}


def in_address(chosen: CauseSettings) -> dict[str, str]:
    """As the controls write them into an address, which holds no photo of a visitor's own."""
    kept = {key: value for key, value in chosen.items() if value not in uploaded_photo.KINDS}
    return {key: texts.prose(PAGES[key])[f"{key}.{value}"] if key in PAGES else value for key, value in kept.items()}
