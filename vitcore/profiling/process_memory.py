"""How much memory this process takes, and whether that was why a pass failed."""

import sys
from pathlib import Path

import torch


class PeakMemoryWatch:
    """`with watch as used:` `used.peak_mb` is then how far memory rose above what this process had when `watch` was made.

    On CUDA as torch counts it, on Linux as the system does; None elsewhere.
    """

    def __init__(self) -> None:
        self.before = process_memory_mb("VmRSS")
        self.peak_mb: float | None = None

    def __enter__(self) -> "PeakMemoryWatch":
        if torch.cuda.is_available():
            torch.cuda.reset_peak_memory_stats()
        elif sys.platform == "linux":
            try:
                Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # forget the highest so far
            except OSError:
                self.before = None
        return self

    def __exit__(self, *_: object) -> None:
        if torch.cuda.is_available():
            self.peak_mb = torch.cuda.max_memory_allocated() / 2**20
            return
        high = process_memory_mb("VmHWM")
        self.peak_mb = None if high is None or self.before is None else max(0.0, high - self.before)


def process_memory_mb(field: str) -> float | None:
    """What the system says of this process's memory under that name; None where it does not say."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(field))
    except (OSError, StopIteration):
        return None


def is_out_of_memory(error: BaseException) -> bool:
    """Whether a pass failed because memory ended, not for another reason."""
    return isinstance(error, (torch.OutOfMemoryError, MemoryError)) or "allocate memory" in str(error)
