"""Garbage collection off the visitors' path: what stays for good is set aside once, what is left is swept on a quiet thread.

Streamlit would force a full collection after every run of a page (`runner.postScriptGC`); with torch, timm and plotly loaded
that walks half a million objects and holds the interpreter for about 300 ms, so `.streamlit/config.toml` turns it off. Cycles
that pages leave behind are found by Python's own generations, and here.
"""

import gc
import sys
import threading
import time

from app.state.memory import media_files, memory_cache, upload_memory_limit

INTERVAL_S = 20.0  # between two sweeps
HEAVY_MODULES = ("torch", "timm", "plotly.graph_objects")  # what a page with a picture has loaded

_started = threading.Lock()
_frozen = False


def start_collecting_garbage() -> None:
    """Sweep from now on, once a process."""
    if _started.acquire(blocking=False):
        threading.Thread(target=_sweep, name="collector", daemon=True).start()


def _sweep() -> None:
    while True:
        time.sleep(INTERVAL_S)
        _collect_garbage()
        memory_cache.CACHE.measure_process()
        media_files.delete_due_files()
        upload_memory_limit.drop_unclaimed_uploads()


def _collect_garbage() -> None:
    """Collect; the first time that everything heavy is loaded, also set aside all that is there, for good."""
    global _frozen
    gc.collect()
    if not _frozen and all(name in sys.modules for name in HEAVY_MODULES):
        gc.freeze()
        _frozen = True
