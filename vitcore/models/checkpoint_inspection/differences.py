"""Tensors of a file against those of the model that was inferred from it."""

import re
from dataclasses import dataclass
from typing import Any

from vitcore.architectures.classifier_head import add_pooler_to_head
from vitcore.errors import shorten_name
from vitcore.models.formats.rename_and_join_tensors import StateDict
from vitcore.translation import say

HEAD_NAMES = re.compile(r"(head|head_dist)\.")


@dataclass(frozen=True)
class TensorDifferences:
    """Tensors of the file against those of the model that was inferred, by timm's names."""

    missing: tuple[str, ...]
    unexpected: tuple[str, ...]
    misshapen: tuple[tuple[str, tuple[int, ...], tuple[int, ...]], ...]  # name, shape in the file, shape in the model

    @property
    def names(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.missing, *self.unexpected, *(name for name, _, _ in self.misshapen))

    @property
    def only_head_differs(self) -> bool:
        """Whether the model is whole without its head, and only that does not fit."""
        return bool(self.names) and all(HEAD_NAMES.match(name) for name in self.names)

    @property
    def sentences(self) -> tuple[str, ...]:
        """One sentence each, in the reader's language."""
        said = [say("missing: {tensor}", tensor=shorten_name(name)) for name in self.missing]
        said += [say("unexpected: {tensor}", tensor=shorten_name(name)) for name in self.unexpected]
        said += [say("misshapen: {tensor} is {shape}, not {wanted}", tensor=shorten_name(name),
            shape=shape_text(shape), wanted=shape_text(wanted))
                 for name, shape, wanted in self.misshapen]  # fmt: skip
        return tuple(said)


def tensor_differences(state: StateDict, module: Any) -> TensorDifferences:
    """What is missing, unexpected or misshapen in a state (shapes are enough) for a module."""
    own = module.state_dict()
    misshapen = [
        (name, tuple(w.shape), tuple(own[name].shape)) for name, w in state.items() if name in own and w.shape != own[name].shape
    ]
    return TensorDifferences(
        tuple(name for name in own if name not in state), tuple(name for name in state if name not in own), tuple(misshapen)
    )


def fit_to_module(state: StateDict, module: Any) -> StateDict:
    """The state with its pooler where the module reads it, a patch embedding over flattened pixels as the convolution it is, and
    its last norm after the mean of patches where the module has it there."""
    state, wanted = add_pooler_to_head(state, module), module.state_dict()
    if "fc_norm.weight" in wanted and "norm.weight" not in wanted and "fc_norm.weight" not in state:
        state = {re.sub(r"^norm\.", "fc_norm.", name): w for name, w in state.items()}
    own, kernel = wanted.get("patch_embed.proj.weight"), state.get("patch_embed.proj.weight")
    if own is not None and kernel is not None and kernel.ndim == 2 and kernel.numel() == own.numel():
        state["patch_embed.proj.weight"] = kernel.reshape(own.shape)
    return state


def shape_text(shape: tuple[int, ...]) -> str:
    """A shape as a person writes it: 16×16."""
    return "×".join(map(str, shape)) or "1"
