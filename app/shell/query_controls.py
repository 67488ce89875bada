"""Controls whose values are kept in range and in the address (query parameters), and what a link's address means there."""

import math
from collections.abc import Callable
from typing import Any

import streamlit as st

from app import texts
from app.components.page_style.page_style import scale_to_page_px
from app.shell import shared_selection
from vitcore.grid import Grid
from vitcore.models.vit import Vit


def number_input(label: str, key: str, count: int, default: int = 0, **options: Any) -> int:
    """A whole number 0…count−1 kept in range when model or photo change, and kept in the address bar."""
    reset_control_if_out_of_range(key, 0, count - 1, default)
    value = st.number_input(label, 0, count - 1, default, key=key, step=1, bind="query-params", **_scaled_width(options))
    return int(shared_selection.remember_selected_value(key, int(value), default))


def optional_number_input(label: str, key: str, count: int, **options: Any) -> int | None:
    """A whole number 0…count−1, or none, which is the default; kept in range and in the address bar."""
    reset_control_if_out_of_range(key, 0, count - 1, None)
    value = st.number_input(label, 0, count - 1, None, key=key, step=1, bind="query-params", **_scaled_width(options))
    shared_selection.remember_selected_value(key, value, None)
    return value


def slider(label: str, key: str, low: int, high: int, default: int, **options: Any) -> int:
    """A slider low…high kept in range and in the address bar; nothing to choose when low equals high."""
    if low >= high:
        return low
    reset_control_if_out_of_range(key, low, high, default)
    value = st.slider(label, low, high, default, key=key, bind="query-params", **_scaled_width(options))
    return int(shared_selection.remember_selected_value(key, int(value), default))


def reset_control_if_out_of_range(key: str, low: float, high: float, default: float | None) -> None:
    """What was chosen for another model, or on another page, may not be there in this one."""
    if key in st.session_state and (value := st.session_state[key]) != default and (value is None or not low <= value <= high):
        st.session_state[key] = default
        shared_selection.forget_selected_value(key)


def patch_input(label: str, grid: Grid, **options: Any) -> int:
    """The patch that all pages share, by its number from 0."""
    return number_input(label, shared_selection.PATCH, grid.patches, grid.middle, **options)


def layer_slider(label: str, vit: Vit, default: int, **options: Any) -> int:
    """A slider of the model's layers, which all pages share; it says how they are counted."""
    last = vit.blocks - 1
    helps = texts.prose("common").fill("layer help", last=last)
    return slider(label, shared_selection.LAYER, 0, last, default, help=helps, **options)


def head_menu(label: str, count: int, mean_label: str, **options: Any) -> int | None:
    """A menu of the heads of a layer, which all pages share; None is their `mean_label`."""
    reset_control_if_out_of_range(shared_selection.HEAD, 0, count - 1, None)
    chosen: int | None = st.selectbox(
        label, range(count), None, key=shared_selection.HEAD, bind="query-params", placeholder=mean_label, **_scaled_width(options)
    )
    shared_selection.remember_selected_value(shared_selection.HEAD, chosen, None)
    return chosen


def button_row(
    text: texts.Prose, key: str, options: list[str], default: str | None = None, text_key: str = "", **control_options: Any
) -> str:
    """A row of buttons named in the visitor's language: label `text[key]`, names `text["key.option"]`; bound to the URL.

    The address bar holds the name that is read on the page; a link in another language, or with the option itself, works too.
    A second control of the same kind has a key of its own and is `text_key` as the first.
    """
    text_key = text_key or key
    names = {option: text[f"{text_key}.{option}"] for option in options}
    given = st.query_params.get(key)
    if (
        given is not None
        and given not in names.values()
        and (option_in_link := _option_in_any_language(text, text_key, options, given))
    ):
        rewrite_query_param(key, option_in_link, names[option_in_link])
    chosen = st.segmented_control(
        text[text_key], options, format_func=lambda option: names.get(option, option), default=default or options[0],
        required=True, key=key, bind="query-params", **control_options,
    )  # fmt: skip
    return str(chosen) if chosen in options else default or options[0]  # an empty choice comes only by hand


def select_menu(
    label: str, names: dict[str, str], key: str, other_languages: list[dict[str, str]] | None = None, **control_options: Any
) -> str:
    """A menu of names by what they name, bound to the URL; `other_languages` are the names a link in another language may hold."""
    given = st.query_params.get(key)
    if given is not None and given not in names.values():
        in_all = [{name: name for name in names}, *(other_languages or [])]
        matching = [name for there in in_all for name in names if there.get(name) == given]
        if matching:
            rewrite_query_param(key, matching[0], names[matching[0]])
    named, lang = f"_{key}_lang", texts.language()
    if key in st.session_state and st.session_state.get(named, lang) != lang:
        st.session_state[key] = st.session_state[key]  # told again: Streamlit 1.67 keeps in the browser the name it has shown
    st.session_state[named] = lang
    shown = _scaled_width(control_options) | {"format_func": lambda name: names.get(name, name)}
    return st.selectbox(label, list(names), key=key, bind="query-params", **shown)


def word_menu(label: str, text: texts.Prose, words: dict[str, str], key: str, **control_options: Any) -> str:
    """A menu of what the page's own texts name: `words` are their keys by what they name."""
    others = [{name: texts.prose(text.page, lang)[word] for name, word in words.items()} for lang in texts.LANGUAGES]
    return select_menu(label, {name: text[word] for name, word in words.items()}, key, others, **control_options)


def _scaled_width(options: dict[str, Any]) -> dict[str, Any]:
    """Options of a control whose width, if it is in px, goes with the size of the page's type."""
    width = options.get("width")
    return options | {"width": scale_to_page_px(width)} if isinstance(width, int) else options


def _option_in_any_language(text: texts.Prose, key: str, options: list[str], name: str) -> str | None:
    for lang in texts.LANGUAGES:
        there = texts.prose(text.page, lang)
        for option in options:
            if name in (option, there.get(f"{key}.{option}")):
                return option
    return None


def drop_invalid_query_params() -> None:
    """Take out of the address what Streamlit 1.67 stumbles over before a control can refuse it: nothing, and infinity."""
    invalid = [key for key, value in st.query_params.items() if not value or _infinite(value)]
    dropped = [key for key in invalid if _drop(key)]
    if dropped:
        st.rerun()


def _drop(key: str) -> bool:
    """Take a parameter out of the address; False where a control is bound to it: that has refused it, or holds it as text."""
    try:
        del st.query_params[key]
    except st.errors.StreamlitAPIException:
        return False
    return True


def _infinite(text: str) -> bool:
    try:
        return math.isinf(float(text))
    except ValueError:
        return False


def rewrite_query_param(key: str, value: str | int, name: str) -> None:
    """What a link means, as this page writes it: in the address, and where a control is bound to that already, in its value."""
    try:
        st.query_params[key] = name
    except st.errors.StreamlitAPIException:  # bound: this page has shown the control before
        st.session_state[key] = value
        return
    st.rerun()  # a control reads the address that a run began with


def hidden_code_field(label: str, key: str, rewrite: Callable[[str], str]) -> str:
    """A field that keeps a code in the address; no page shows it. What a link's code means here (`rewrite`) takes its place.

    A code that means nothing here leaves the address.
    """
    given = st.session_state.get(key, st.query_params.get(key, "")) or ""
    code = rewrite(given)
    if given and code != given:
        if key in st.session_state:
            st.session_state[key] = code
        elif code:
            rewrite_query_param(key, code, code)
        else:
            del st.query_params[key]
            st.rerun()
    st.text_input(label, key=key, bind="query-params")
    return code
