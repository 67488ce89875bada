"""Around every page: the bar that says which photo and model are looked at, and changes them; and lecture mode."""

from typing import Any

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from app import texts
from app.components import light_or_dark
from app.components.page_style.page_style import apply_page_style
from app.menu import LECTURE, PAGES, ROOMS, PageRow
from app.shell import model_picker, photo_picker
from app.shell.page_switch import switch_page
from app.state.models import model_menu
from app.state.photos import sample_photos, uploaded_photo
from app.widgets import glossary, model_card_and_cautions
from vitcore.translation import say

KEYS_ASKED = "_keys_asked"
PLACE = "_lecture_place"  # of the last page of `LECTURE` that was shown


def is_lecture() -> bool:
    """Whether this is a lecture: the toggle in the sidebar, or `?lecture=true`."""
    return bool(st.session_state.get("lecture"))


def lecture_toggle(text: texts.Prose, row: PageRow) -> None:
    """The switch of lecture mode in the sidebar, and the page's style in a lecture."""
    paths = ["" if one is PAGES[0] else one.slug for one in (row, *ROOMS.get(row.room, [row]))]
    common = texts.prose("common")
    st.toggle(text["lecture"], key="lecture", bind="query-params", help=text["lecture help"])
    apply_page_style(
        is_lecture(), light_or_dark.current_theme(), row.slug, paths, _photo_and_language(), key="dress", lecture_key="lecture",
        keys_key=KEYS_ASKED, download_sizes=_download_sizes(),
        words={"drop": common["drop here"], "limit": common["file limit"]},
    )  # fmt: skip


def _photo_and_language() -> str:
    """Which photo is looked at (one of the visitor's own by its name and size), in which language."""
    photo, own = str(st.session_state.get("photo")), uploaded_photo.current_uploaded_photo()
    return f"{texts.language()} " + (f"{own[1]} {len(own[0])}" if photo == uploaded_photo.PHOTO_ID and own else photo)


def start_lecture_button(text: texts.Prose) -> None:
    """A button beside the title that starts lecture mode; its words are for who can't see what it shows."""
    _light_or_dark(text, type="tertiary")
    st.button(text["lecture"], icon=":material/present_to_all:", key="to_lecture", type="tertiary", help=text["lecture"],
              on_click=st.session_state.update, kwargs={"lecture": True})  # fmt: skip


def _light_or_dark(text: texts.Prose, **button_options: Any) -> None:
    """The button that makes the page light or dark; the browser answers a click (`components/page_style`)."""
    other = "light" if light_or_dark.current_theme() == "dark" else "dark"
    icon, help_text = f":material/{other}_mode:", text[f"to {other} help"]
    st.button(text[f"to {other}"], icon=icon, key="light_dark", help=help_text, **button_options)


def _download_sizes() -> dict[str, str]:
    """How much the models of the menu that are not here have to be downloaded, by what menus call them."""
    size = say("{size:.0f} MB download")
    return {card.title: size.format(size=card.download_mb) for card in model_menu.models_by_name().values() if card.download_mb}


def pickers_header_bar(text: texts.Prose, row: PageRow, pages: dict[str, StreamlitPage]) -> None:
    """The pickers in a popover; in a lecture also the pages before and after, a menu of all, and the way out.

    It is always there, and seen where there is room or no sidebar (`components/page_style/page_style.css`).
    """
    with st.container(horizontal=True, key="bar", gap="small", width="content", vertical_alignment="center", wrap=not is_lecture()):
        if is_lecture():
            _previous_and_next(text, row, pages)
            _page_menu(text, row, pages)
        if row.uses_model:
            _pickers(text)
        if is_lecture():
            _light_or_dark(text)
            texts.language_buttons()
            glossary.glossary_popover()
            keyboard_help_button(text, "lecture_keys")
            st.button(text["leave"], icon=":material/close_fullscreen:", key="leave", help=text["leave help"],
                      on_click=st.session_state.update, kwargs={"lecture": False})  # fmt: skip


