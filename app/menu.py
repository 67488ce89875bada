"""The pages of the app, as rows of data; their titles, and those of the rooms, are in `text/<lang>/menu.md`."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamlit.navigation.page import StreamlitPage

LECTURE = (  # page after page
    "story", "attention", "patches", "filters", "positions", "distance", "rollout", "cover", "switch",
    "maptests", "learn", "quiz",
)  # fmt: skip
VIEWS = Path(__file__).parent / "views"


@dataclass(frozen=True, slots=True)
class PageRow:
    """A page: it is `views/<slug>/page.py`, its prose `text/<lang>/<slug>.md`, its address `/<slug>`; the first: `/`."""

    slug: str
    icon: str  # of the room, too, if the page is its first
    room: str = ""  # of the menu; a page without one is for a class, at the foot of the sidebar
    uses_model: bool = True  # at the photo and through the model of the sidebar


PAGES = (
    PageRow("overview", ":material/visibility:", "look"),
    PageRow("patches", ":material/grid_view:", "look"),
    PageRow("filters", ":material/blur_on:", "look"),
    PageRow("positions", ":material/grid_on:", "look"),
    PageRow("distance", ":material/straighten:", "look"),
    PageRow("live", ":material/videocam:", "look"),
    PageRow("story", ":material/auto_stories:", "story"),
    PageRow("attention", ":material/touch_app:", "attention"),
    PageRow("tokens", ":material/palette:", "attention"),
    PageRow("outliers", ":material/flare:", "attention"),
    PageRow("rollout", ":material/center_focus_strong:", "why"),
    PageRow("cover", ":material/format_paint:", "why"),
    PageRow("switch", ":material/toggle_off:", "why"),
    PageRow("maptests", ":material/fact_check:", "why"),
    PageRow("learn", ":material/movie:", "learn", False),
    PageRow("train", ":material/model_training:", "learn", False),
    PageRow("fewshot", ":material/category:", "learn", False),
    PageRow("compare", ":material/compare:", "compare"),
    PageRow("card", ":material/id_card:", "compare"),
    PageRow("bring", ":material/upload_file:", "compare", False),
    PageRow("paper", ":material/menu_book:", "paper", False),
    PageRow("experiments", ":material/science:", "paper", False),
    PageRow("quiz", ":material/quiz:"),
    PageRow("report", ":material/download:"),
)
ROOMS = {room: [row for row in PAGES if row.room == room] for room in dict.fromkeys(row.room for row in PAGES if row.room)}


@functools.lru_cache(maxsize=8 * len(PAGES))  # Streamlit resolves a page's path: for all pages a sixth of a run
def page_target(slug: str, title: str | None = None, icon: str | None = None, help_text: str | None = None) -> StreamlitPage:
    """A page of the menu, for `st.page_link`; with its title, icon and help for `st.navigation`, which writes into its copy."""
    import streamlit as st

    row = next(row for row in PAGES if row.slug == slug)
    return st.Page(
        VIEWS / slug / "page.py", title=title, icon=icon, help=help_text, url_path=slug, default=row is PAGES[0],
        visibility="visible" if row.room else "hidden",
    )  # fmt: skip
