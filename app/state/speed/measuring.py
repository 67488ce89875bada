"""Measurements of speed: one at a time on this server, each in a process of its own, kept by model and by what it does.

The process is the shell's `vitcore profile` told line by line (`vitcore.profiling.profile_subprocess`); a thread reads what
it says. Numbers of the last few models are kept until the server ends.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import sys
import threading
from contextlib import suppress
from dataclasses import asdict, dataclass
from subprocess import DEVNULL, PIPE, Popen
from typing import TYPE_CHECKING, Any

from app import mode
from app.state import runs
from app.state.model_ref import ModelRef
from app.state.own import model as own
from app.state.processes import environment
from vitcore.translation import retell

if TYPE_CHECKING:
    from vitcore.models.load_model import Vit
    from vitcore.profiling.profile_subprocess import Order
    from vitcore.profiling.throughput import Device, Profile

MOST = 32  # measurements that are kept
Key = tuple[str, bool]  # what the model is kept under, and whether it is trained


@dataclass(eq=False)
class Measuring:
    """One measurement, under way or ended; `profile` grows with every batch size."""

    title: str  # of the model
    sizes: int  # how many batch sizes were asked for
    batch: int = 0  # that is timed now
    looking_gb: float = 0.0  # into which the largest batch is looked for now
    device: Device | None = None
    profile: Profile | None = None
    said: Any = None  # of what went wrong: `vitcore.translation.parts`
    live: bool = True
    stopped: bool = False
    process: Popen[str] | None = None

    @property
    def done(self) -> int:
        """How many batch sizes are timed."""
        return len(self.profile.speeds) if self.profile else 0

    @property
    def problem(self) -> str:
        """What went wrong, in the reader's language; nothing where all went well."""
        return retell(self.said) if self.said else ""


_kept: dict[Key, Measuring] = {}  # oldest first
_starting = threading.Lock()


def of(vit: Vit, training: bool) -> Measuring | None:
    """The last measurement of this model."""
    return _kept.get((vit.name, training))


def under_way() -> Measuring | None:
    """The one that is under way, of whatever model."""
    return next((one for one in _kept.values() if one.live), None)


def start(vit: Vit, training: bool, batches: list[int], memory_gb: float) -> None:
    """Measure, unless a measurement is under way: two at once would each slow the other. Raises: OffError; OSError."""
    mode.demand("measurements")
    from vitcore.profiling.profile_subprocess import Order

    order = Order(_asked(vit), training, batches, memory_gb)
    with _starting:
        if under_way() is not None:
            return
        one = Measuring(vit.card.title, len(batches))
        one.process = _begun(order)
        _kept.pop((vit.name, training), None)
        _kept[vit.name, training] = one
        while len(_kept) > MOST:
            del _kept[next(iter(_kept))]
    threading.Thread(target=_listen, args=(one,), daemon=True).start()


def stop() -> None:
    """End the measurement that is under way; what was measured stays. Raises: OffError."""
    mode.demand("measurements")
    _end()


def _asked(vit: Vit) -> Any:
    """What a process opens that model by: `vitcore.profiling.profiled_model.Asked`."""
    ref = ModelRef.parse(vit.name)
    one = own.mine() if ref.name == own.OWN else None
    if one is not None and one.opened is not None:
        return {"path": str(one.path), "part": one.part, "called": one.title} | asdict(one.opened) | {"labels": None}
    return str(runs.model_of(ref.name)) if ref.checkpoint else vit.name


def _begun(order: Order) -> Popen[str]:
    command = [sys.executable, "-m", "vitcore.profiling.profile_subprocess", json.dumps(asdict(order))]
    apart: dict[str, Any] = {} if sys.platform == "win32" else {"start_new_session": True}  # ends with those it starts
    return Popen(command, env=environment(), stdin=DEVNULL, stdout=PIPE,
                 stderr=DEVNULL, text=True, encoding="utf-8", **apart)  # fmt: skip


def _listen(one: Measuring) -> None:
    """Take down what the process says, until it ends."""
    from vitcore.profiling.profile_subprocess import measured

    assert one.process is not None and one.process.stdout is not None
    with one.process.stdout as lines:
        for text in lines:
            with suppress(ValueError):  # a line of some library's
                line = json.loads(text)
                one.batch, one.looking_gb = line.get("batch", one.batch), line.get("looking", 0.0)
                one.said = line.get("problem", one.said)
                if "profile" in line:
                    one.device, one.profile = measured(line)
    code = one.process.wait()
    if code and not one.stopped and not one.said:
        from vitcore.translation import parts, say

        one.said = parts(say("The process that measured ended before it was done."))
    one.process, one.live = None, False


@atexit.register
def _end() -> None:
    one = under_way()
    process = one.process if one else None
    if one is None or process is None or process.poll() is not None:
        return
    one.stopped = True
    with suppress(OSError):
        if sys.platform == "win32":
            process.terminate()
        else:
            os.killpg(process.pid, signal.SIGTERM)
