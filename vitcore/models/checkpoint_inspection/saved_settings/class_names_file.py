"""Names of classes, ImageNet's or from a file of one's own: text with one name a line, or JSON, a list or names by their index."""

import json
from functools import lru_cache
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
        names = class_names_in_order(said)
    except OSError as error:
        raise ModelError("{name} can't be read: {reason}.", name=file.name, reason=error.strerror) from None
    except (ValueError, RecursionError, TypeError):
        raise _no_class_names_error(file) from None
    if not names:
        raise _no_class_names_error(file)
    return names


@lru_cache(maxsize=4)
def imagenet_info(classes: int) -> Any:
    """timm's `ImageNetInfo` of the set of ImageNet that has so many classes; None where none has."""
    import timm  # noqa: F401
    from timm.data import ImageNetInfo, infer_imagenet_subset

    subset = infer_imagenet_subset({"num_classes": classes})
    return ImageNetInfo(subset) if subset else None


@lru_cache(maxsize=4)
def imagenet_class_names(classes: int) -> tuple[str, ...] | None:
    """ImageNet's names, in its order, where one of its sets has so many classes; else None."""
    info = imagenet_info(classes)
    return info and tuple(info.index_to_description(i).split(",")[0] for i in range(info.num_classes()))


def class_names_in_order(list_or_index: Any) -> list[str]:
    """A list; a dict of index -> name, as transformers' id2label, or of name -> index, as label2id."""
    if isinstance(list_or_index, dict):
        list_or_index = list_or_index.get("id2label", list_or_index)
        by_index = all(str(key).isdigit() for key in list_or_index)
        pairs = [(int(k), v) for k, v in list_or_index.items()] if by_index else [(int(v), k) for k, v in list_or_index.items()]
        if sorted(i for i, _ in pairs) != list(range(len(pairs))):
            raise ValueError
        list_or_index = [name for _, name in sorted(pairs)]
    names = [str(name[-1] if isinstance(name, list) and name else name).strip() for name in list_or_index]
    while names and not names[-1]:
        names.pop()
    return names


def _no_class_names_error(file: Path) -> ModelError:
    return ModelError("{name} holds no class names: write one per line, or a JSON list.", name=file.name)
