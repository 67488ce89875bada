"""Names of classes from a file of one's own: text with one name a line, or JSON, a list or names by their index."""

import json
from pathlib import Path
from typing import Any

from vitcore.models.model_cards import ModelError

MAX_BYTES = 20 * 10**6


def read_class_names(file: Path) -> list[str]:
    """The names in the order of the classes. Raises: ModelError, when the file holds none."""
    try:
        if file.stat().st_size > MAX_BYTES:
            raise ValueError
        text = file.read_text(encoding="utf-8-sig")
        said: Any = json.loads(text) if text.lstrip()[:1] in ("[", "{") else text.splitlines()
        names = _in_order(said)
    except OSError as error:
        raise ModelError("{name} can't be read: {reason}.", name=file.name, reason=error.strerror) from None
    except (ValueError, RecursionError, TypeError):
        raise _no_class_names_error(file) from None
    if not names:
        raise _no_class_names_error(file)
    return names


def _in_order(said: Any) -> list[str]:
    """A list; a dict of index -> name, as transformers' id2label, or of name -> index, as label2id."""
    if isinstance(said, dict):
        said = said.get("id2label", said)
        by_index = all(str(key).isdigit() for key in said)
        pairs = [(int(k), v) for k, v in said.items()] if by_index else [(int(v), k) for k, v in said.items()]
        if sorted(i for i, _ in pairs) != list(range(len(pairs))):
            raise ValueError
        said = [name for _, name in sorted(pairs)]
    names = [str(name[-1] if isinstance(name, list) and name else name).strip() for name in said]
    while names and not names[-1]:
        names.pop()
    return names


def _no_class_names_error(file: Path) -> ModelError:
    return ModelError("{name} holds no names of classes: one a line, or a JSON list of them.", name=file.name)
