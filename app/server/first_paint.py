"""What a browser is given before any run of ours: Streamlit's own page, and styles that hold it still while it fills.

Streamlit opens its sidebar, and makes room for pictures, after the first words are on the screen; they would jump. What is
not in its place yet is not shown; where the styles' names are not Streamlit's any more, everything is shown as it comes.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path

from starlette.convertors import StringConvertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route
from streamlit.file_util import get_static_dir

from app.menu import PAGES, ROOMS
from app.server.live_shipped_files import ISOLATED
from app.streamlit_selectors import fill_selectors

HEAD = Path(__file__).parents[1] / "static" / "head.html"
PAGE_SIZE = Path(__file__).parents[1] / "components" / "page_style" / "page_size.js"  # stands in the head, too


def head_html() -> str:
    """The end of each page's head: `static/head.html` with Streamlit's selectors, and what tells the page's size."""
    size = PAGE_SIZE.read_text(encoding="utf-8").replace("export ", "")
    return fill_selectors(HEAD.read_text(encoding="utf-8")).replace("/* page_size.js */", size)


@cache
def index_html() -> str:
    """Streamlit's page with `head_html` at the end of its head."""
    page = (Path(get_static_dir()) / "index.html").read_text(encoding="utf-8")
    return page.replace("</head>", f"{head_html()}</head>", 1)


def _page(request: Request) -> Response:
    return HTMLResponse(index_html(), headers={"Cache-Control": "no-cache"})


def _live_page(tag: Callable[[], str]) -> Callable[[Request], Response]:
    """The page Live: isolated, for a browser gives wasm threads only where a page begins so, and with `tag` in its head."""
    headers = {"Cache-Control": "no-cache", **ISOLATED}
    return lambda request: HTMLResponse(index_html().replace("<head>", f"<head>{tag()}", 1), headers=headers)


class PageNameConvertor(StringConvertor):
    """One word of a path, as a page's address is."""

    regex = "[A-Za-z][A-Za-z0-9-]*"


register_url_convertor("pagename", PageNameConvertor())


def _leads_to(slug: str) -> Callable[[Request], Response]:
    """Leads to a page, the first to the root: Streamlit has it there alone. Relative: the app may be served from below one."""

    def redirect(request: Request) -> Response:
        query = request.url.query
        return RedirectResponse(f"./{slug}?{query}" if query else f"./{slug}", status_code=307)

    return redirect


def page_routes(tag_of_live: Callable[[], str] = str) -> list[Route]:
    """Routes of all pages; files and what Streamlit serves itself are its to answer. `tag_of_live`: for Live's head alone.

    A room's name leads to its first page. On an address that is no page Streamlit says so, in our styles: they stay for the visit.
    """
    first = PAGES[0]
    rooms = {room: rows[0] for room, rows in ROOMS.items() if room not in [row.slug for row in PAGES]}
    leading = [Route(f"/{name}", _leads_to("" if row is first else row.slug)) for name, row in {first.slug: first, **rooms}.items()]
    return [Route("/", _page), *leading, Route("/live", _live_page(tag_of_live)), Route("/{name:pagename}", _page)]
