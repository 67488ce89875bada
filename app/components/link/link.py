"""A button that copies the page's address, says that it did, and what the address cannot carry."""

from app.components import worded


def link(label: str, copied: str, failed: str, field: str, note: str = "", place: str = "", *, key: str) -> None:
    """The button; `note` is said after `copied` (or `failed`, with the address in a field called `field`).

    At another `place` or with another note, what was said is forgotten.
    """
    data = {"label": label, "copied": copied, "failed": failed, "note": note, "place": place}
    worded("link", label=label, field=field)(data=data, key=key, width="content")
