"""The words of figures and errors: English where they are used, in another language when a reader asks for one.

`say("Head {head}", head=3)` is the sentence itself, or its translation from the table in use. A table maps the English
sentences, placeholders and all, to another language's; what it lacks stays English. A notebook needs none of this.

A word that follows a count has the forms of its language, in CLDR's order (unicode.org/reports/tr35/tr35-numbers.html):
`"{count} {count:photo|photos}"` in English, which has two; Chinese has one, so nothing is written there.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from numbers import Integral, Real
from string import Formatter
from typing import Any

Table = Mapping[str, str]
Labels = tuple[str, ...]
_table: ContextVar[Table | None] = ContextVar("vitcore_words", default=None)
_ask: Callable[[], Table] | None = None
CATEGORIES = ("zero", "one", "two", "few", "many", "other")
MOST_DIGITS = 4  # after the point of a percentage: what agrees in these reads alike


def say(sentence: str, **facts: object) -> str:
    """The sentence in the reader's language, with its facts filled in."""
    words = _current_translation_table()
    there, language = words.get(sentence, sentence), getattr(words, "language", "en") if sentence in words else "en"
    said = TranslatedSentence(fill_sentence(there, facts, language) if facts else there)
    said.sentence, said.facts = sentence, facts
    return said


def translated_labels(labels: Labels, numbers: Sequence[int] = ()) -> Labels:
    """What a model's classes are called in the reader's language: for a data set that the table knows by exactly these labels.

    All of them are compared, in their order: the "crane" of a model of one's own stays what it is. Where `labels` are only some
    of a data set's classes, `numbers` says which (negative: not known, so it stays).
    """
    known: Mapping[Labels, Labels] = getattr(_current_translation_table(), "classes", {})
    if not numbers:
        return known.get(labels, labels)
    called = {(number, label): name for english, names in known.items()
              for number, (label, name) in enumerate(zip(english, names, strict=True))}  # fmt: skip
    return tuple(called.get((number, label), label) for number, label in zip(numbers, labels, strict=True))


class TranslatedSentence(str):
    """A finished sentence that knows what it is made of; so does `str(error)` of an error raised with one."""

    sentence: str
    facts: Mapping[str, Any]

    def __str__(self) -> str:
        return self


class TranslationTable(dict[str, str]):
    """A table that knows its language, for the forms of its words; `classes` has a data set's names by all its English ones."""

    def __init__(self, language: str, words: Table, classes: Mapping[Labels, Labels] | None = None) -> None:
        super().__init__(words)
        self.language, self.classes = language, classes or {}


@lru_cache
def plural_categories(language: str) -> tuple[str, ...]:
    """What a language tells apart when it counts, in CLDR's order: ("one", "other") in English, ("other",) in Chinese."""
    return tuple(name for name in CATEGORIES if name in _plural(language).tags or name == "other")


def fill_sentence(sentence: str, facts: Mapping[str, Any], language: str = "en") -> str:
    """A sentence of that language with its facts filled in, and the forms that its counts ask for.

    A count is a number, or one as it is written: "1,000"; what is neither takes the last form. A number with a format has the
    minus sign of print. Raises: KeyError, for a fact that is missing.
    """
    return _Forms(language).vformat(sentence, (), facts)


@dataclass
class _Forms(Formatter):
    language: str

    def format_field(self, value: Any, spec: str) -> str:
        forms = spec.split("|")
        if len(forms) == 1:
            written = str(super().format_field(value, spec))
            return written.replace("-", "−") if spec and isinstance(value, Real) else written
        return self._form_of_count(value, forms)

    def _form_of_count(self, value: Any, forms: list[str]) -> str:
        try:
            count = Decimal(str(value).replace(",", ""))
        except InvalidOperation:  # a place that is filled in later, by a chart's pointer
            return forms[-1]
        return forms[plural_categories(self.language).index(_plural(self.language)(count))]


