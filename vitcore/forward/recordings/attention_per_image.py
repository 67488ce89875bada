"""Attention of several images in one pass: each image's part of an event goes to a watcher of its own."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from vitcore.attention_hooks import AttentionCall, AttentionEvent, AttentionWatcher


class PerImageAttentionCollector:
    """The watcher of a pass over several images: each image's part of an event goes to a watcher of its own."""

    def __init__(self, watchers: Sequence[AttentionWatcher]) -> None:
        self.watchers = watchers

    def __call__(self, event: AttentionEvent) -> Tensor | None:
        images = len(self.watchers)
        if event.shape[0] % images:
            return None
        answers = [watch(_of_image(event, image, images)) for image, watch in enumerate(self.watchers)]
        given = [answer.transpose(1, 2) for answer in answers if answer is not None]
        return torch.cat(given).transpose(1, 2) if given else None  # laid out as each is


def _of_image(event: AttentionEvent, image: int, images: int) -> AttentionEvent:
    """The part of one of so many images, which lie one after another along B."""
    each = event.shape[0] // images
    part = slice(image * each, (image + 1) * each)
    if not isinstance(event, AttentionCall):
        return replace(event, result=event.result[part])
    mask = event.mask
    if mask is not None and mask.ndim == 4 and len(mask) == len(event.q):
        mask = mask[part]
    return replace(event, q=event.q[part], k=event.k[part], v=event.v[part], mask=mask)
