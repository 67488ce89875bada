"""What the handout shows of causes: the controls of the pages that show them, and a picture of each that is set."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import streamlit as st

from app import texts
from app.shell import photo_ids_and_titles, photo_picker, query_controls
from app.state import step_animations
from app.state.jobs import map_test_jobs
from app.state.photos import uploaded_photo
from app.state.recordings import cached_interventions, cached_recordings, covered_photos
from app.state.visit.visit import Visit
from app.widgets import outlier_masking
from vitcore import figures
from vitcore.models.model_cards import ModelError
from vitcore.translation import percent, percents

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from vitcore.forward.recording import Recording
    from vitcore.report.report_pictures import ReportPicture

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


def cause_pictures(visit: Visit, causes: CauseSettings) -> list[ReportPicture]:
    """What can be drawn at once: patches deleted only where this was computed, or ships."""
    found: list[ReportPicture] = []
    for drawn in (_covered, _switched, _steered, _deletion):
        with contextlib.suppress(ModelError):  # the page that it is from says why
            found += drawn(visit, causes)
    return found


def _covered(visit: Visit, chosen: CauseSettings) -> Iterator[ReportPicture]:
    """What the model is shown, and the rollout of what it sees, before and after."""
    from vitcore.report.report_pictures import ReportPicture

    if COVERED not in chosen:
        return
    text, rec, code, fill = texts.prose("cover"), visit.recording, chosen[COVERED], chosen.get(FILL, COVER_FILLS[0])
    after = covered_photos.covered_pass(rec, code, fill, outlier_masking.is_masking_on(), visit.vit)
    before = outlier_masking.recording_masked_if_on(visit).rollout()
    tiles, scale = step_animations.maps_on_photo(rec, (before, after.rollout))
    count, total = covered_photos.count_patches(code, rec.grid), rec.grid.patches
    said = text.fill("covered count", count=count, total=total)
    yield ReportPicture(
        name="covered", title=text["download title"].format(readout=visit.readout), alt=text["what"],
        how=_plain(text["how"]), limits=_plain(text["limits"]), photo=True,
        about=" · ".join((f"{said} {text['fill']}: {text[f'fill.{fill}']}", *_answers(rec, after.logits))),
        tiles=((text[f"fill.{fill}"], covered_photos.covered_pixels(rec, code, fill)), (text["before"], tiles[0]),
               (text["after"], tiles[1])),
        across=3, scale=scale,
    )  # fmt: skip


def _answers(rec: Recording, logits: NDArray[np.float32]) -> list[str]:
    rows = covered_photos.answer_change_rows(rec, logits)
    return [f"{row.label}: {' → '.join(percents(row.before, row.after))}" for row in rows]


def _steered(visit: Visit, chosen: CauseSettings) -> Iterator[ReportPicture]:
    """The answer's bars after steering, and what became of both photos' answers."""
    from vitcore.report.report_pictures import ReportPicture

    if STEER not in chosen or not visit.vit.labels:
        return
    text, rec, second = texts.prose("switch"), visit.recording, chosen[photo_picker.SECOND_PHOTO]
    scale, layer = int(chosen[STEER]), int(chosen[STEER_LAYER])
    logits = cached_interventions.steered_logits(
        rec, cached_recordings.second_recording(visit.vit, second), layer, scale, visit.vit
    )
    title = photo_ids_and_titles.photo_titles_by_id(texts.language(), [second])[second]
    top = replace(rec, logits=logits).top_classes(5, translated=True)
    facts = f"{text['steer layer']} {layer}", f"{text['steer by'].format(photo=title)}: {scale}"
    drawn = figures.predictions(top, "light", text["steered answer"])
    yield ReportPicture(
        name="steered", title=text["steer title"], alt=text["steered answer"], how=_plain(text["steer how"]),
        limits=_plain(text["steer limits"]), about=" · ".join((*facts, *_answers(rec, logits))),
        figure=lambda mode: drawn, chart=True,
    )  # fmt: skip


def _switched(visit: Visit, chosen: CauseSettings) -> Iterator[ReportPicture]:
    from vitcore.report.report_pictures import ReportPicture

    if OFF not in chosen:
        return
    text, rec = texts.prose("switch"), visit.recording
    after = cached_interventions.switched_pass(rec, chosen[OFF], chosen.get(BY, "zero"), outlier_masking.is_masking_on(), visit.vit)
    before = outlier_masking.recording_masked_if_on(visit).rollout()
    tiles, scale = step_animations.maps_on_photo(rec, (before, after.rollout))
    by = text[f"switch_by.{chosen.get(BY, 'zero')}"]
    names = ", ".join(chosen[OFF].split(cached_interventions.BETWEEN))
    yield ReportPicture(
        name="switched", title=text["download title"].format(map=text["switch_map.rollout"]), alt=text["what"],
        how=_plain(text["how"]), limits=_plain(text["limits"]), photo=True,
        about=" · ".join((f"{text['off']}: {names} ({by})", *_answers(rec, after.logits))),
        tiles=((text["before"], tiles[0]), (text["after"], tiles[1])),
        across=2, scale=scale,
    )  # fmt: skip


def _deletion(visit: Visit, chosen: CauseSettings) -> Iterator[ReportPicture]:
    from vitcore.faithfulness.method_maps import map_title
    from vitcore.report.report_pictures import ReportPicture

    text = texts.prose("maptests")
    fill = chosen.get(DELETION)
    found = map_test_jobs.deletion_or_none(visit.recording, visit.sample, fill, visit.vit) if fill and visit.vit.labels else None
    if found is None:
        return
    rows = map_test_jobs.method_areas(found)
    places = [f"{map_title(one.name)} {percent(one.place, 0)}" for one in rows if one.place is not None]
    drawn = map_test_jobs.deletion_drawing(found, False, "light", False)
    yield ReportPicture(
        name="deletion", title=drawn.title, alt=text["deletion alt"], how=_plain(text["how"]), limits=_plain(text["limits"]),
        about=f"{text['place']}: {', '.join(places)}" if places else "",
        figure=lambda mode: drawn, chart=True,
    )  # fmt: skip


def _plain(words: str) -> str:
    return words.replace("*", "")
