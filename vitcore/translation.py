"""The words of figures and errors: English where they are used, in another language when a reader asks for one.

`say("Head {head}", head=3)` is the sentence itself, or its translation from the table in use. A table maps the English
sentences, placeholders and all, to another language's; what it lacks stays English. A notebook needs none of this.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache

Table = Mapping[str, str]
_table: ContextVar[Table | None] = ContextVar("vitcore_words", default=None)
_ask: Callable[[], Table] | None = None


def say(sentence: str, **facts: object) -> str:
    """The sentence in the reader's language, with its facts filled in."""
    return table().get(sentence, sentence).format(**facts) if facts else table().get(sentence, sentence)


def retell(said: str) -> str:
    """What was said in English, facts and all, in the reader's language: by a process that trains, or in an earlier hour.

    The sentence is found again by its words: of several that fit, the one with the most. One that isn't known stays.
    """
    known = table()
    if said in known:
        return known[said]
    fits = [(sentence, match) for sentence in known if (match := _pattern(sentence).fullmatch(said))]
    if not fits:
        return said
    sentence, match = max(fits, key=lambda fit: len(_BLANK.sub("", fit[0])))
    facts = {name: retell(fact) for name, fact in match.groupdict().items()}
    return _BLANK.sub(lambda blank: facts[blank[1]], known[sentence])


_BLANK = re.compile(r"\{(\w+)[^}]*\}")  # a fact's place, with how it is written


@lru_cache(maxsize=1024)
def _pattern(sentence: str) -> re.Pattern[str]:
    """What finds a sentence again whatever its facts were; one without facts is found by itself."""
    named: set[str] = set()

    def blank(match: re.Match[str]) -> str:
        again = match[1] in named
        named.add(match[1])
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
