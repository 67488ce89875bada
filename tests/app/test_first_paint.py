"""What a browser is given first: Streamlit's own page, whole, and our styles in its head, at every page's address."""

from pathlib import Path

import pytest
from starlette.requests import Request
from starlette.routing import Match
from streamlit.file_util import get_static_dir

from app.menu import PAGES
from app.server import first_paint

STREAMLITS = (Path(get_static_dir()) / "index.html").read_text(encoding="utf-8")


def asked(path: str, query: bytes = b""):
    """The answer to a browser's request, or None where Streamlit answers."""
    scope = {"type": "http", "method": "GET", "path": path, "headers": [], "query_string": query}
    for route in first_paint.page_routes():
        match, more = route.matches(scope)
        if match is Match.FULL:
            return route.endpoint(Request(scope | more))
    return None


def test_every_page_is_streamlits_with_our_styles_in_its_head(subtests):
    styles = first_paint.head_html()
    assert "/* page_size.js */" not in styles and styles.count("function pageSize") == 1 and "export" not in styles
    for path in ("/", *(f"/{row.slug}" for row in PAGES[1:]), "/nowhere"):  # of the last Streamlit says that it is none
        with subtests.test(path):
            answer = asked(path)
            page = answer.body.decode()
            assert answer.media_type == "text/html" and answer.headers["cache-control"] == "no-cache"
            assert page.replace(styles, "", 1) == STREAMLITS
            assert styles in page.partition("</head>")[0]


@pytest.mark.parametrize(("query", "there"), [(b"", "./"), (b"layer=3&photo=cat", "./?layer=3&photo=cat")])
def test_the_first_page_s_name_leads_to_it(query, there):
    answer = asked(f"/{PAGES[0].slug}", query)
    assert (answer.status_code, answer.headers["location"]) == (307, there)


def test_what_is_no_page_is_streamlits_to_answer():
    assert [asked(path) for path in ("/static/js/index.js", "/_stcore/health", "/favicon.png", "/media/a.bin")] == [None] * 4


@pytest.mark.parametrize(("room", "there"), [("why", "./rollout"), ("look", "./")])
def test_a_room_s_name_leads_to_its_first_page(room, there):
    answer = asked(f"/{room}", b"photo=cat")
    assert (answer.status_code, answer.headers["location"]) == (307, f"{there}?photo=cat")
