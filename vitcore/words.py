"""The words of figures and errors: English where they are used, in another language when a reader asks for one.

`say("Head {head}", head=3)` is the sentence itself, or its translation from the table in use. A table maps the English
sentences, placeholders and all, to another language's; what it lacks stays English. A notebook needs none of this.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

Table = Mapping[str, str]
_table: ContextVar[Table | None] = ContextVar("vitcore_words", default=None)
_ask: Callable[[], Table] | None = None


def say(sentence: str, **facts: object) -> str:
    """The sentence in the reader's language, with its facts filled in."""
    return table().get(sentence, sentence).format(**facts) if facts else table().get(sentence, sentence)


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
