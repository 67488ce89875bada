"""One tensor of a file, whose values are read when they are asked for."""

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from vitcore.errors import model_misfit_reason
from vitcore.models.formats.containers.file_errors import damaged_file_error
from vitcore.models.model_cards import ModelError


@dataclass(frozen=True, eq=False)
class LazyTensor:
    """One tensor of a file: its shape is known, its values are read when asked for, each time anew."""

    shape: tuple[int, ...]
    read: Callable[[], Tensor]
    file: Path
    dtype: torch.dtype | None = torch.float32  # None: no numbers that torch has
    kind: str = ""  # what those without plain values are, see `TensorPlace.kind`

    def values(self) -> Tensor:
        """The values. Raises: ModelError, where the file is damaged there."""
        try:
            return self.read()
        except ModelError:
            raise
        except Exception as error:  # safetensors and the decoders of zip files each have their own
            raise damaged_file_error(self.file, error if isinstance(error, zlib.error) else model_misfit_reason(error)) from None


def torch_dtype(kind: np.dtype) -> torch.dtype | None:
    """torch's type of NumPy's; None, where it has none."""
    try:
        return torch.from_numpy(np.empty(0, kind)).dtype
    except TypeError:
        return None
