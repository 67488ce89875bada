"""Work of one run of a page that a later run may stop, or take over, while the first is still in the middle of a photo."""

import threading
from dataclasses import dataclass, field
from typing import Any


@dataclass(eq=False, kw_only=True)
class StoppableJob:
    """A job's progress, whether it was stopped, and which run may add to it: that one checks `run_number` under `lock`."""

    done_count: int = 0
    stopped: bool = False
    run_number: int = 0  # of the page's runs that went on with it; only the newest may
    lock: Any = field(default_factory=threading.Lock)

    def stop(self) -> None:
        """Add no more, not even the photo in hand: what the page says of it from now on is so."""
        with self.lock:
            self.run_number, self.stopped = self.run_number + 1, True
