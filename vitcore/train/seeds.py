"""Seeds of a training's random numbers, made of several numbers: the use, the recipe's seed, the step, the place in the batch."""

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

ORDER, CROPS, ITEMS, MIXING, DROPS = 1, 2, 3, 4, 5  # so that no two uses of a seed draw the same numbers


def torch_seed(*numbers: int) -> int:
    """A seed of 63 bits for torch's generators from several numbers, each at least 0: the same in every process and version.

    numpy's SeedSequence mixes them; Python's own `hash` may change between versions, and sums of seeds collide.
    """
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> 1)


@contextmanager
def seeded_generators(*seed: int) -> Iterator[None]:
    """Python's, numpy's and torch's CPU generators seeded for a while."""
    import torch

    from vitcore.models.assembly.random_state import restored_generators

    number = torch_seed(*seed)
    with restored_generators():
        random.seed(number)
        np.random.seed(np.random.SeedSequence(seed).generate_state(4))  # noqa: NPY002
        torch.default_generator.manual_seed(number)
        yield
