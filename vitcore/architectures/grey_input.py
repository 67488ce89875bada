"""Models of other than three channels: those of one are shown photos in grey, which their first layer makes; all others, as of
satellites, are given as many bands as they have."""

import statistics

import torch
from torch import Tensor, nn

LUMA = (0.299, 0.587, 0.114)  # of red, green and blue: ITU-R BT.601, as Pillow's mode "L" and torchvision's Grayscale
GREY_RULE = "grey ({} R + {} G + {} B)".format(*LUMA)


class GreyConv2d(nn.Conv2d):
    """A convolution of one channel that is given three, (B, 3, H, W), and takes their luma; of one channel it takes that."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(to_luma(x))


def to_luma(x: Tensor) -> Tensor:
    """Pictures of three channels (B, 3, H, W) in grey (B, 1, H, W); those of one channel as they are."""
    if x.shape[1] != 3:
        return x
    return (x * torch.tensor(LUMA, dtype=x.dtype, device=x.device).view(3, 1, 1)).sum(1, keepdim=True)


def first_convolution(module: nn.Module) -> nn.Conv2d | None:
    """The first of its convolutions in the order of its parts, which mostly reads the pixels; None where it has none."""
    return next((part for part in module.modules() if isinstance(part, nn.Conv2d)), None)


def input_channels(module: nn.Module) -> int:
    """How many channels its pictures have: those of its first convolution; 3 where none reads them all together."""
    first = first_convolution(module)
    return 3 if first is None or first.groups != 1 else first.in_channels


def accepted_bands(module: nn.Module) -> int:
    """How many numbers of a pixel a module is given here: 3, which one of a single channel makes grey, else its channels."""
    channels = input_channels(module)
    return 3 if channels == 1 else channels


def bands_rule_sentence(count: int) -> str:
    """What a model of so many bands is given, in a line."""
    return f"{count} bands in the file's order, integers over the largest of their kind, floats as they are"


def grey_mean_and_std(mean: tuple[float, ...], std: tuple[float, ...]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """One mean and one deviation for all three colours: their averages (of ImageNet's 0.449 and 0.226)."""
    return (statistics.mean(mean),) * 3, (statistics.mean(std),) * 3
