"""Work of one run of a page that a later run may stop, or take over, while the first is still in the middle of a photo."""

import threading
from dataclasses import dataclass, field
from typing import Any


@dataclass(eq=False, kw_only=True)
class Stoppable:
    """How far the work is, whether it was stopped, and whose turn it is: whoever adds to it looks at `turn` and holds `lock`."""

    done: int = 0
    stopped: bool = False
    turn: int = 0  # of the page's runs that went on with it; only the newest may
    lock: Any = field(default_factory=threading.Lock)

    def stop(self) -> None:
        """Add no more, not even the photo in hand: what the page says of it from now on is so."""
        with self.lock:
            self.turn, self.stopped = self.turn + 1, True