def _previous_and_next(text: texts.Prose, row: PageRow, pages: dict[str, StreamlitPage]) -> None:
    """In the order of a lecture; from any other page back to where it was left, and on from there."""
    titles, on_way = texts.prose("menu"), row.slug in LECTURE
    place = LECTURE.index(row.slug) if on_way else st.session_state.get(PLACE, -1)
    st.session_state[PLACE] = place
    steps = ((place - on_way, ":material/arrow_back:", "before"), (place + 1, ":material/arrow_forward:", "after"))
    for step, icon, key in steps:
        if 0 <= step < len(LECTURE):
            there = LECTURE[step]
            with st.container(key=key, width="content"):
                st.page_link(
                    pages[there],
                    label=titles[there],
                    icon=icon,
                    help=text[f"{key} story" if row.slug == "story" else key],  # whose steps come first
                    icon_position="left" if key == "before" else "right",
                )


def _page_menu(text: texts.Prose, row: PageRow, pages: dict[str, StreamlitPage]) -> None:
    there = st.menu_button(text["pages"], list(pages), key="to_page", icon=":material/menu:",
                           format_func=texts.prose("menu").__getitem__)  # fmt: skip
    if there not in (None, row.slug):
        switch_page(there)


def _pickers(text: texts.Prose) -> None:
    cards, rows = model_menu.models_by_name(), sample_photos.sample_photo_rows()
    model, photo = st.session_state.get("model"), st.session_state.get("photo")
    own = uploaded_photo.current_uploaded_photo()
    upload_title = own[1] if photo == uploaded_photo.PHOTO_ID and own else text["own photo"]
    title = next((say(row["title"]) for row in rows if row["id"] == photo), upload_title)
    label = f"{title} · {cards[model].title if model in cards else model}"
    # Whether it is open is the browser's alone: what Python answers to an older touch would open what has been closed since.
    about = None if is_lecture() else text["bar help"]  # in a lecture it would lie over what it opens
    with st.popover(texts.escape_markdown(label), icon=":material/photo_library:", help=about, key="pickers"):
        st.markdown(f"**{text['bar photo']}**")
        photo_picker.sample_photo_gallery(photo or "", key="bar_gallery")
        photo_picker.photo_uploader("bar_file")
        model_picker.repeated_model_menu(text["bar model"], "bar_model")
        if card := cards.get(model or ""):
            model_card_and_cautions.show_short_cautions(card)


def show_keyboard_hint(text: texts.Prose, page: str) -> None:
    """Which keys there are, on the page on which a lecture begins."""
    begins = st.session_state.setdefault("_lecture_begins", page) if is_lecture() else st.session_state.pop("_lecture_begins", None)
    if is_lecture() and begins == page:
        with st.container(key="by_keys_here"):
            st.caption(f":material/keyboard: {text['keys']}")


def keyboard_help_button(text: texts.Prose, key: str, **button_options: Any) -> None:
    """What the question mark does, for who does not know of it."""
    st.button(text["keys title"], icon=":material/keyboard:", key=key, help=text["keys help"],
              on_click=st.session_state.update, kwargs={KEYS_ASKED: True}, **button_options)  # fmt: skip


def keyboard_help_sheet(text: texts.Prose) -> None:
    """All keys of the app, once a person has asked for them with a question mark."""
    if st.session_state.pop(KEYS_ASKED, False):
        st.dialog(text["keys title"], icon=":material/keyboard:")(st.markdown)(text["key sheet"])


def show_presenter_notes(text: texts.Prose, shared: texts.Prose) -> None:
    """The presenter's notes of a page, closed: a projector shows nothing of them until they are opened."""
    if is_lecture() and text.get("notes"):
        with st.expander(shared["notes"], icon=":material/sticky_note_2:"):
            st.markdown(text["notes"])
