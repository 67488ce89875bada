"""A classifier's head of several layers, made from a list of plain words, as a model file's card has it.

A layer is ["linear", inputs, outputs], ["layer_norm", width], ["batch_norm", width], ["activation", name] or ["activation"]. One
without a name before the first linear layer and those between linear layers are named apart, as a state of weights tells neither.
A pooler ends with an activation that has a name: what comes after is as at the beginning.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch import Tensor, nn

HEAD_ACTIVATIONS: Mapping[str, Callable[[], nn.Module]] = {
    "relu": nn.ReLU, "gelu": nn.GELU, "tanh": nn.Tanh, "silu": nn.SiLU, "leaky_relu": nn.LeakyReLU, "elu": nn.ELU,
    "gelu_tanh": lambda: nn.GELU("tanh"), "sigmoid": nn.Sigmoid, "none": nn.Identity,
}  # fmt: skip


class LastAxisBatchNorm(nn.BatchNorm1d):
    """Batch norm by its running mean and variance over the last axis (…, D): tokens of a logit lens, too."""

    def forward(self, x: Tensor) -> Tensor:
        """Features (…, D), scaled and shifted."""
        return nn.functional.batch_norm(
            x.reshape(-1, x.shape[-1]), self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps
        ).reshape(x.shape)


class TanhLinear(nn.Linear):
    """A linear layer and the tanh of what it gives, as MONAI's classifier is."""

    def forward(self, x: Tensor) -> Tensor:
        """Features (…, D) to numbers between -1 and 1."""
        return super().forward(x).tanh()


def build_classifier_head(layers: Sequence[Sequence[Any]], between: str, before: str, eps: float) -> nn.Sequential:
    """The module of such a list: `between` and `before` name its activations, `eps` is that of its norms.

    Raises: KeyError, for an activation or a layer of another kind.
    """
    made: list[nn.Module] = []
    begin = 0
    for kind, *sizes in layers:
        if kind == "activation":
            after_linear = any(isinstance(layer, nn.Linear) for layer in made[begin:])
            made.append(HEAD_ACTIVATIONS[sizes[0] if sizes else between if after_linear else before]())
            begin = len(made) if sizes else begin
        elif kind == "batch_norm":
            made.append(LastAxisBatchNorm(sizes[0], eps=eps))
        elif kind == "layer_norm":
            made.append(nn.LayerNorm(sizes[0], eps=eps))
        elif kind == "linear":
            made.append(nn.Linear(*sizes))
        else:
            raise KeyError(kind)
    return nn.Sequential(*made)
