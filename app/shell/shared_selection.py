"""The one selection that all pages share: a patch, a layer and a head. Each has one name, for its control and in the address.

Streamlit keeps a control's value from page to page under its key. Here is what it can't know: a page's default is nobody's
choice, so another page begins with its own; and older links have other names. Photo and model have pickers on every page.
"""

import re
from typing import Any

import streamlit as st

PATCH, LAYER = "patch", "layer"
HEAD = "one_head"  # not `head`: links from when heads were counted from 1 have that
KEYS = (PATCH, LAYER, HEAD)
WHOLE_NUMBER = re.compile("[0-9]{1,6}")
OLD_NAMES = {"position": PATCH, "query": PATCH, "block": LAYER, "offset_layer": LAYER, "in_head": HEAD, "offset_head": HEAD,
       "both_head": HEAD}  # fmt: skip
COUNTED_FROM_1 = ("head", "of_head")  # heads counted from 1; 0 was their mean
CHOSEN_STATE = "_selection"  # key → what a person has chosen, on whatever page
PINNED_TOKENS = ("token", "second")  # in the explorer's address, tokens that are no patches, by their places in the sequence
PINNED_PREFIX_TOKEN = "_token"  # the first of them, pinned in place of the patch
DRAWN_STATE = "_selection_drawn"  # key → what its control was last drawn with, and its default


def restore_selection_on_entry(slug: str) -> None:
    """When a page is entered: it has what was chosen before, unless its address says something else."""
    for name in PINNED_TOKENS if slug != "attention" else ():
        st.query_params.pop(name, None)
    state, chosen = st.session_state, _chosen()
    drawn: dict[str, tuple[Any, Any]] = state.get(DRAWN_STATE, {})
    for key, (value, _) in drawn.items():
        if key in state and state[key] != value:
            _choose(key, state[key])
    state[DRAWN_STATE] = {}
    for key in KEYS:
        if slug == "report" and key != PATCH:  # it shows what the page before it showed, where a layer is no choice for all pages
            state.pop(key, None)
        elif (given := st.query_params.get(key)) is not None:  # the control takes it from there
            chosen.pop(key, None)
            if WHOLE_NUMBER.fullmatch(given):
                _choose(key, int(given))
            state.pop(key, None)
        elif key in chosen:
            state[key] = chosen[key]
        else:
            state.pop(key, None)


def remember_selected_value(key: str, value: Any, default: Any) -> Any:
    """A control's value, once it is drawn; if it is one of the selection and not just its page's `default`, it was chosen."""
    if key not in KEYS:
        return value
    drawn, chosen = st.session_state.setdefault(DRAWN_STATE, {}), _chosen()
    before, usual = drawn.get(key, (chosen.get(key), default))
    if (value != before and value == default != usual) or (key not in drawn and value == default != chosen.get(key)):
        chosen.pop(key, None)
    elif value != before:
        _choose(key, value)
    drawn[key] = value, default
    return value


def _choose(key: str, value: Any) -> None:
    _chosen()[key] = value
    if key == PATCH:
        st.session_state[PINNED_PREFIX_TOKEN] = None


def forget_selected_value(key: str) -> None:
    _chosen().pop(key, None)
    st.session_state.get(DRAWN_STATE, {}).pop(key, None)


def rename_old_query_params_and_rerun(slug: str) -> None:
    """Write what a link of old calls otherwise as it is called today; the run begins again where there was any."""
    rename_query_params_and_rerun(
        {old: key for old, key in OLD_NAMES.items() if (slug, old) != ("compare", "query")}
    )  # a place on two grids there


def rename_query_params_and_rerun(new_names: dict[str, str]) -> None:
    """The same of these names (`new_names` → key): controls read the address that a run began with."""
    found = {name: st.query_params[name] for name in (*new_names, *COUNTED_FROM_1) if name in st.query_params}
    for name, given in found.items():
        del st.query_params[name]
        key, new_value = new_names.get(name, HEAD), given
        if name in COUNTED_FROM_1:
            new_value = str(int(given) - 1) if re.fullmatch("0*[1-9][0-9]{0,5}", given) else ""
        elif name == "both_head":  # it was a name, as "head 1"
            new_value = re.sub("[^0-9]", "", given)
        if new_value and key not in st.query_params:
            st.query_params[key] = new_value
    if found:
        st.rerun()


def _chosen() -> dict[str, Any]:
    chosen: dict[str, Any] = st.session_state.setdefault(CHOSEN_STATE, {})
    return chosen
