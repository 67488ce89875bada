"""Outlier tokens where they mislead: one setting "mask outlier tokens" for all pages, and what is said beside a map.

The setting is the visitor's, not a page's: it stays from page to page, and the address of every page that looks at a photo has it
(by hand, as the language: a bound control can stand on a page once, and this one stands beside each map).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import streamlit as st
from numpy.typing import NDArray

import vitcore
from app import texts
from app.menu import page_target
from app.state.recordings import cached_outliers
from app.state.visit.visit import Visit
from vitcore.grid import Grid
from vitcore.outlier_sentences import masked_outliers_sentence, outlier_count_phrase, outlier_sentence, outlier_sentence_about

QUERY_KEY = "mask_outliers"  # in the address
OLD_QUERY_KEYS = ("b_mask_outliers",)  # what links from before had for one side of the rollout lab
STATE_KEY = "_mask_outliers"
BOOLEANS = {"true": True, "false": False}


class MapOutliers(NamedTuple):
    """The outlier tokens (patches) that hold much of a map, what is said of them, how many there are, if they are masked."""

    patches: list[int]
    sentence: str
    total: int
    masked: bool


def read_masking_from_address(is_page_entered: bool, uses_model: bool) -> None:
    """When a run begins: a page that was entered takes what its address says; one that looks at a photo has it in its address."""
    values = [
        BOOLEANS[given] for key in (QUERY_KEY, *OLD_QUERY_KEYS) if (given := st.query_params.get(key, "").lower()) in BOOLEANS
    ]
    if is_page_entered and values:
        st.session_state[STATE_KEY] = any(values)
    _write_address(uses_model)


def _write_address(uses_model: bool = True) -> None:
    for key in (QUERY_KEY, *OLD_QUERY_KEYS):
        if key in st.query_params and not (key == QUERY_KEY and is_masking_on() and uses_model):
            del st.query_params[key]
    if is_masking_on() and uses_model and st.query_params.get(QUERY_KEY) != "true":
        st.query_params[QUERY_KEY] = "true"


def is_masking_on() -> bool:
    """Whether outlier tokens are to be masked wherever attention is shown."""
    return bool(st.session_state.get(STATE_KEY))


def set_masking(masked: bool) -> None:
    """Mask outlier tokens from now on, or no longer."""
    st.session_state[STATE_KEY] = masked
    _write_address()


def is_masking_applied(visit: Visit) -> bool:
    """Whether outlier tokens are to be masked and this photo has any."""
    return is_masking_on() and visit.vit.is_global and bool(_outlier_count(visit))


def recording_masked_if_on(visit: Visit) -> vitcore.Recording:
    """The recording that this visitor's maps are read from: with outlier tokens masked, where that is set."""
    return cached_outliers.mask_outliers(visit.recording) if is_masking_applied(visit) else visit.recording


def _outlier_count(visit: Visit) -> int:
    return len(cached_outliers.find_outlier_tokens(visit.recording).patches)


def distances_masked_if_on(visit: Visit) -> tuple[vitcore.Recording, str]:
    """The recording whose distances are to be shown, and what is said of outlier tokens: masked where all heads are at hand."""
    rec = visit.recording
    if not is_masking_applied(visit):
        return rec, ""
    if len(rec.maps) < visit.vit.blocks:
        return rec, texts.prose("outliers")["distances unmasked"]
    return cached_outliers.mask_outliers(rec), masked_outliers_sentence(_outlier_count(visit))


def outliers_in_map(visit: Visit, values: NDArray, is_attention: bool = True, masked: bool | None = None) -> MapOutliers:
    """What a map (rows, cols) of this photo shows of its outlier tokens; `masked`: whether it is of masked attention."""
    from vitcore.analysis.outlier_tokens import outliers_in_map

    patches: Any = cached_outliers.find_outlier_tokens(visit.recording).patches if visit.vit.is_global else []
    if is_masking_applied(visit) if masked is None else masked:
        return MapOutliers([], masked_outliers_sentence(len(patches)), len(patches), True)
    found = [int(patch) for patch in outliers_in_map(values, patches)] if len(patches) else []
    return MapOutliers(found, outlier_sentence(found, visit.grid, is_attention), len(patches), False)


