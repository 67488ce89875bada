"""What the handout shows beside the paper's pictures, where the page before it showed it: parts switched off, patches deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from app import texts
from app.shell import query_controls
from app.state import step_animations
from app.state.jobs import map_tests
from app.state.recordings import covered_photos, interventions
from app.widgets import outlier_masking
from vitcore.models.model_cards import ModelError
from vitcore.translation import percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from app.state.visit.visit import Visit
    from vitcore.report.report_pictures import ReportPicture

OFF, BY, DELETION = "off", "switch_by", "deletion_fill"  # controls
FILLS = ("none", "removed", "mean", "blur")


CauseSettings = dict[str, str]  # values of the controls above that are not as usual


def cause_controls(visit: Visit) -> CauseSettings:
    """The parts that are off, what takes their place, and what stands for deleted patches."""
    text, switch = visit.texts, texts.prose("switch")
    off = st.text_input(switch["off"], key=OFF, bind="query-params", width=200)
    by = query_controls.button_row(switch, BY, list(interventions.REPLACEMENTS), help=switch["switch_by help"])
    fill = query_controls.button_row(text, DELETION, list(FILLS))
    known = [one.name for one in interventions.components(visit.vit, by)]
    code = interventions.encode_components(interventions.decode_components(off or "", known))
    found = {OFF: code} if code else {}
    if code and by != "zero":
        found[BY] = by
    return found if fill == "none" else found | {DELETION: fill}


def cause_pictures(visit: Visit, chosen: CauseSettings) -> list[ReportPicture]:
    """What can be drawn at once: patches deleted only where this was computed, or ships."""
    return [*_switched(visit, chosen), *_deletion(visit, chosen)]


def in_address(chosen: CauseSettings) -> dict[str, str]:
    """As the controls write them into an address."""
    words = {BY: texts.prose("switch"), DELETION: texts.prose("report")}
    return {key: words[key][f"{key}.{value}"] if key in words else value for key, value in chosen.items()}


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
    rows = [f"{row.label}: {percent(row.before)} → {percent(row.after)}" for row in covered_photos.answer_rows(rec, after.logits)]
    yield ReportPicture(
        name="switched", title=text["download title"].format(map=text["switch_map.rollout"]), alt=text["what"],
        how=_plain(text["how"]), limits=_plain(text["limits"]), photo=True,
        about=" · ".join((f"{text['off']}: {names} ({by})", *rows)),
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
