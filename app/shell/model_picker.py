"""The model picker of the sidebar: a menu of models, with the card of the chosen one below it."""

from typing import Any

import streamlit as st

from app import permissions, texts
from app.menu import page_target
from app.shell import missing_photo_or_model
from app.shell.query_controls import rewrite_query_param
from app.state.models import model_device, model_menu
from app.state.visit import current_model
from app.widgets import model_card_and_cautions
from vitcore.models.model_cards import DEFAULT_MODEL
from vitcore.translation import say


def show_model_picker() -> None:
    text, cards = texts.prose("common"), model_menu.models_by_name()
    current_model.FIRST.reset_picker()
    titles = {card.title for card in cards.values()}
    requested = st.session_state.get("model") or st.query_params.get("model")
    resolved = missing_photo_or_model.resolve_model_or_note_missing(requested, titles)
    if resolved is not None and resolved != requested:
        if "model" in st.session_state:
            st.session_state["model"] = resolved
        else:
            rewrite_query_param("model", resolved, cards[resolved].title if resolved in cards else resolved)
    # one that is not in the menu stays chosen: `current_model.load_model` gets it, or says why not
    unlisted = {resolved} - {None, *cards, *titles}
    name = st.selectbox(
        text["model"], [*cards, *unlisted], key="model", bind="query-params",
        format_func=lambda n: cards[n].title if n in cards else n, on_change=current_model.FIRST.forget_problem,
        accept_new_options=permissions.is_allowed("downloads"),
        help=text["model help" if permissions.is_allowed("downloads") else "off downloads"], placeholder=text["choose one"],
    )  # fmt: skip
    if card := cards.get(name or ""):
        purpose = (
            text["good for"].format(what=say(card.good_for)) if card.good_for else model_card_and_cautions.uploaded_file_name()
        )
        st.caption(f"{card.summary}  \n{purpose}")
        model_card_and_cautions.show_short_cautions(card)
        with st.popover(text["about model"], icon=":material/info:", width="stretch"):
            model_card_and_cautions.show_model_card(card)
            st.page_link(page_target("card"), label=text["whole card"], icon=":material/id_card:")
            _show_device_choice(text)


def repeated_model_menu(label: str, key: str, **options: Any) -> None:
    """The sidebar's menu once more, for who looks for it elsewhere: what is chosen here is chosen there."""
    cards, model = model_menu.models_by_name(), st.session_state.get("model") or DEFAULT_MODEL
    st.session_state[key] = model
    names = list(cards) if model in cards else [*cards, model]
    st.selectbox(label, names, key=key, on_change=_choose_model, args=(key,),
                 format_func=lambda name: cards[name].title if name in cards else name, **options)  # fmt: skip


def _choose_model(key: str) -> None:
    current_model.FIRST.forget_problem()
    st.session_state["model"] = st.session_state[key]


def _show_device_choice(text: texts.Prose) -> None:
    """On which device models run, where this machine has an accelerator and the server is one's own."""
    devices = model_device.available_devices()
    if len(devices) > 1 and not permissions.is_public():
        now = model_device.current_device().partition(":")[0]
        st.segmented_control(text["device"], devices, format_func=str.upper, default=now, key="device",
                             help=text["device help"], on_change=_choose_device)  # fmt: skip


def _choose_device() -> None:
    if device := st.session_state["device"]:
        model_device.choose_device(device)
