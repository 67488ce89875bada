"""The two tokens that the explorer pins: each a patch, in a field by its number, or one that is no patch (class token, register).

A token that is no patch is the explorer's alone: by its place in the sequence it is in the address beside the patch that all
pages share, and gives way when a patch is chosen, here or on another page.
"""

import streamlit as st

from app.components.page_style.page_style import scale_to_page_px
from app.components.pending_choices import set_control
from app.shell import query_controls, shared_selection
from app.shell.query_controls import rewrite_query_param
from app.texts import Prose
from vitcore.grid import Grid

SECOND_PATCH = "second_patch"
PATCH_INSTEAD = "patch_instead"  # the field of the patch while a token that is none is pinned
FIELDS = dict(
    zip(shared_selection.PINNED_TOKENS, (shared_selection.PATCH, SECOND_PATCH), strict=True)
)  # which token → the field of its patch


def pin_token(name: str, token: int | None, prefix: int) -> None:
    """Pin a token from the picture, by its place in the sequence, the first `prefix` of which are no patches; None: none."""
    if token is not None and token >= prefix:
        st.session_state[f"_{name}"] = None
        set_control(FIELDS[name], token - prefix)
        return
    st.session_state[f"_{name}"] = token
    if name == "second":
        set_control(SECOND_PATCH, None)


def read_pins_from_address(grid: Grid) -> None:
    """What the address names when the page is entered; links of old had a patch's place in the sequence there, too."""
    for name, key in FIELDS.items():
        given = st.query_params.get(name, "")
        if not shared_selection.WHOLE_NUMBER.fullmatch(given):
            continue
        if int(given) < grid.prefix:
            st.session_state[f"_{name}"] = int(given)
            continue
        del st.query_params[name]
        st.session_state[f"_{name}"] = None
        if int(given) < grid.tokens:
            if key in st.query_params:
                del st.query_params[key]
            rewrite_query_param(key, int(given) - grid.prefix, str(int(given) - grid.prefix))
            st.rerun()  # bound by the page that was left: once it is not, Streamlit writes the address


def pinned_token_fields(grid: Grid, names: list[str], text: Prose) -> tuple[int, int | None]:
    """The fields of both, drawn; the tokens that are pinned, by their places. `names` are of the tokens before the patches."""
    first, second = (_prefix_token(name, grid.prefix) for name in FIELDS)
    about = text["patch help" if grid.prefix else "patch help bare"]
    if first is None:
        place = grid.prefix + query_controls.patch_input(text["patch control"], grid, width=165, help=about)
    else:  # an empty field names what is pinned; the patch of all pages waits for them
        place = first
        st.session_state[PATCH_INSTEAD] = None
        st.number_input(text["patch control"], 0, grid.patches - 1, None, key=PATCH_INSTEAD, step=1, width=scale_to_page_px(165),
                        placeholder=names[first], help=about, on_change=_pin_typed_patch)  # fmt: skip
    other = query_controls.optional_number_input(
        text["second"], SECOND_PATCH, grid.patches, width=155,
        placeholder=text["none"] if second is None else names[second], help=text["second help"],
        on_change=_unpin_second_token,
    )  # fmt: skip
    _write_address(first, second)
    return place, second if other is None else grid.prefix + other


def _pin_typed_patch() -> None:
    """A patch was typed into the empty field: it is pinned in place of the token that is none."""
    if (patch := st.session_state[PATCH_INSTEAD]) is not None:
        pin_token("token", patch, 0)


def _unpin_second_token() -> None:
    """A second patch was typed: it is pinned in place of the token that is none."""
    st.session_state["_second"] = None


def _prefix_token(name: str, prefix: int) -> int | None:
    """The token that is no patch and is pinned, by its place; None where this model has none there."""
    token: int | None = st.session_state.get(f"_{name}")
    return token if token is not None and token < prefix else None


def _write_address(*tokens: int | None) -> None:
    for name, token in zip(FIELDS, tokens, strict=True):
        if token is None and name in st.query_params:
            del st.query_params[name]
        elif token is not None and st.query_params.get(name) != str(token):
            st.query_params[name] = str(token)
