"""The entry point: page config, navigation, the photo and model pickers, and then the page."""

import os
import sys
from pathlib import Path

import streamlit as st

# Threads that wait, sleep: with OpenMP's default a busy neighbour (a training run) makes a forward pass many times slower.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

HERE = Path(__file__).resolve().parent
if str(HERE.parent) not in sys.path:  # where `app` is: in a checkout, or in the installed `inside_vit`
    sys.path.insert(0, str(HERE.parent))

ICON = HERE / "static" / "icon.svg"  # a material icon here would be fetched from outside
st.set_page_config(page_title="Inside ViT", page_icon=str(ICON), layout="wide")

from app import mode, texts  # noqa: E402  (nothing heavy: torch and plotly wait until the page needs them)
from app.components.choices import answered, hold  # noqa: E402
from app.furniture import controls, copy_link, lecture, missing  # noqa: E402
from app.menu import GROUPS, PAGES  # noqa: E402
from app.state import session, turns  # noqa: E402
from app.state.memory import collector  # noqa: E402

collector.start()
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
controls.sane_address()
again = st.session_state.get("page drawn") == page.url_path
st.session_state["page drawn"] = page.url_path
with turns.pages.one(first=again):  # a click before a page that is opened: who moves a slider looks at it
    hold(another_page=not again)
    row = next(row for row in PAGES if pages[row.slug] is page or pages[row.slug].title == page.title)
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
    if row.looks:
        missing.photo(controls.uploader)
        missing.model()
    answered("photo", "lecture")  # here already: a page may stop before its end
    page.run()
    copy_link.remember(row.slug)
    lecture.notes(texts.prose(row.slug), around)
    answered()