def map_outliers_of_patches(patches: list[int], count: int, grid: Grid) -> MapOutliers:
    """The `MapOutliers` of patches that were found before, of so many outlier tokens."""
    masked = is_masking_on() and count > 0
    return MapOutliers(
        [] if masked else patches, masked_outliers_sentence(count) if masked else outlier_sentence(patches, grid), count, masked
    )


def framed_outliers_sentence(outliers_before: Sequence[MapOutliers], outliers_after: Sequence[MapOutliers], grid: Grid) -> str:
    """What is said of patches framed in maps of a photo as it is, and in those `outliers_after` a change, if there is one.

    Once where it is the same of both.
    """
    before, later = (
        map_outliers_of_patches(sorted({*chain(*(one.patches for one in maps))}), maps[0].total, grid).sentence
        for maps in (outliers_before, outliers_after or outliers_before)
    )
    if before == later:
        return before
    text, both = texts.prose("common"), {"before": before, "after": later}
    return text.join_sentences(text[f"outliers {when}"].format(said=said) for when, said in both.items() if said)


def outlier_message(patches: list[int], masked: bool) -> dict[str, Any]:
    """For a component that finds in the browser which outlier tokens (patches) hold much of a map: `outlier_frames.js`."""
    counts = range(1, len(patches) + 1)
    return {
        "patches": patches, "one_in": cached_outliers.ONE_IN,
        "masked": masked_outliers_sentence(len(patches)) if masked else "",
        "called": {place: [outlier_count_phrase(count, place) for count in counts] for place in ("corner", "edge", "")},
        "attended": outlier_sentence_about("{who}", True), "other": outlier_sentence_about("{who}", False),
    }  # fmt: skip


def show_note_and_switch(outliers: MapOutliers, place: str, maskable: bool = True, always_switch: bool = False) -> None:
    """Below a map: the sentence, the way to their page, and the switch; nothing where nothing stands out.

    `always_switch`: the switch, too, wherever there are outlier tokens; not `maskable`: a method that has no attention to mask.
    """
    text = texts.prose("outliers")
    if not outliers.sentence and not (outliers.total and always_switch and maskable):
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"outliers_{place}"):
        if outliers.sentence:
            st.markdown(outliers.sentence)
            st.page_link(page_target("outliers"), label=text["what they are"], icon=":material/flare:")
        if maskable:
            _toggle(place, outliers.total)
        elif is_masking_on():
            st.markdown(text["not maskable"])


def show_switch_if_outliers(visit: Visit, place: str) -> None:
    """The switch where a page has nothing to say of outlier tokens; nothing where the photo has none."""
    if count := _outlier_count(visit):
        _toggle(place, count)


def outlier_masking_switch(visit: Visit, place: str) -> bool:
    """The setting among a page's other settings; off, and not to be touched, where the photo has no outlier tokens."""
    text, count = texts.prose("outliers"), _outlier_count(visit)
    if count:
        return _toggle(place, count)
    return st.toggle(text["mask none"], False, key=f"no_{QUERY_KEY}", disabled=True, help=text["mask none help"])


def _toggle(place: str, count: int) -> bool:
    text, key = texts.prose("outliers"), f"{QUERY_KEY}_{place}"
    st.session_state[key] = is_masking_on()
    st.toggle(text["mask"], key=key, on_change=_switched, args=(key,), help=text.fill("mask help", count=count))
    return is_masking_on()


def _switched(key: str) -> None:
    set_masking(bool(st.session_state[key]))


def title_with_masking(title: str, masked: bool) -> str:
    """A picture's title, saying so where outlier tokens are masked."""
    return texts.prose("outliers")["masked title"].format(title=title) if masked else title
