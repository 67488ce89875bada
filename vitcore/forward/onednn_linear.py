"""Linear layers by the faster of two libraries that come with PyTorch: the one it chooses for float32, or oneDNN.

On PCs PyTorch's choice is MKL, Intel's own: on an AMD EPYC 9005 a layer of width 768 took it 1.5 ms and oneDNN 0.7 (256 tokens, two
threads). Which is faster here is timed. Results differ in float32's last digits.
"""

import functools
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.utils import skip_init

TOKENS, WIDTH = 256, 768  # of the layer that is timed
TIMES = 7
MARGIN = 1.2  # a library that is faster by chance is not chosen


class OneDnnLinear(nn.Module):
    """A linear layer as oneDNN computes it: weights of float32 on the CPU, without gradients."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.weight, self.bias = linear.weight, linear.bias

    def forward(self, x: Tensor) -> Tensor:
        """x · weightᵀ + bias: (…, width in) to (…, width out)."""
        return torch.ops.mkldnn._linear_pointwise(x, self.weight, self.bias, "none", [], "")


@functools.cache
def onednn_is_faster() -> bool:
    """Whether oneDNN takes clearly less time than PyTorch's choice for a layer of `WIDTH`; timed once in a process."""
    if not (torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")):
        return False
    usually = skip_init(nn.Linear, WIDTH, WIDTH)  # draws no random numbers: they are the caller's
    by_onednn, x = OneDnnLinear(usually), torch.ones(1, TOKENS, WIDTH)
    with torch.inference_mode():
        for numbers in usually.parameters():
            numbers.fill_(1)
        usual, other = _least_seconds(lambda: usually(x), lambda: by_onednn(x))
    return usual > MARGIN * other


def _least_seconds(*ways: Callable[[], object]) -> list[float]:
    """The shortest time that each way took, run in turn."""
    least = [float("inf")] * len(ways)
    for _ in range(TIMES):
        for place, way in enumerate(ways):
            begun = time.perf_counter()
            way()
            least[place] = min(least[place], time.perf_counter() - begun)
    return least
