"""Every word of the app, by page and language: `text/<lang>/<page>.md` for pages, `vitcore.toml` for figures and errors."""

import re
import threading
import tomllib
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from vitcore import translation

TEXTS_FOLDER = Path(__file__).parent / "text"
LANGUAGES = {"en": "English", "zh-CN": "简体中文", "zh-TW": "繁體中文"}
DEFAULT = "en"
CHINESE_LINE_BREAK = re.compile(
    r"(?<=[\u2e80-\u9fff\uff00-\uffef”])\n(?=[\u2e80-\u9fff\uff00-\uffef“$A-Za-z])"
)  # Chinese has no space here
TRADITIONAL_REGIONS = ("hant", "tw", "hk", "mo")


class Prose(dict[str, str]):
    """The texts of a page by key; asking for one that isn't there says which file lacks it."""

    def __init__(self, page: str, lang: str, texts: dict[str, str]) -> None:
        super().__init__(texts)
        self.page, self.lang = page, lang

    def __missing__(self, key: str) -> str:
        raise KeyError(f"app/text/{self.lang}/{self.page}.md has no {key!r}")

    def fill(self, key: str, **facts: object) -> str:
        """A text with its facts, and the forms of its words that its counts ask for ("{count} {count:photo|photos}")."""
        return translation.fill_sentence(self[key], facts, self.lang)

    def join_sentences(self, sentences: Iterable[str]) -> str:
        """Sentences one after another; Chinese has no space between them."""
        return ("" if self.lang.startswith("zh") else " ").join(filter(None, sentences))

    def join_names(self, items: Iterable[object]) -> str:
        """Names one after another, with the language's comma."""
        return ("\u3001" if self.lang.startswith("zh") else ", ").join(map(str, items))


_known = threading.local()  # by a run of the page, in its thread: whose it is, and the language


def language() -> str:
    """The visitor's language: chosen in the menu, else in the address, else the browser's, else English."""
    context = get_script_run_ctx(suppress_warning=True)
    if context is None:  # nobody's: Streamlit, asked for what a visitor chose, would write a warning each time
        return DEFAULT
    if getattr(_known, "visitor", None) != context.session_id:  # a page asks a hundred times, Streamlit takes 50 µs to say
        _known.visitor, _known.language = context.session_id, _requested_language()
    return str(_known.language)


def forget_language() -> None:
    """When a page begins: the visitor may have chosen another language."""
    _known.visitor = None


def _requested_language() -> str:
    for given in (st.session_state.get("lang"), st.query_params.get("lang"), st.context.locale):
        if known := match_language(given):
            return known
    return DEFAULT


def language_menu() -> None:
    """The choice of a language; `?lang=` keeps it (by hand: a bound control would put the name in the address)."""
    now = language()
    chosen = st.selectbox(
        "Language · 语言 · 語言", list(LANGUAGES), list(LANGUAGES).index(now), key="lang",
        format_func=LANGUAGES.__getitem__, persist_state="session",
    )  # fmt: skip
    if chosen != st.query_params.get("lang", match_language(st.context.locale) or DEFAULT):
        st.query_params["lang"] = chosen


def language_buttons() -> None:
    """The choice of a language as buttons, for a lecture, in which there is no menu."""
    with st.popover(LANGUAGES[language()], icon=":material/translate:", key="languages"):
        for lang, name in LANGUAGES.items():
            st.button(name, key=f"lang_{lang}", type="tertiary", on_click=st.session_state.update, kwargs={"lang": lang})


def match_language(tag: str | None) -> str | None:
    """The language here for a language tag, in any case, or None: "zh-HK" and "zh-Hant" read traditional characters."""
    parts = re.split(r"[-_]", (tag or "").lower())
    if parts[0] != "zh":
        return parts[0] if parts[0] in LANGUAGES else None
    return "zh-TW" if set(parts) & set(TRADITIONAL_REGIONS) and "hans" not in parts else "zh-CN"


def prose(page: str, lang: str | None = None) -> Prose:
    """The texts of a page in the visitor's language."""
    return _prose(page, lang or language())


@lru_cache(maxsize=128)  # Streamlit's own caches take 100 µs to find a thing; a page asks for words a hundred times
def _prose(page: str, lang: str) -> Prose:
    return Prose(page, lang, parse_texts((TEXTS_FOLDER / lang / f"{page}.md").read_text(encoding="utf-8")))


def parse_texts(markdown: str) -> dict[str, str]:
    """Texts by key: each `## key` and what is below it; lines `- key: text` below `## labels`; before all that, "intro"."""
    texts: dict[str, str] = {}
    for block in re.split(r"^## ", f"## intro\n{markdown}", flags=re.M)[1:]:
        key, _, body = block.partition("\n")
        if key.strip() == "labels":
            texts |= dict(re.findall(r"^- ([^:\n]+): (.+)$", body, flags=re.M))
        elif body.strip():
            texts[key.strip()] = CHINESE_LINE_BREAK.sub("", body.strip())
    return texts


def escape_markdown(text: str) -> str:
    """Text with a stranger's words in it (a file's name, a model's), as Markdown that shows just that."""
    return re.sub(r"([\\`*_{}\[\]()#+!|<>~:$&-])", r"\\\1", text)


@lru_cache(maxsize=8)
def _table(lang: str) -> translation.TranslationTable:
    file, rows = TEXTS_FOLDER / lang / "vitcore.toml", class_name_rows(lang)
    words = tomllib.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return translation.TranslationTable(
        lang, words, {tuple(label for label, _ in rows): tuple(name for _, name in rows)} if rows else {}
    )


def class_name_rows(lang: str) -> list[tuple[str, str]]:
    """ImageNet-1k's classes in their order, in English (as timm has them) and in this language; none for English."""
    file = TEXTS_FOLDER / lang / "imagenet.tsv"
    if not file.exists():
        return []
    rows = (line.split("\t") for line in file.read_text(encoding="utf-8").splitlines())
    return [(label, name) for label, name in rows]


def translation_table(lang: str | None = None) -> dict[str, str]:
    """What vitcore says, in the visitor's language: English sentence to translation; empty for English."""
    return _table(lang or language())


translation.set_translation_source(translation_table)
