"""A picture of each cause that the handout's controls set: patches covered or deleted, heads off, a steered answer."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from app import texts
from app.shell import photo_ids_and_titles, photo_picker
from app.state import step_animations
from app.state.jobs import map_test_jobs
from app.state.recordings import cached_interventions, cached_recordings, covered_photos
from app.state.visit.visit import Visit
from app.views.report.cause_controls import BY, COVER_FILLS, COVERED, DELETION, FILL, OFF, STEER, STEER_LAYER, CauseSettings
from app.widgets import outlier_masking
from vitcore import figures
from vitcore.models.model_cards import ModelError
from vitcore.translation import percent, percents

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from vitcore.forward.recording import Recording
    from vitcore.report.report_pictures import ReportPicture


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
