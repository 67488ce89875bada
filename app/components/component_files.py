"""What a component is made of: its HTML, CSS and JavaScript files, and the URLs of bytes that the browser fetches for it."""

import html
import re
import zlib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import streamlit as st
from streamlit import runtime
from streamlit.components.v2.types import ComponentRenderer

from app.streamlit_selectors import fill_selectors

COMPONENTS_DIR = Path(__file__).parent
URL_SLOTS = "_addresses"  # place → content of what it held last, and in which slot of it that is; the latest last
SLOTS_PER_PLACE = 4
IMPORT = re.compile(r'^import \{.*\} from "(.+)"\n', re.MULTILINE)
STYLE_IMPORT = re.compile(r'^@import "(.+)";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?!default)", re.MULTILINE)


def read_source_with_imports(name: str) -> str:
    """The text of a file below this folder and of the style sheets it imports, with Streamlit's selectors filled in."""
    file = COMPONENTS_DIR / name
    text = STYLE_IMPORT.sub(lambda found: (file.parent / found[1]).read_text(encoding="utf-8"), file.read_text(encoding="utf-8"))
    return fill_selectors(text)


def bundle_script(name: str) -> str:
    """The text of a JavaScript module below this folder and of all that it imports, as one module: Streamlit takes no second.

    Streamlit's selectors are filled in. Each is in it once, after what it imports itself; so no two may declare the same name.
    """
    return "\n".join(_joined_scripts(COMPONENTS_DIR / name, set()))


@lru_cache(maxsize=1)
def live_worker_script() -> str:
    """The script of the worker that runs the model in the browser, one module."""
    return bundle_script("live/live_worker.js")


@lru_cache(maxsize=1)
def live_early_script() -> str:
    """The script that begins the worker while the page is on its way."""
    return bundle_script("live/live_early_start.js")


def _joined_scripts(file: Path, taken: set[Path]) -> Iterator[str]:
    taken.add(file)
    script = fill_selectors(file.read_text(encoding="utf-8"))
    for part in IMPORT.findall(script):
        if (imported := (file.parent / part).resolve()) not in taken:
            yield from _joined_scripts(imported, taken)
    yield EXPORT.sub("", IMPORT.sub("", script))


def media_url(data: bytes, mime: str, use_name: str) -> str:
    """Where the browser may fetch these bytes for as long as this visitor's page shows them; `use_name` names their use.

    It fetches them once; in a component's message they would be written and sent again at every run of the page. The address
    is relative: Streamlit's begins at the root, and the app may be served from below it. What a place held last stays for a
    few runs of the page's part: over a slow line the browser hears of it when a later run has replaced it already.
    """
    slots = st.session_state.setdefault(URL_SLOTS, {}).setdefault(use_name, {})
    content = hash(data)  # which bytes that are kept compute once
    if content in slots:
        slot = slots.pop(content)
    else:
        slot = len(slots) if len(slots) < SLOTS_PER_PLACE else slots.pop(next(iter(slots)))
    slots[content] = slot
    return runtime.get_instance().media_file_mgr.add(data, mime, f"inside_vit.{use_name}.{slot}").removeprefix("/")


def component_from_folder(name: str, page: str = "", mark: str = "", **options: bool) -> ComponentRenderer:
    """The component of the folder `name`: its script, its style sheet, and `page` or its HTML; another page has another `mark`."""
    page = page or read_source_with_imports(f"{name}/{name}.html")
    css, js = read_source_with_imports(f"{name}/{name}.css"), bundle_script(f"{name}/{name}.js")
    return st.components.v2.component(f"inside_vit_{name}{mark}", html=page, css=css, js=js, **options)


@lru_cache(maxsize=64)  # a few in each language
def translated_component(name: str, **words: str) -> ComponentRenderer:
    """The component of `<name>/<name>.html`, its `{blanks}` filled in.

    What a person can use has its name from the first moment: the script comes later, and a screen reader may not wait for it.
    """
    page = re.sub(r"\{(\w+)\}", lambda blank: html.escape(words[blank[1]]), read_source_with_imports(f"{name}/{name}.html"))
    return component_from_folder(name, page, f"_{zlib.crc32(page.encode()):08x}")
