"""Where a model is and what numbers it calculates with: a device and a dtype by what people call them."""

from typing import Any

import torch

from vitcore.errors import raise_own_mistake
from vitcore.models.model_cards import ModelError

DTYPES = {
    "float32": torch.float32, "fp32": torch.float32, "bfloat16": torch.bfloat16, "bf16": torch.bfloat16,
    "float16": torch.float16, "fp16": torch.float16, "half": torch.float16,
}  # fmt: skip


def available_devices() -> tuple[str, ...]:
    """The kinds of device that models can be on here: "cpu", and the accelerator's ("cuda", "mps", "xpu"), if there is one."""
    accelerator = torch.accelerator.current_accelerator(check_available=True) if torch.accelerator.is_available() else None
    return ("cpu",) if accelerator is None else ("cpu", accelerator.type)


def find_device(device: torch.device | str) -> torch.device:
    """The device of this name; "auto" is the accelerator, or the CPU where there is none.

    Raises: ModelError, for one that torch does not have here.
    """
    if device == "auto":
        return torch.device(available_devices()[-1])
    try:
        found = torch.device(device)
        torch.empty(1, device=found)
    except Exception as error:  # each device's part of torch complains in its own way
        raise_own_mistake(error)
        raise ModelError("{device} is not a device of this machine, which has {devices}.",
                         device=repr(str(device)), devices=", ".join(available_devices())) from None  # fmt: skip
    if found.type == "meta":
        raise ModelError("{device} is not a device of this machine, which has {devices}.",
                         device=repr("meta"), devices=", ".join(available_devices()))  # fmt: skip
    return found


def find_dtype(dtype: torch.dtype | str) -> torch.dtype:
    """The floating-point dtype of this name. Raises: ModelError, for what is none."""
    found = dtype if isinstance(dtype, torch.dtype) else DTYPES.get(str(dtype).removeprefix("torch."))
    if found is None or found not in DTYPES.values():
        raise ModelError("models calculate in float32, bfloat16 or float16, not in {dtype}.", dtype=str(dtype)[:40])
    return found


def place_module(module: Any, device: torch.device | str | None, dtype: torch.dtype | str | None) -> None:
    """Move a module that is nobody else's to a device and a dtype; None leaves it as it is. Raises: ModelError."""
    module.to(device=None if device is None else find_device(device), dtype=None if dtype is None else find_dtype(dtype))
