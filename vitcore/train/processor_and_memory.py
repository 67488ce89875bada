"""The machine: its processor's name and its memory, or what its container may use of it (cgroups)."""

import contextlib
import platform
from functools import lru_cache
from pathlib import Path

import psutil

# docs.kernel.org/admin-guide/cgroup-v2.html, and version 1
CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


@lru_cache(maxsize=1)
def machine_memory_bytes() -> int:
    """Memory of this machine in bytes; the limit of its container where that is lower."""
    limits = [int(psutil.virtual_memory().total)]
    for file in CGROUP_LIMITS:
        with contextlib.suppress(OSError, ValueError):  # no such file, or "max"
            limits.append(int(Path(file).read_text(encoding="utf-8")))
    return min(limits)


def processor_name() -> str:
    """The processor's name, where the system says; else its kind."""
    with contextlib.suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return platform.processor() or platform.machine()
