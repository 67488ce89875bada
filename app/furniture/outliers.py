"""Outlier tokens where they mislead: one setting "mask outlier tokens" for all pages, and what is said beside a map.

The setting is the visitor's, not a page's: it stays from page to page, and the address of every page that looks at a photo has it
(by hand, as the language: a bound control can stand on a page once, and this one stands beside each map).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import streamlit as st

from app import texts
from app.state import insights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from vitcore.forward.recording import Recording
    from vitcore.grid import Grid
    from vitcore.models.load_model import Vit

KEY = "mask_outliers"  # in the address
BEFORE = ("b_mask_outliers",)  # what links from before had for one side of the rollout lab
STATE = "_mask_outliers"
SAYS = {"true": True, "false": False}


class Found(NamedTuple):
    """The outlier tokens (patches) that hold much of a map, what is said of them, how many there are, if they are masked."""

    patches: list[int]
    told: str
    of: int
    masked: bool


def arrive(entered: bool, looks: bool) -> None:
    """When a run begins: a page that was entered takes what its address says; one that looks at a photo has it in its address."""
    said = [SAYS[given] for key in (KEY, *BEFORE) if (given := st.query_params.get(key, "").lower()) in SAYS]
    if entered and said:
        st.session_state[STATE] = any(said)
    _write(looks)


def _write(looks: bool = True) -> None:
    for key in (KEY, *BEFORE):
        if key in st.query_params and not (key == KEY and on() and looks):
            del st.query_params[key]
    if on() and looks and st.query_params.get(KEY) != "true":
        st.query_params[KEY] = "true"


def on() -> bool:
    """Whether outlier tokens are to be masked wherever attention is shown."""
    return bool(st.session_state.get(STATE))


def set_to(wanted: bool) -> None:
    """Mask them from now on, or no longer."""
    st.session_state[STATE] = wanted
    _write()


def masks(vit: Vit, rec: Recording) -> bool:
    """Whether they are to be masked and this photo has any."""
    return on() and vit.is_global and bool(_count(vit, rec))


def read(vit: Vit, rec: Recording) -> Recording:
    """The recording that this visitor's maps are read from: with outlier tokens masked, where that is set."""
    return insights.masked(vit, rec) if masks(vit, rec) else rec


def _count(vit: Vit, rec: Recording) -> int:
    return len(insights.outliers(rec).patches)


def distances(vit: Vit, rec: Recording) -> tuple[Recording, str]:
    """The recording whose distances are to be shown, and what is said of outlier tokens: masked where all heads are at hand."""
    from vitcore.outlier_sentences import masked_outliers_sentence

    if not masks(vit, rec):
        return rec, ""
    if len(rec.maps) < vit.blocks:
        return rec, texts.prose("outliers")["distances unmasked"]
    return insights.masked(vit, rec), masked_outliers_sentence(_count(vit, rec))


def in_map(vit: Vit, rec: Recording, values: NDArray, attended: bool = True, masked: bool | None = None) -> Found:
    """What a map (rows, cols) of this photo shows of its outlier tokens; `masked`: whether it is of masked attention."""
    from vitcore.analysis.outlier_tokens import outliers_in_map
    from vitcore.outlier_sentences import masked_outliers_sentence, outlier_sentence

    patches: Any = insights.outliers(rec).patches if vit.is_global else []
    if masks(vit, rec) if masked is None else masked:
        return Found([], masked_outliers_sentence(len(patches)), len(patches), True)
    found = [int(patch) for patch in outliers_in_map(values, patches)] if len(patches) else []
    return Found(found, outlier_sentence(found, rec.grid, attended), len(patches), False)


def of_grid(patches: list[int], count: int, grid: Grid) -> Found:
    """The same of patches that stand out, as they were found before, of so many outlier tokens."""
    from vitcore.outlier_sentences import masked_outliers_sentence, outlier_sentence

    masked = on() and count > 0
    return Found(
        [] if masked else patches,
        masked_outliers_sentence(count) if masked else outlier_sentence(patches, grid),
        count,
        masked,
    )


def beside(found: Found, place: str, maskable: bool = True, always: bool = False) -> None:
    """Below a map: the sentence, the way to their page, and the switch; nothing where nothing stands out.

    `always`: the switch, too, wherever there are outlier tokens; not `maskable`: a method that has no attention to mask.
    """
    text = texts.prose("outliers")
    if not found.told and not (found.of and always and maskable):
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"outliers_{place}"):
        if found.told:
            st.markdown(found.told)
            st.page_link("views/outliers/page.py", label=text["what they are"], icon=":material/flare:")
        if maskable:
            _toggle(place, found.of)
        elif on():
            st.markdown(text["not maskable"])


def quiet(vit: Vit, rec: Recording, place: str) -> None:
    """The switch where a page has nothing to say of outlier tokens; nothing where the photo has none."""
    if count := _count(vit, rec):
        _toggle(place, count)


def switch(vit: Vit, rec: Recording, place: str) -> bool:
    """The setting among a page's other settings; off, and not to be touched, where the photo has no outlier tokens."""
    text, count = texts.prose("outliers"), _count(vit, rec)
    if count:
        return _toggle(place, count)
    return st.toggle(text["mask none"], False, key=f"no_{KEY}", disabled=True, help=text["mask none help"])


def _toggle(place: str, count: int) -> bool:
    text, key = texts.prose("outliers"), f"{KEY}_{place}"
    st.session_state[key] = on()
    st.toggle(text["mask"], key=key, on_change=_taken, args=(key,), help=text.fill("mask help", count=count))
    return on()


def _taken(key: str) -> None:
    set_to(bool(st.session_state[key]))


def told(title: str, masked: bool) -> str:
    """A picture's title, saying so where outlier tokens are masked."""
    return texts.prose("outliers")["masked title"].format(title=title) if masked else title
