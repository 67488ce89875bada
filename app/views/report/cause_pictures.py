"""What the handout shows beside the paper's pictures, where the page before it showed it: parts switched off, patches deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from app import texts
from app.shell import query_controls
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


class CauseSettings(dict[str, str]):
    """Values of the controls above that are not as usual, as an address has them."""


def cause_controls(visit: Visit) -> CauseSettings:
    """The parts that are off, what takes their place, and what stands for deleted patches."""
    text, switch = visit.texts, texts.prose("switch")
    off = st.text_input(switch["off"], key=OFF, bind="query-params", placeholder="L3H1-L7.mlp", width=200)
    by = query_controls.button_row(switch, BY, list(interventions.REPLACEMENTS), help=switch["switch_by help"])
    fill = query_controls.button_row(text, DELETION, list(FILLS))
    known = [one.name for one in interventions.components(visit.vit, by)]
    code = interventions.encode_components(interventions.decode_components(off or "", known))
    found = CauseSettings({OFF: code} if code else {})
    if code and by != "zero":
        found[BY] = by
    return found if fill == "none" else CauseSettings(found | {DELETION: fill})


def cause_pictures(visit: Visit, chosen: CauseSettings) -> list[ReportPicture]:
    """What can be drawn at once: patches deleted only where this was computed, or ships."""
    return [*_switched(visit, chosen), *_deletion(visit, chosen)]


def in_address(chosen: CauseSettings) -> dict[str, str]:
    """As the controls write them into an address."""
    words = {BY: texts.prose("switch"), DELETION: texts.prose("report")}
    return {key: words[key][f"{key}.{value}"] if key in words else value for key, value in chosen.items()}


def _switched(visit: Visit, chosen: CauseSettings) -> Iterator[ReportPicture]:
    import numpy as np

    from app.state.recordings import recordings
    from vitcore.figures.heat_overlay import heat_colour_scale
    from vitcore.report.report_pictures import ReportPicture, heat_over_photo

    if OFF not in chosen:
        return
    text, rec, grid = texts.prose("switch"), visit.recording, visit.grid
    try:
        after = interventions.switched_pass(rec, chosen[OFF], chosen.get(BY, "zero"), outlier_masking.is_on(), visit.vit)
    except ModelError:
        return  # the page that it is from says why
    before = outlier_masking.recording_to_show(visit).rollout()
    top, both = covered_photos.common_top(before, after.rollout, grid), np.stack([before, after.rollout])
    tiles = heat_over_photo(recordings.input_picture(rec)[0], both, top, grid)
    by = text[f"switch_by.{chosen.get(BY, 'zero')}"]
    names = ", ".join(chosen[OFF].split(interventions.BETWEEN))
    rows = [f"{row.label}: {percent(row.before)} → {percent(row.after)}" for row in covered_photos.answer_rows(rec, after.logits)]
    yield ReportPicture(
        name="switched", title=text["download title"].format(map=text["switch_map.rollout"]), alt=text["what"],
        how=_plain(text["how"]), limits=_plain(text["limits"]), photo=True,
        about=" · ".join((f"{text['off']}: {names} ({by})", *rows)),
        tiles=((text["before"], tiles[0]), (text["after"], tiles[1])),
        scale=heat_colour_scale(100 * both, 100 * top, text["percent of all"], even_share=100 * grid.even_share),
    )  # fmt: skip


def _deletion(visit: Visit, chosen: CauseSettings) -> Iterator[ReportPicture]:
    from vitcore.report.report_pictures import ReportPicture

    text = texts.prose("maptests")
    fill = chosen.get(DELETION)
    found = map_tests.deletion_or_none(visit.recording, visit.sample, fill, visit.vit) if fill and visit.vit.labels else None
    if found is None:
        return
    rows = [one for one in map_tests.method_rows(found) if one.place is not None]
    drawn = map_tests.deletion_drawing(found, False, "light", True)
    yield ReportPicture(
        name="deletion", title=drawn.title, alt=text["deletion alt"], how=_plain(text["how"]), limits=_plain(text["limits"]),
        about=" · ".join(f"{map_tests.title(one.name)}: {percent(one.place, 0)}" for one in rows),
        figure=lambda mode: drawn, chart=True,
    )  # fmt: skip


def _plain(words: str) -> str:
    return words.replace("*", "")
