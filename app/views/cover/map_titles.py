"""What the maps are called that patches can be covered by."""

from app import texts
from app.state.recordings import covered_photos


def map_titles(names: list[str], lang: str | None = None) -> dict[str, str]:
    """Titles of maps by name, in a language (default: the visitor's)."""
    own, methods = texts.prose("cover", lang), texts.prose("rollout", lang)
    return {name: own["class attention"] if name == covered_photos.CLASS_ATTENTION else methods[f"method.{name}"] for name in names}
