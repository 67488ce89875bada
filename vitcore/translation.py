"""The words of figures and errors: English where they are used, in another language when a reader asks for one.

`say("Head {head}", head=3)` is the sentence itself, or its translation from the table in use. A table maps the English
sentences, placeholders and all, to another language's; what it lacks stays English. A notebook needs none of this.

A word that follows a count has the forms of its language, in CLDR's order (unicode.org/reports/tr35/tr35-numbers.html):
`"{count} {count:photo|photos}"` in English, which has two; Chinese has one, so nothing is written there.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from decimal import Decimal
from functools import lru_cache
from string import Formatter
from typing import Any

Table = Mapping[str, str]
_table: ContextVar[Table | None] = ContextVar("vitcore_words", default=None)
_ask: Callable[[], Table] | None = None


def say(sentence: str, **facts: object) -> str:
    """The sentence in the reader's language, with its facts filled in."""
    words = table()
    there = words.get(sentence)
    if not facts:
        return sentence if there is None else there
    return fill(sentence, facts) if there is None else fill(there, facts, getattr(words, "language", "en"))


class Words(dict[str, str]):
    """A table that knows its language, for the forms of its words."""

    def __init__(self, language: str, words: Table) -> None:
        super().__init__(words)
        self.language = language


CATEGORIES = ("zero", "one", "two", "few", "many", "other")


@lru_cache
def categories(language: str) -> tuple[str, ...]:
    """What a language tells apart when it counts, in CLDR's order: ("one", "other") in English, ("other",) in Chinese."""
    return tuple(name for name in CATEGORIES if name in _plural(language).tags or name == "other")


def fill(sentence: str, facts: Mapping[str, Any], language: str = "en") -> str:
    """A sentence of that language with its facts filled in, and the forms that its counts ask for.

    A count is a number, or one as it is written: "1,000". Raises: KeyError, for a fact that is missing.
    """
    return _Forms(language).vformat(sentence, (), facts) if "|" in sentence else sentence.format(**facts)


class _Forms(Formatter):
    def __init__(self, language: str) -> None:
        self.language = language

    def format_field(self, value: Any, spec: str) -> str:
        forms = spec.split("|")
        if len(forms) == 1:
            return str(super().format_field(value, spec))
        return forms[categories(self.language).index(_plural(self.language)(Decimal(str(value).replace(",", ""))))]


@lru_cache
def _plural(language: str) -> Any:
    from babel import Locale

    return Locale.parse(language, sep="-").plural_form


def retell(said: str) -> str:
    """What was said in English, facts and all, in the reader's language: by a process that trains, or in an earlier hour.

    The sentence is found again by its words: of several that fit, the one with the most. One that isn't known stays.
    """
    known = table()
    if said in known:
        return known[said]
    fits = [(sentence, found) for sentence in known if (found := _pattern(sentence).fullmatch(said))]
    if not fits:
        return said
    sentence, found = max(fits, key=lambda fit: len(_BLANK.sub("", fit[0])))
    facts = {name: retell(fact) for name, fact in found.groupdict().items()}
    return _BLANK.sub(lambda blank: facts[blank[1]], known[sentence])


_BLANK = re.compile(r"\{(\w+)[^}]*\}")  # a fact's place, with how it is written


@lru_cache(maxsize=1024)
def _pattern(sentence: str) -> re.Pattern[str]:
    """What finds a sentence again whatever its facts were; one without facts is found by itself."""
    seen: set[str] = set()

    def blank(match: re.Match[str]) -> str:
        if "|" in match[0]:  # forms of a word
            return "(?:" + "|".join(map(re.escape, match[0][1:-1].partition(":")[2].split("|"))) + ")"
        again = match[1] in seen
        seen.add(match[1])
        return f"(?P={match[1]})" if again else f"(?P<{match[1]}>.+)"

    parts = re.split(r"(\{\w+[^}]*\})", sentence)
    return re.compile("".join(_BLANK.sub(blank, p) if i % 2 else re.escape(p) for i, p in enumerate(parts)), re.S)


def table() -> Table:
    """The table in use: that of `speaking`, else whatever was given to `ask_for_table`, else none (English)."""
    mine = _table.get()
    return mine if mine is not None else _ask() if _ask else {}


def ask_for_table(ask: Callable[[], Table] | None) -> None:
    """Ask `ask` for the table at every sentence: how a server with many visitors says which language this one reads."""
    global _ask
    _ask = ask


@contextmanager
def speaking(words: Table) -> Iterator[None]:
    """Say everything with this table inside the `with` block."""
    token = _table.set(words)
    try:
        yield
    finally:
        _table.reset(token)
