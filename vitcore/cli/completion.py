"""The shell's verb `completion`: a script that completes verbs, flags, choices and files; made by shtab (Apache-2.0)."""

import argparse
from pathlib import Path
from typing import Any

from vitcore.cli.photos import UsageError

SHELLS = ("bash", "zsh", "tcsh")


def add_completion_verb(verbs: Any, parser: argparse.ArgumentParser) -> None:
    """Add the verb to the shell's, whose parser it is."""
    about = 'a script that completes commands: eval "$(vitcore completion bash)"'
    verb = verbs.add_parser("completion", help=about, description=about)
    verb.add_argument("shell", choices=SHELLS)
    verb.set_defaults(run=lambda args: print(completion_script(parser, args.shell)))


def completion_script(parser: argparse.ArgumentParser, shell: str) -> str:
    """The script for a shell. Raises: UsageError, without shtab."""
    try:
        import shtab
    except ImportError:
        raise UsageError("completion needs the package shtab: pip install inside-vit[completion].") from None
    for action in _actions(parser):
        if action.type is Path:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
    return str(shtab.complete(parser, shell))


def _actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """All flags and arguments, the verbs' too."""
    own = list(parser._actions)
    below = [verb for action in own if isinstance(action, argparse._SubParsersAction) for verb in action.choices.values()]
    return own + [action for verb in below for action in _actions(verb)]
