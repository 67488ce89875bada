"""Recipes: everything that decides a training run, in one frozen dataclass with units."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Distil:
    """Learn from two teachers at once: soft labels of one, tokens and class attention of the other.

    The student sees a random part of its patches (`keep_start`) for the first `sparse_share` of the steps, all of them
    after that: 64 of 256 tokens cost a quarter and every position is still trained. Cost on 2 CPU cores with bf16:
    about 160 images/s sparse, 25 images/s full.
    """

    image_px: int = 128  # side of the square the student sees
    patch_px: int = 8  # side of a patch
    width: int = 192  # D
    blocks: int = 12  # L
    heads: int = 3  # H
    classes: int = 1000  # ImageNet-1k, as the teacher
    patch_init_std: float = 0.002  # small, so that the filters show what was learned and not the noise they began as
    steps: int = 2200  # optimiser steps
    batch: int = 128  # images a step
    lr_peak: float = 1e-3  # AdamW
    warmup_steps: int = 150  # linear
    weight_decay: float = 0.05  # not on biases, norms, positions, class token
    clip_norm: float = 1.0  # global gradient norm
    sparse_share: float = 0.95  # of the steps
    keep_start: float = 0.25  # share of patches the student sees while sparse: scattered ones, and a window, in turn
    mixup_alpha: float = 0.0  # Beta(a, a); 0 = off
    token_weight: float = 1.0  # MSE to the teacher's tokens (64 principal components)
    attention_weight: float = 0.1  # cross-entropy to the teacher's class-token attention
    first_weight: float = 0.5  # cross-entropy to three heads of the token teacher's first block
    ema_decay: float = 0.995  # of the weights that are shipped
    snapshot_every_steps: int = 100
    seed: int = 0
