"""What of a component's HTML a person can use, or look at, and has no name before any script has run."""

from html.parser import HTMLParser

VOID = {"input", "img", "path", "br"}


class Nameless(HTMLParser):
    """The elements of a piece of HTML that a person can use, or that are pictures, and that have no name."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[list] = []  # element, whether it needs a name, whether it has one
        self.found: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        used = tag in ("button", "input", "select", "textarea", "summary", "a") or given.get("tabindex") == "0"
        needs = (used or given.get("role") in ("img", "application", "slider")) and "hidden" not in given
        self.open.append([tag, needs, bool(given.get("aria-label") or given.get("alt"))])
        if tag in VOID:
            self.handle_endtag(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_data(self, data: str) -> None:
        for element in self.open:
            element[2] |= bool(data.strip())

    def handle_endtag(self, tag: str) -> None:
        while self.open:
            name, needs, has = self.open.pop()
            if needs and not has:
                self.found.append(name)
            if name == tag:
                return
