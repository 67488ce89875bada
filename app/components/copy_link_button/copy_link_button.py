"""A button that copies the page's address, says that it did, and what the address cannot carry."""

from collections.abc import Mapping

from app.components.component_files import translated_component


def copy_link_button(
    label: str, copied_message: str, failed_message: str, field_label: str, note: str, place: str,
    ids: Mapping[str, str], *, key: str,
) -> None:  # fmt: skip
    """The button; `note` is said after `copied_message` (or `failed_message`, with the address in a field called `field_label`).

    The address copied has a photo's id (of `ids`) where the page's own has its title.
    At another `place` or with another note, what was said is forgotten.
    """
    data = {"label": label, "copied": copied_message, "failed": failed_message, "note": note, "place": place, "ids": dict(ids)}
    translated_component("copy_link_button", label=label, field=field_label)(data=data, key=key, width="content")
