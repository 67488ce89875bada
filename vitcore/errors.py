"""Errors in words: a name that there is not, the first line of a library's error, and which errors are a mistake in our code."""

import logging
import os
import re
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path

from vitcore.translation import TranslatedSentence, say

HERE = Path(__file__).resolve().parent
OWN_CODE = (HERE, HERE.parent / "app")
MISTAKES = (TypeError, AttributeError, NameError, AssertionError, LookupError, ZeroDivisionError, NotImplementedError)
log = logging.getLogger("vitcore")


class RefusalError(ValueError):
    """What can't be done, in one true sentence for the reader: `RefusalError("{name} is empty.", name=name)`.

    The sentence is given in English and said in the reader's language, with its facts filled in (`translation.say`).
    """

    def __init__(self, sentence: str = "", /, **facts: object) -> None:
        super().__init__(
            sentence if isinstance(sentence, TranslatedSentence) else say(sentence, **{k: _printable(v) for k, v in facts.items()})
        )


ALSO_CALLED = {  # what others call something: ours, of which the one that a list holds is the nearest
    "ig": ("integrated_gradients",), "lrp": ("chefer",), "transformer_attribution": ("chefer",), "cam": ("grad_cam",),
    "attention": ("rollout",), "cls": ("class", "class_token"), "image": ("photos",),
    "raw": ("photos",), "tensor": ("normalised",), "preprocessed": ("normalised",), "resid": ("resid_post", "residual"),
    "residual": ("resid_post",), "query": ("q", "queries"), "key": ("k", "keys"),
    "value": ("v", "values"), "q": ("queries",), "k": ("keys",), "v": ("values",), "attn_weights": ("pattern",),
    "average": ("mean",), "avg": ("mean",), "maximum": ("max",), "minimum": ("min",), "probs": ("probabilities",),
}  # fmt: skip


def check_choice(what: str, choice: object, names: Iterable[str]) -> None:
    """Raises: ValueError, for what is none of a fixed list of names; it names the list, and the nearest where one is near."""
    known = list(names)
    if choice not in known:
        from difflib import get_close_matches

        asked = str(choice).lower()
        near = [name for name in ALSO_CALLED.get(asked, ()) if name in known] or get_close_matches(asked, known, 1)
        nearest = "".join(f"; the nearest is {name!r}" for name in near[:1])
        raise ValueError(f"{what} is one of {', '.join(known)}, not {choice!r}{nearest}")


def warn_caller(told: str, kind: type[Warning]) -> None:
    """A warning at the line that called vitcore; its text is of no language class of ours, so that it may be pickled."""
    modules = [module for name in ("vitcore", "torch") if (module := sys.modules.get(name))]
    libraries = tuple(str(Path(module.__file__ or "").parent) + os.sep for module in modules)
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(libraries):
        frame, level = frame.f_back, level + 1
    warnings.warn("".join(told), kind, stacklevel=level)


def _printable(fact: object) -> object:
    """A fact that may come from somebody's file, such as a tensor's name, without characters that change a terminal or a page."""
    if not isinstance(fact, str) or fact.isprintable():
        return fact
    return "".join(c if c.isprintable() else "?" for c in fact)


def shorten_name(name: str, max_characters: int = 80) -> str:
    """A name out of somebody's file as a sentence can hold it: printable, and its middle left out where it is long."""
    name = str(_printable(name))
    return name if len(name) <= max_characters else f"{name[: max_characters // 2 - 1]}…{name[-max_characters // 2 :]}"


def first_error_line(error: BaseException, max_characters: int = 160) -> str:
    """The error's first line, at most `max_characters` characters of it; its kind where it says nothing."""
    return next(iter(str(error).splitlines()), "")[:max_characters] or type(error).__name__


def own_mistake_location(error: BaseException) -> tuple[Path, int] | None:
    """The file and line of this project's own code that made the mistake; None for an error that is none.

    A mistake is of a program's kind, not of a file's or a network's. A library's error of the same kind is none: timm raises
    TypeError for a setting that a file made up.
    """
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or not isinstance(error, MISTAKES):
        return None
    file = Path(trace.tb_frame.f_code.co_filename).resolve()
    return (file, trace.tb_lineno) if any(file.is_relative_to(home) for home in OWN_CODE) else None


def enable_tracebacks() -> None:
    """Print the traceback of every error that ends in a sentence, on standard error."""
    logging.basicConfig()
    log.setLevel(logging.DEBUG)


def log_traceback(error: BaseException) -> None:
    """Keep the traceback of an error that ends here: of a mistake in this project as an ERROR, else at level DEBUG."""
    log.log(logging.ERROR if own_mistake_location(error) else logging.DEBUG, "%s, its cause:", type(error).__name__, exc_info=error)


def raise_own_mistake(error: BaseException) -> None:
    """Raise the error again if it is a mistake in this project; else log its traceback."""
    if own_mistake_location(error):
        raise error
    log_traceback(error)


def refusal_reason(error: BaseException, max_characters: int = 160) -> str:
    """Why something can't be done, for a sentence: the error's first line, or that the mistake is this project's own."""
    log_traceback(error)
    reason, at = first_error_line(error, max_characters), own_mistake_location(error)
    return reason if at is None else say(
        "a mistake in Inside ViT itself: {kind} in {place}, {reason}",
        kind=type(error).__name__, place=f"{at[0].name}:{at[1]}", reason=reason,
    )  # fmt: skip


def system_error_reason(error: OSError) -> str:
    """What the system says of a file that can't be written or read; it names no folder, as a library's sentence may."""
    return os.strerror(error.errno) if error.errno else first_error_line(error)


def model_misfit_reason(error: BaseException, max_characters: int = 160) -> str:
    """`refusal_reason` of somebody's model: that its parts do not fit together, where a library's error says nothing readable."""
    reason = refusal_reason(error, max_characters)
    if own_mistake_location(error) is None and (setting := re.search(r"unexpected keyword argument '(\w{1,80})'", str(error))):
        return say("its architecture has no setting named {setting}", setting=setting[1])
    if listed := re.match(r"Error\(s\) in loading state_dict for [^\n]*\n\s*([^\n]+)", str(error)):
        return listed[1].strip().rstrip(".")[:max_characters]
    return say("its parts do not fit together") if own_mistake_location(error) is None and _says_nothing(error) else reason


def _says_nothing(error: BaseException) -> bool:
    """Whether a library's error is of a program's kind, and says nothing to a reader: "list index out of range"."""
    return isinstance(error, MISTAKES) and not (isinstance(error, AssertionError) and str(error))