@lru_cache
def _plural(language: str) -> Any:
    from babel import Locale

    return Locale.parse(language, sep="-").plural_form


def percent(share: float, digits: int = 1) -> str:
    """A share as a person reads it: one that is not 0 does not read 0.0 %, but less than the last digit there is."""
    written = f"{100 * share:.{digits}f}"
    return f"< {10**-digits:.{digits}f} %" if share > 0 and not float(written) else f"{written} %"


def digits_to_differ(*shares: float, digits: int = 1) -> int:
    """How many digits `percent` needs so that shares which differ read differently, and one below 1 does not read 100 %.

    At least `digits`; just these where `MOST_DIGITS` are too few.
    """
    different = {*shares, 1.0} if all(share < 1 for share in shares) else {*shares}
    for count in range(digits, MOST_DIGITS + 1):
        if len({percent(share, count) for share in different}) == len(different):
            return count
    return digits


def percents(*shares: float, digits: int = 1) -> list[str]:
    """Shares that a person compares, each as `percent` writes it, with as many digits as tell them apart: 99.93 %, 99.98 %."""
    count = digits_to_differ(*shares, digits=digits)
    return [percent(share, count) for share in shares]


def decimal(number: float, digits: int, plus: bool = False) -> str:
    """A number with so many digits after the point and the minus sign of print, −0.12; what rounds to 0 has none.

    plus: whether what is not negative has a sign, too.
    """
    return f"{round(float(number), digits) + 0.0:{'+' if plus else ''}.{digits}f}".replace("-", "−")


def decimal_or_dash(number: float, digits: int) -> str:
    """A number with so many digits, and a dash for what is not defined (NaN)."""
    return decimal(number, digits) if number == number else "–"


def two_digits(number: float) -> str:
    """A number with the two digits that count: 0.027, 5.9, 130."""
    return f"{float(f'{number:.2g}'):g}"


def percent_in_two_digits(share: float) -> str:
    """A share with the two digits that count: 5.9 %, 0.027 %, 100 %."""
    return f"{two_digits(100 * share)} %"


def sentence_as_json(sentence: object) -> Any:
    """What was said as JSON can hold it: the sentence and its facts apart, and the finished text; else just a text."""
    if isinstance(sentence, BaseException) and len(sentence.args) == 1:
        return sentence_as_json(sentence.args[0])
    if isinstance(sentence, TranslatedSentence):
        facts = {name: sentence_as_json(fact) for name, fact in sentence.facts.items()}
        return {"sentence": sentence.sentence, "facts": facts, "text": str.__str__(sentence)}
    if isinstance(sentence, Integral):
        return int(sentence)
    return float(sentence) if isinstance(sentence, Real) else str(sentence)


def sentence_from_json(message: Any) -> str:
    """`sentence_as_json` of what was said by another process, or in an earlier hour, in the reader's language.

    What the reader's table lacks stays as it was said.
    """
    if not isinstance(message, Mapping):
        return str(message)
    if str(message.get("sentence")) not in _current_translation_table():
        return str(message.get("text", ""))
    facts = {name: sentence_from_json(f) if isinstance(f, Mapping) else f for name, f in dict(message.get("facts") or {}).items()}
    return say(message["sentence"], **facts)


def _current_translation_table() -> Table:
    """The table in use: that of `using_translation`, else whatever was given to `set_translation_source`, else none (English)."""
    mine = _table.get()
    return mine if mine is not None else _ask() if _ask else {}


def set_translation_source(get_table: Callable[[], Table] | None) -> None:
    """Ask `get_table` for the table at every sentence: how a server with many visitors says which language this one reads."""
    global _ask
    _ask = get_table


@contextmanager
def using_translation(table: Table) -> Iterator[None]:
    """Say everything with this table inside the `with` block."""
    token = _table.set(table)
    try:
        yield
    finally:
        _table.reset(token)
