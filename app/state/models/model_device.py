"""The device that models of this server run on: the CPU, or the machine's accelerator (CUDA, MPS, XPU), one for all visitors.

INSIDE_VIT_DEVICE sets it ("auto": the accelerator, if there is one); unset, it is the CPU. In local mode a control changes it.
"""

import functools
import os
import sys

from app import permissions
from app.state.memory import memory_cache
from vitcore.models.model_cards import ModelError

CPU = "cpu"
_chosen: list[str] = []  # the device chosen on a page, which outlives the visit: models are shared


def available_devices() -> tuple[str, ...]:
    """The kinds of device that models can be on here; "cpu" is the first, and the only one until a model has been loaded."""
    return _torch_devices() if "torch" in sys.modules else (CPU,)  # the page's first frame does not wait for torch


@functools.cache
def _torch_devices() -> tuple[str, ...]:
    from vitcore.models.assembly.device_and_dtype import available_devices

    return available_devices()


def current_device() -> str:
    """The device that models run on now. Raises: ModelError, where INSIDE_VIT_DEVICE names one that there is not."""
    if _chosen:
        return _chosen[0]
    setting = os.environ.get("INSIDE_VIT_DEVICE", "").strip().lower() or CPU
    if setting == CPU:
        return CPU
    from vitcore.models.assembly.device_and_dtype import find_device

    return str(find_device(setting))


def check_device_setting() -> None:
    """As the server starts. Raises: SystemExit, where INSIDE_VIT_DEVICE names a device that this machine does not have."""
    try:
        current_device()
    except ModelError as error:
        raise SystemExit(f"INSIDE_VIT_DEVICE: {error}") from None


def choose_device(device: str) -> None:
    """From now on models run on that device; those in memory, and what was computed with them, are let go. Off in public.

    Raises: ModelError, for a device that there is not.
    """
    from vitcore.models.assembly.device_and_dtype import find_device

    if permissions.is_public():
        return
    found = str(find_device(device))
    if found != current_device():
        _chosen[:] = [found]
        memory_cache.CACHE.drop_unpinned()
