"""What the handout shows beside the paper's pictures, where it was chosen: patches covered or deleted, parts off, steering."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from app import texts
from app.shell import photo_picker, photo_titles
from app.state import step_animations
from app.state.jobs import map_tests
from app.state.recordings import covered_photos, interventions, recordings
from app.state.visit.visit import Visit
from app.views.report.cause_controls import BY, COVER_FILLS, COVERED, DELETION, FILL, OFF, STEER, STEER_LAYER
from app.widgets import outlier_masking
from vitcore import figures
from vitcore.models.model_cards import ModelError
from vitcore.translation import percent

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from app.views.report.cause_controls import CauseSettings
    from vitcore.forward.recording import Recording
    from vitcore.report.report_pictures import ReportPicture


def cause_pictures(visit: Visit, chosen: CauseSettings) -> list[ReportPicture]:
    """What can be drawn at once: patches deleted only where this was computed, or ships."""
    return [*_covered(visit, chosen), *_switched(visit, chosen), *_steered(visit, chosen), *_deletion(visit, chosen)]


def _covered(visit: Visit, chosen: CauseSettings) -> Iterator[ReportPicture]:
    """What the model is shown, and the rollout of what it sees, before and after."""
    from vitcore.report.report_pictures import ReportPicture

    if COVERED not in chosen:
        return
    text, rec, code, fill = texts.prose("cover"), visit.recording, chosen[COVERED], chosen.get(FILL, COVER_FILLS[0])
    try:
        after = covered_photos.covered_pass(rec, code, fill, outlier_masking.is_on(), visit.vit)
    except ModelError:
        return  # the page that it is from says why
    before = outlier_masking.recording_to_show(visit).rollout()
    tiles, scale = step_animations.before_and_after(rec, before, after.rollout, text["percent of all"])
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
    rows = covered_photos.answer_rows(rec, logits)
    return [f"{row.label}: {percent(row.before)} → {percent(row.after)}" for row in rows]


def _steered(visit: Visit, chosen: CauseSettings) -> Iterator[ReportPicture]:
    """The answer's bars after steering, and what became of both photos' answers."""
    from vitcore.report.report_pictures import ReportPicture

    if STEER not in chosen or not visit.vit.labels:
        return
    text, rec, second = texts.prose("switch"), visit.recording, chosen[photo_picker.SECOND_PHOTO]
    scale, layer = int(chosen[STEER]), int(chosen[STEER_LAYER])
    try:
        other = recordings.second_recording(visit.vit, second)
        logits = interventions.steered_logits(rec, other, layer, scale, visit.vit)
    except ModelError:
        return  # the page that it is from says why
    title = photo_titles.titles_by_id(texts.language(), [second])[second]
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
    try:
        after = interventions.switched_pass(rec, chosen[OFF], chosen.get(BY, "zero"), outlier_masking.is_on(), visit.vit)
    except ModelError:
        return  # the page that it is from says why
    before = outlier_masking.recording_to_show(visit).rollout()
    tiles, scale = step_animations.before_and_after(rec, before, after.rollout, text["percent of all"])
    by = text[f"switch_by.{chosen.get(BY, 'zero')}"]
    names = ", ".join(chosen[OFF].split(interventions.BETWEEN))
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
    found = map_tests.deletion_or_none(visit.recording, visit.sample, fill, visit.vit) if fill and visit.vit.labels else None
    if found is None:
        return
    rows = map_tests.method_rows(found)
    places = [f"{map_title(one.name)} {percent(one.place, 0)}" for one in rows if one.place is not None]
    drawn = map_tests.deletion_drawing(found, False, "light", False)
    yield ReportPicture(
        name="deletion", title=drawn.title, alt=text["deletion alt"], how=_plain(text["how"]), limits=_plain(text["limits"]),
        about=f"{text['place']}: {', '.join(places)}" if places else "",
        figure=lambda mode: drawn, chart=True,
    )  # fmt: skip


def _plain(words: str) -> str:
    return words.replace("*", "")
