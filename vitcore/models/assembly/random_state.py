"""Random states that are a caller's: what opens, wraps or runs a model leaves them as they were."""

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch


@contextmanager
def restored_generators() -> Iterator[None]:
    """Python's, numpy's and torch's generators (of CUDA's devices too, once it is in use) are, afterwards, as they were."""
    python, numpys = random.getstate(), np.random.get_state()  # noqa: NPY002  (timm draws from it)
    devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()
    try:
        with torch.random.fork_rng(devices=devices):
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numpys)  # noqa: NPY002
