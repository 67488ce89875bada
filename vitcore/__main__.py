"""`python -m vitcore VERB`: run one verb; whatever can't be done is one sentence on standard error and exit status 2."""

from __future__ import annotations

import contextlib
import io
import os
import sys

from vitcore.cli.commands import command_parser
from vitcore.errors import enable_tracebacks, first_error_line

EXTRAS = {"accelerate": "train", "pyarrow": "train", "plotly": "app"}  # of pyproject.toml, which have these packages
WITHOUT_VERB = ("--debug", "--quiet")  # before the verb or after it
MAX_ERROR_CHARACTERS = 2000  # characters of an error: paths may be long


def main(argv: list[str] | None = None) -> int:
    """Run one verb.

    Returns 0 when done, 1 when done but for photos that were named and can't be opened, 2 with one sentence on standard error when
    it can't be done.
    """
    _speak_utf8()
    try:
        try:
            return _run(list(sys.argv[1:] if argv is None else argv))
        finally:
            sys.stdout.flush()
    except BrokenPipeError:  # whoever read the output has had enough: `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _run(given: list[str]) -> int:
    args, unknown = command_parser().parse_known_args([word for word in given if word not in WITHOUT_VERB])
    if unknown:
        args.verb_parser.unknown_words_error(unknown)
    debug, told = "--debug" in given, sys.stderr
    if debug:
        enable_tracebacks()
    try:
        with contextlib.redirect_stderr(io.StringIO()) if "--quiet" in given else contextlib.nullcontext():
            args.run(args)
        left_out = getattr(args, "left_out", [])  # photos that were named and can't be opened
        if "--quiet" in given:
            print(*left_out, sep="\n", end="\n" if left_out else "", file=told)
        return 1 if left_out else 0
    except BrokenPipeError:
        raise
    except KeyboardInterrupt:
        print("vitcore: stopped.", file=told)
        return 130
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if debug or missing not in EXTRAS:
            raise
        print(f"vitcore: {missing} is not installed: pip install inside-vit[{EXTRAS[missing]}].", file=told)
        return 2
    except (ValueError, OSError) as error:  # all refusals are ValueErrors
        if debug:
            raise
        words = [f"vitcore: {first_error_line(error, MAX_ERROR_CHARACTERS)}", *getattr(error, "__notes__", [])]
        print(*words, file=told)
        return 2


def _speak_utf8() -> None:
    """Write UTF-8 where output is piped, too: the code page that Windows would choose lacks half the words."""
    for stream in (sys.stdout, sys.stderr) if os.name == "nt" else ():
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="replace")


if __name__ == "__main__":
    raise SystemExit(main())
