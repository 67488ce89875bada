"""Memory of the machine, or what its container may use of it (cgroups, docs.kernel.org/admin-guide/cgroup-v2.html)."""

import contextlib
from functools import lru_cache
from pathlib import Path

import psutil

CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")  # version 2, version 1


@lru_cache(maxsize=1)
def memory_bytes() -> int:
    """Memory of this machine in bytes; the limit of its container where that is lower."""
    limits = [int(psutil.virtual_memory().total)]
    for file in CGROUP_LIMITS:
        with contextlib.suppress(OSError, ValueError):  # no such file, or "max"
            limits.append(int(Path(file).read_text(encoding="utf-8")))
    return min(limits)
