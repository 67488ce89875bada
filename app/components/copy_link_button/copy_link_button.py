"""A button that copies the page's address, says that it did, and what the address cannot carry."""

from collections.abc import Mapping

from app.components.component_files import translated_component


def copy_link_button(
    label: str, copied: str, failed: str, field: str, note: str = "", place: str = "",
    ids: Mapping[str, str] | None = None, *, key: str,
) -> None:  # fmt: skip
    """The button; `note` is said after `copied` (or `failed`, with the address in a field called `field`).

    The address copied has a photo's id (of `ids`) where the page's own has its title.
    At another `place` or with another note, what was said is forgotten.
    """
    data = {"label": label, "copied": copied, "failed": failed, "note": note, "place": place, "ids": dict(ids or {})}
    translated_component("copy_link_button", label=label, field=field)(data=data, key=key, width="content")
