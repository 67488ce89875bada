"""The name that everything made of a model is kept under: which model, which writing of its weights, which variant of it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

CHECKPOINTS = ("checkpoint", "checkpoint-before")  # folders of a run with its state at two steps
RANDOM = "random"  # the variant whose weights are drawn anew
SIZE = re.compile(r"\d+x\d+")  # the variant with another input: height and width, px


@dataclass(frozen=True)
class ModelRef:
    """A model by name; `checkpoint` where its weights change (a run's, a visitor's own): which writing of them this is.

    `variant`: RANDOM, an input size "<height>x<width>", one of CHECKPOINTS with a dot and when it was written; empty: none. Of
    several, the last is outermost: "random~96x128".
    """

    name: str
    checkpoint: str = ""
    variant: str = ""

    @classmethod
    def parse(cls, text: str) -> ModelRef:
        """A reference as `str` prints it: `<name>@<checkpoint>~<variant>`."""
        whole, _, variant = text.partition("~")
        name, _, checkpoint = whole.partition("@")
        return cls(name, checkpoint, variant)

    def __str__(self) -> str:
        written = f"{self.name}@{self.checkpoint}" if self.checkpoint else self.name
        return f"{written}~{self.variant}" if self.variant else written

    @property
    def outermost(self) -> str:
        """The last of its variants; empty where it is the model itself."""
        return self.variant.rpartition("~")[2]

    @property
    def base(self) -> ModelRef:
        """The model that the last variant was made of."""
        return replace(self, variant=self.variant.rpartition("~")[0])

    @property
    def size(self) -> str:
        """The other input that it was given, "<height>x<width>"; empty: its own."""
        return self.outermost if SIZE.fullmatch(self.outermost) else ""

    def with_variant(self, variant: str) -> ModelRef:
        return replace(self, variant=f"{self.variant}~{variant}" if self.variant else variant)
