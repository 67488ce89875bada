"""What Streamlit serves as a file stays for half a minute after the last page that shows it has gone.

Streamlit 1.67 throws such a file away when visitors' runs end, anybody's: a picture whose page is drawn anew, and a
download that is made when it is asked for, which belongs to no page at all. In a full room that is before a slow line has
fetched it.
"""

from __future__ import annotations

import threading
import time
from itertools import takewhile
from typing import Any

from streamlit import runtime

DELAY_S = 30.0

_start = threading.Lock()
_files: DelayedDeletionStorage | None = None


class DelayedDeletionStorage:
    """A storage of Streamlit's (`MediaFileStorage`), told to throw nothing away before its time."""

    def __init__(self, storage: Any) -> None:
        self.storage = storage
        self._load, self._delete = storage.load_and_get_id, storage.delete_file
        self._due: dict[str, float] = {}  # file -> when it may go, the first to go first
        self._lock = threading.Lock()
        storage.load_and_get_id, storage.delete_file = self.load, self.delete

    def load(self, *args: Any, **kwargs: Any) -> str:
        with self._lock:
            file_id: str = self._load(*args, **kwargs)
            self._due.pop(file_id, None)
            return file_id

    def delete(self, file_id: str) -> None:
        with self._lock:
            self._due[file_id] = time.monotonic() + DELAY_S
        self.let_go()

    def let_go(self) -> None:
        """Throw away what has waited long enough."""
        with self._lock:
            now = time.monotonic()
            for file_id in list(takewhile(lambda one: self._due[one] <= now, self._due)):
                del self._due[file_id]
                self._delete(file_id)


def delay_file_deletion() -> None:
    """From now on the files of this process's server go late; called at every run of a page, once is enough."""
    global _files
    if not runtime.exists():
        return
    storage = runtime.get_instance().media_file_mgr._storage
    with _start:
        if _files is None or _files.storage is not storage:
            _files = DelayedDeletionStorage(storage)


def delete_due_files() -> None:
    """Throw away what has waited long enough, also where no more pages are drawn."""
    if _files is not None:
        _files.let_go()
