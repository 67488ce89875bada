"""Which weight of a base model an adapter means: it has the names of the module, a file may have others."""

import re
from collections.abc import Iterable, Iterator

from vitcore.models.formats import transformers_vit
from vitcore.models.formats.rename_and_join_tensors import rename_tensor

ATTENTION_OF_FILES = re.compile(r"\.attention\.self\.(query|key|value)\.")  # Swin's
BEFORE_THE_MODEL = re.compile(r"^(?:\w+\.)*?(?=(?:embeddings|encoder|layers?|layernorm)\.)")  # in transformers' names


class BaseWeightFinder:
    """The names of a base model's weights, found by those that an adapter has for them."""

    def __init__(self, base: Iterable[str]) -> None:
        self.exact = set(base)
        self.ends: dict[str, list[str]] = {}
        for name in self.exact:
            for end in {_canonical(name), *_endings(name)}:
                self.ends.setdefault(end, []).append(name)

    def find(self, name: str) -> str | None:
        """The one that is meant; None where there is none, or several may be."""
        if name in self.exact:
            return name
        for end in (*_endings(name), _canonical(name)):
            if found := self.ends.get(end):
                return found[0] if len(set(found)) == 1 else None
        return None


def _endings(name: str) -> Iterator[str]:
    """The name, and the name below each of the modules that all its layers lie in."""
    steps = name.split(".")
    layers = next((n for n, step in enumerate(steps) if step.isdigit()), len(steps) - 1)
    yield from (".".join(steps[n:]) for n in range(layers))


def _canonical(name: str) -> str:
    """The name of a weight as timm has it, of transformers' files and of its classes alike: the two differ."""
    name = ATTENTION_OF_FILES.sub(r".attention.attention.\1.", BEFORE_THE_MODEL.sub("", name))
    return rename_tensor(name, transformers_vit.RULES)
