"""Stopping a run: Ctrl-C and SIGTERM are heard, every process ends at the same step, and what was learnt is saved first."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from accelerate import Accelerator

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def listen_for_stop() -> Iterator[threading.Event]:
    """An event that Ctrl-C or SIGTERM sets, so that a run saves before it stops; a second Ctrl-C stops at once."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return

    def note(number: int, frame: Any) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    before = {number: signal.signal(number, note) for number in STOP_SIGNALS}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def any_process_stops(machine: Accelerator, stop_event: threading.Event) -> bool:
    """Whether any process was asked to stop: all must end at the same step."""
    flag = torch.tensor(float(stop_event.is_set()), device=machine.device)
    return bool(machine.reduce(flag, "sum") > 0) if machine.num_processes > 1 else stop_event.is_set()
