"""What every page has around it: page config, rooms and their pages, the photo and model pickers; and then the page.

Nothing heavy is imported here: torch and plotly wait until the page needs them.
"""

import base64
import copy

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from app import permissions, texts
from app.components import light_or_dark
from app.components.light_or_dark import sync_theme_and_address
from app.components.pending_choices import drawing_page_frame, mark_controls_drawn, restore_pending_choices
from app.menu import PAGES, ROOMS, VIEWS, PageRow, page_target
from app.server import check_browser_values, render_slots
from app.shell import (
    copy_link,
    lecture_mode,
    missing_photo_or_model,
    model_picker,
    page_switch,
    photo_picker,
    query_controls,
    shared_selection,
)
from app.state.memory import garbage_collection, media_files, upload_memory_limit, visitor_storage
from app.state.visit import current_model, second_model, visitor_poll
from app.widgets import model_card_and_cautions, outlier_masking
from vitcore.errors import RefusalError

# A material icon would be fetched from outside; of a file Streamlit makes this address at every run.
ICON = "data:image/svg+xml;base64," + base64.b64encode((VIEWS.parent / "static/icon.svg").read_bytes()).decode()


def run_page() -> None:
    """Draw the page that the visitor is on; Streamlit calls it at every run."""
    st.set_page_config(page_title="Inside ViT", page_icon=ICON, layout="wide")
    visitor_storage.visitor_id()
    garbage_collection.start_collecting_garbage()
    media_files.delay_file_deletion()
    upload_memory_limit.limit_upload_memory()
    check_browser_values.refuse_impossible_values()
    permissions.limit_streamlit_uploads()
    texts.forget_language()
    text = texts.prose("menu")
    pages = {row.slug: _page(row, text) for row in PAGES}
    page = st.navigation(list(pages.values()), expanded=True)
    row = next(row for row in PAGES if pages[row.slug].url_path == page.url_path)
    page_switch.switch_to_requested_page(row.slug)
    if row.slug != "live":
        st.session_state.pop(visitor_poll.ASKED_STATE, None)
    query_controls.drop_invalid_query_params()
    if row.uses_model:
        shared_selection.rename_old_query_params_and_rerun(row.slug)
    same_page = st.session_state.get(page_switch.DRAWN_PAGE_STATE) == row.slug
    st.session_state[page_switch.DRAWN_PAGE_STATE] = row.slug
    with render_slots.acquire(priority=same_page):  # a click before a page that is opened: who moves a slider looks at it
        if not same_page:
            shared_selection.restore_selection_on_entry(row.slug)
            for choice in (current_model.FIRST, second_model.SECOND):
                choice.forget_problem()
        restore_pending_choices(another_page=not same_page)
        copy_link.forget_last_handout_offer(row.slug)
        outlier_masking.read_masking_from_address(is_page_entered=not same_page, uses_model=row.uses_model)
        lecture_text = texts.prose("lecture")
        head = st.container(horizontal=True, vertical_alignment="center", key="title_row")
        head.title(text[row.slug], anchor=False)
        _say_what_is_coming()
        _sidebar(row, text, pages)
        assumed_place = head.empty()
        is_said = not row.uses_model or model_card_and_cautions.show_assumed_answers(assumed_place)
        with head:
            lecture_mode.pickers_header_bar(lecture_text, row, pages)
            if not lecture_mode.is_lecture():
                copy_link.show_more_button()
                with copy_link.share_buttons_row(row.slug):
                    lecture_mode.start_lecture_button(lecture_text)
                _pages_of_room(row, text, pages)
        lecture_mode.show_keyboard_hint(lecture_text, row.slug)
        lecture_mode.keyboard_help_sheet(lecture_text)
        if row.uses_model:
            photo_picker.show_photo_refusal()
            missing_photo_or_model.show_missing_photo(photo_picker.photo_uploader)
            missing_photo_or_model.show_missing_model()
        mark_controls_drawn("photo", "lecture")  # here already: a page may stop before its end
        with drawing_page_frame():
            try:
                page.run()
            except RefusalError as refusal:
                st.warning(texts.escape_markdown(str(refusal)), icon=":material/block:")
            finally:
                if not is_said:  # of a model that the page has loaded now
                    model_card_and_cautions.show_assumed_answers(assumed_place)
        copy_link.remember_page_settings(row.slug)
        lecture_mode.show_presenter_notes(texts.prose(row.slug), lecture_text)
        mark_controls_drawn()


def _page(row: PageRow, text: texts.Prose) -> StreamlitPage:
    """A page as Streamlit has it: the first of a room stands in the menu under the room's name, the others below it, without icons.

    Those of other rooms are in the menu, too, but not seen (`static/head.html`).
    """
    first = row in [rows[0] for rows in ROOMS.values()]
    icon = row.icon if first or not row.room else None
    return copy.copy(page_target(row.slug, text[f"room {row.room}" if first else row.slug], icon, text[f"{row.slug} help"]))


def _say_what_is_coming() -> None:
    """In the place of a picture that is not there yet: here for the page (`static/head.html`), as `--coming` for each picture."""
    word = texts.prose("common")["computing"]
    st.container(key="coming").html(f'<style>html {{ --coming: "{word}" }}</style><p role="status">{word}</p>')


def _ask_for_poll() -> None:
    """Live with a poll at its top, from any page."""
    visitor_poll.ask_for_poll()
    if st.session_state[page_switch.DRAWN_PAGE_STATE] != "live":
        page_switch.request_page("live")


def _pages_of_room(row: PageRow, text: texts.Prose, pages: dict[str, StreamlitPage]) -> None:
    """Links to the pages of the room in one row, if it has several; seen where the menu, which has them too, is not."""
    if len(rows := ROOMS.get(row.room, [])) > 1:
        with st.container(horizontal=True, key="room", gap=None, wrap=False):
            for one in rows:
                st.page_link(pages[one.slug], label=text[one.slug], width="content")


def _sidebar(row: PageRow, text: texts.Prose, pages: dict[str, StreamlitPage]) -> None:
    """The photo and the model, on every page that shows them; at the foot what a class needs, and the language."""
    with st.sidebar:
        if row.uses_model:
            photo_picker.show_photo_picker()
            model_picker.show_model_picker()
        sync_theme_and_address(
            light_or_dark.current_theme(), key="theme", theme_state_key="_mode", lang=texts.language(),
            query_param_fixes=[*current_model.FIRST.stale_query_params(), *second_model.SECOND.stale_query_params()],
            reload_ticket=visitor_storage.reload_ticket(),
        )  # fmt: skip
        lecture_mode.lecture_toggle(texts.prose("lecture"), row)
        with st.container(horizontal=True, key="foot", gap="xsmall", wrap=False):
            texts.language_menu()
            with st.popover(text["class"], key="for_class"):
                for one in (one for one in PAGES if not one.room):
                    st.page_link(pages[one.slug], label=text[one.slug], icon=one.icon)
                st.button(texts.prose("poll")["poll"], key="desk_poll", icon=":material/how_to_vote:", type="tertiary",
                          on_click=_ask_for_poll)  # fmt: skip
                lecture_mode.keyboard_help_button(texts.prose("lecture"), "desk_keys", type="tertiary")
