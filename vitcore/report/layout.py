"""What every page of a report has around it: the head of the document with its style, and the title."""

from collections.abc import Iterable
from html import escape
from pathlib import Path

from vitcore.report import html

STYLE = Path(__file__).with_name("handout.css")


def page_of(title: str, lang: str, body: Iterable[str], data: str = "") -> bytes:
    """A whole HTML file around a body; `data` goes to its end."""
    style = STYLE.read_text(encoding="utf-8")
    head = (
        f'<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="color-scheme" content="light dark"><title>{escape(title)} · Inside ViT</title><style>{style}</style>'
    )
    page = f'<html lang="{escape(lang, quote=True)}"><head>{head}</head><body><main>{"".join(body)}</main>{data}</body></html>'
    return f"<!doctype html>\n{page}\n".encode()


def header(over: str, title: str, lead: str) -> str:
    """A line above, the title and a line below it."""
    lines = html.text("p", over, class_="over"), html.text("h1", title), html.text("p", lead, class_="lead")
    return html.tag("header", *lines)
