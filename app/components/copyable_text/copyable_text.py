"""Plain text that is there to be copied: a command, or numbers; Streamlit's own brings a highlighter of 290 languages along."""

from app import texts
from app.components.component_files import translated_component


def copyable_text(shown_text: str, *, key: str) -> None:
    """Show it in the font of code, its lines wrapped, with a button that copies it; the page's words are in `common.md`."""
    text = texts.prose("common")
    data = {"text": shown_text, "copied": text["copied"], "failed": text["copy by hand"]}
    translated_component("copyable_text", label=text["copy"])(data=data, key=key)
