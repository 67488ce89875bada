"""Pictures of every depth side by side, each with its name and what is said of it."""

from app.components.component_files import component_from_folder

_COMPONENT = component_from_folder("layer_pictures", "<ol>\n</ol>")


def layer_pictures(pictures: list[dict[str, str]], *, key: str, label: str) -> None:
    """Show tiles of {image (a data address), alt, name, words}, as many in a row as there is room for."""
    _COMPONENT(data={"tiles": pictures, "label": label}, key=key)
