"""When a frame is due: at steps spaced by a constant ratio, as long as frames take a small share of the time (no torch).

The first step and the last are always kept. Any other frame waits, to the next step asked for, until all of them fit in
`share` of the training's time: what has passed, or where the number of steps is known, what the whole will take at least,
at the fastest steps seen so far.
"""

import math
import time
from collections.abc import Callable

from vitcore.train.film_files import geometrically_spaced_steps

STEP_RATIO = 1.5  # between frames where nobody knows how many steps there will be: 100,000 steps make 27
TIME_SHARE = 0.02


class FrameScheduler:
    """Tells at each step whether a frame is due; `add_duration` is told what each call took."""

    def __init__(
        self, steps: int | None = None, frames: int = 24, share: float = TIME_SHARE, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self.steps, self.share, self.clock = steps, share, clock
        self.marks = sorted(geometrically_spaced_steps(steps, frames)) if steps else []
        self.began: float | None = None
        self.spent_s = 0.0  # on all that filming does
        self.cost_s = 0.0  # of the last frame
        self.step = -1
        self.kept = -1  # the step of the last frame
        self.mark = 0.0  # the next step to keep
        self._left: float | None = None  # when the loop was given back its time
        self._fastest_s = math.inf  # a step

    def is_due(self, step: int, last: bool = False) -> bool:
        """Whether to keep a frame of this step: asked once a step, at the beginning of the call."""
        now = self.clock()
        self.began = now if self.began is None else self.began
        if self._left is not None and step > self.step >= 0:
            self._fastest_s = min(self._fastest_s, (now - self._left) / (step - self.step))
        self.step = max(step, self.step)
        if step <= self.kept:
            return False
        if self.kept < 0 or last or (self.steps and step >= self.steps):
            return True
        both_s = 2 * self.cost_s  # this one and the last
        return step >= self.mark and self.spent_s + both_s <= self.share * self._whole_s(now - self.began)

    def _whole_s(self, passed_s: float) -> float:
        """How long the training takes, as far as is known: never more than it will."""
        known = self._fastest_s * self.steps if self.steps and self._fastest_s < math.inf else 0.0
        return max(passed_s, known)

    def add_duration(self, step: int, duration_s: float, frame: bool) -> None:
        """A call for this step took so long, with a frame or without."""
        self.spent_s += duration_s
        self._left = self.clock()
        if frame:
            self.kept, self.cost_s = step, duration_s
            after = (mark for mark in self.marks if mark > step)
            self.mark = next(after, math.inf) if self.marks else max(step + 1, math.ceil(STEP_RATIO * step))
