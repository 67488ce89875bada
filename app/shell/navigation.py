"""What every page has around it: page config, navigation, the photo and model pickers; and then the page.

Nothing heavy is imported here: torch and plotly wait until the page needs them.
"""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from app import permissions, texts
from app.components import page_theme
from app.components.page_theme import watch_theme
from app.components.pending_choices import mark_drawn, restore_pending
from app.menu import GROUPS, PAGES
from app.server import render_slots
from app.shell import address, copy_link, lecture_mode, missing_photo_or_model, model_picker, photo_picker, selection
from app.state.memory import garbage_collection, media_files, visitors
from app.state.visit import current_model, second_model
from app.widgets import outlier_masking

ICON = Path(__file__).parents[1] / "static" / "icon.svg"  # a material icon here would be fetched from outside


def run_page() -> None:
    """Draw the page that the visitor is on; Streamlit calls it at every run."""
    st.set_page_config(page_title="Inside ViT", page_icon=str(ICON), layout="wide")
    visitors.visitor_id()
    garbage_collection.start()
    media_files.delay_deletion()
    permissions.limit_uploads()
    texts.forget_language()
    text = texts.prose("menu")
    pages = {
        row.slug: st.Page(
            f"views/{row.slug}/page.py", title=text[row.slug], icon=row.icon, help=text[f"{row.slug} help"], url_path=row.slug,
            default=row is PAGES[0],
        )
        for row in PAGES
    }  # fmt: skip
    page = st.navigation(
        {text[f"group {group}"]: [pages[row.slug] for row in PAGES if row.group == group] for group in GROUPS}, expanded=True
    )
    row = next(row for row in PAGES if pages[row.slug] is page or pages[row.slug].title == page.title)
    address.drop_invalid_params()
    if row.uses_model:
        selection.translate_old_link(row.slug)
    same_page = st.session_state.get("page drawn") == page.url_path
    st.session_state["page drawn"] = page.url_path
    with render_slots.acquire(priority=same_page):  # a click before a page that is opened: who moves a slider looks at it
        if not same_page:
            selection.enter_page(row.slug)
            for choice in (current_model.FIRST, second_model.SECOND):
                choice.forget_problem()
        restore_pending(another_page=not same_page)
        outlier_masking.read_address(entered=not same_page, uses_model=row.uses_model)
        lecture_text = texts.prose("lecture")
        head = st.container(horizontal=True, vertical_alignment="center")
        head.title(page.title, anchor=False)
        _sidebar(row.uses_model)
        with st.sidebar:
            lecture_mode.toggle(lecture_text, row.slug)
        with head:
            lecture_mode.header_bar(lecture_text, page, list(pages.values()), row.uses_model)
            if not lecture_mode.is_on():
                copy_link.share_row(row.slug)
                lecture_mode.start_button(lecture_text)
        lecture_mode.keyboard_hint(lecture_text, row.slug)
        if row.uses_model:
            missing_photo_or_model.show_missing_photo(photo_picker.uploader)
            missing_photo_or_model.show_missing_model()
        mark_drawn("photo", "lecture")  # here already: a page may stop before its end
        page.run()
        copy_link.remember_settings(row.slug)
        lecture_mode.presenter_notes(texts.prose(row.slug), lecture_text)
        mark_drawn()


def _sidebar(pickers: bool = True) -> None:
    """The photo and the model, on every page that shows them."""
    with st.sidebar:
        texts.language_menu()  # before the gallery: who can't read a page looks for it first
        if pickers:
            photo_picker.show_picker()
            model_picker.show_picker()
        watch_theme(
            page_theme.current(),
            key="theme",
            target="_mode",
            lang=texts.language(),
            corrections=[*current_model.FIRST.stale_query_params(), *second_model.SECOND.stale_query_params()],
            ticket=visitors.reload_ticket(),
        )
