"""What every page has around it: page config, navigation, the photo and model pickers; and then the page.

Nothing heavy is imported here: torch and plotly wait until the page needs them.
"""

from pathlib import Path

import streamlit as st

from app import address, mode, selection, texts
from app.components.choices import answered, hold
from app.furniture import controls, copy_link, lecture, missing, outliers
from app.menu import GROUPS, PAGES
from app.state import session, turns
from app.state.memory import collector, media_files, visitors

ICON = Path(__file__).parent / "static" / "icon.svg"  # a material icon here would be fetched from outside


def draw() -> None:
    """Draw the page that the visitor is on; Streamlit calls it at every run."""
    st.set_page_config(page_title="Inside ViT", page_icon=str(ICON), layout="wide")
    visitors.me()
    collector.start()
    media_files.hold()
    mode.limit_uploads()
    texts.ask_again()
    text = texts.prose("menu")
    pages = {
        row.slug: st.Page(
            f"views/{row.slug}/page.py", title=text[row.slug], icon=row.icon, help=text[f"{row.slug} help"], url_path=row.slug,
            default=row is PAGES[0],
        )
        for row in PAGES
    }  # fmt: skip
    page = st.navigation(
        {text[f"group {group}"]: [pages[row.slug] for row in PAGES if row.group == group] for group in GROUPS},
        expanded=True,
    )
    row = next(row for row in PAGES if pages[row.slug] is page or pages[row.slug].title == page.title)
    address.sane()
    if row.looks:
        selection.translate(row.slug)
    again = st.session_state.get("page drawn") == page.url_path
    st.session_state["page drawn"] = page.url_path
    with turns.pages.one(first=again):  # a click before a page that is opened: who moves a slider looks at it
        if not again:
            selection.arrive(row.slug)
        hold(another_page=not again)
        outliers.arrive(entered=not again, looks=row.looks)
        around = texts.prose("lecture")
        head = st.container(horizontal=True, vertical_alignment="center")
        head.title(page.title, anchor=False)
        session.arrive(row.slug)
        controls.sidebar(row.looks)
        with st.sidebar:
            lecture.toggle(around, row.slug)
        with head:
            lecture.bar(around, page, list(pages.values()), row.looks)
            if not lecture.on():
                copy_link.share(row.slug)
                lecture.enter(around)
        lecture.keys(around, row.slug)
        if row.looks:
            missing.photo(controls.uploader)
            missing.model()
        answered("photo", "lecture")  # here already: a page may stop before its end
        page.run()
        copy_link.remember(row.slug)
        lecture.notes(texts.prose(row.slug), around)
        answered()
