"""Heads that timm lacks: the paper's pre-training head, a hidden layer with tanh before the classes."""

from torch import nn


def mlp_head(width: int, classes: int) -> nn.Sequential:
    """Features (B, width) to logits (B, classes) through one hidden tanh layer of the same width.

    arXiv 2010.11929 §3.1: "an MLP with one hidden layer at pre-training time and a single linear layer at fine-tuning
    time". It takes the place of a timm ViT's `head`, so `forward_head(pre_logits=True)` still ends before it.
    """
    return nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Linear(width, classes))
