"""Thousands of damaged and hostile checkpoints by a seed: each opens right or ends in one sentence, quickly and in little memory.

    python -m tests.benchmarks.hostile_files --count 10000 --seed 0

Each file is opened in a child process with limits; a fault is an error that is no refusal, a refusal with a library's own error in
it, a mistake that is logged, more than 5 s or 500 MB beyond the file, a weight that is no number, and anything run, written or left
open. `tests/vitcore/models/test_hostile_files.py` tries a few hundred of them.
"""

import argparse
import collections
import contextlib
import gc
import json
import logging
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path

import torch

from tests.hostile.base_files import base_files
from tests.hostile.damage_models import damage
from vitcore.errors import RefusalError
from vitcore.models import load_model

MOST_SECONDS, MOST_BYTES = 5, 500 * 10**6
LEAKS = re.compile(
    r"index out of range|NoneType|object has no|not subscriptable|mistake in Inside ViT|invalid literal|Traceback|out of bounds|"
    r"by zero|has no attribute|not iterable|KeyError|TypeError|ValueError|IndexError|to unpack|math domain|must be .*, not|"
    r"unsupported operand|unhashable|positional argument|unexpected keyword|not callable|maximum recursion|object is not"
)
FORBIDDEN = (
    "pickle.find_class", "os.system", "os.exec", "subprocess.Popen", "socket.connect", "os.mkdir", "os.remove", "os.rename",
    "shutil.rmtree", "tempfile.mkstemp", "tempfile.mkdtemp",
)  # fmt: skip
done: list[str] | None = None  # what a file had run, while it is watched


def _watch(event: str, args: tuple[object, ...]) -> None:
    if done is None:
        return
    writes = event == "open" and isinstance(args[1], str) and set(args[1]) & set("wax+")
    if (writes or event in FORBIDDEN) and not re.search("__pycache__|babel", str(args[0])):
        done.append(f"{event} {str(args)[:120]}")


sys.addaudithook(_watch)


class TooLong(Exception):
    """The time is over."""


@contextlib.contextmanager
def within(seconds: float) -> Iterator[None]:
    def end(*_):
        raise TooLong

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class _Mistakes(logging.Handler):
    """Mistakes of this project that are logged, though a sentence hides them."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append("logged: " + "".join(traceback.format_exception(record.exc_info[1] if record.exc_info else None)))


def fault(path: Path) -> str:
    """What is wrong with how a file opens; empty where it opens, or ends in a sentence."""
    global done
    size = sum(f.stat().st_size for f in path.rglob("*")) if path.is_dir() else path.stat().st_size
    before, began, opened = _memory(reset=True), time.process_time(), _open_files()
    log, mistakes = logging.getLogger("vitcore"), _Mistakes()
    log.addHandler(mistakes)
    log.propagate, done, said = False, [], ""
    try:
        with within(60), warnings.catch_warnings(action="ignore"):
            vit = load_model.load(path)
            with torch.inference_mode():
                vit.module(torch.zeros(1, vit.bands, *vit.grid.image_px))
        held = (*vit.module.named_parameters(), *vit.module.named_buffers())
        said = next((f"opened, {name} is no number" for name, w in held if not bool(w.isfinite().all())), "")
    except RefusalError as error:
        text = str(error)
        if LEAKS.search(text) or not text.isprintable() or not 10 < len(text) < 500:
            said = f"no sentence: {text[:300]}"
    except TooLong:
        said = "60 s: " + traceback.format_exc()[-1500:]
    except BaseException:
        said = traceback.format_exc()
    finally:
        ran, done = done, None
        log.removeHandler(mistakes)
        log.propagate = True
    seconds, grown = time.process_time() - began, _memory() - before
    if said or mistakes.texts:
        return said or mistakes.texts[0]
    if ran:
        return f"was run: {ran[0]}"
    if seconds > MOST_SECONDS:
        return f"{seconds:.1f} s"
    if grown > MOST_BYTES + size:
        return f"{grown / 1e6:.0f} MB"
    if _open_files() > opened:
        gc.collect()
    return "a file is left open" if _open_files() > opened else ""


def _open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir()) if sys.platform == "linux" else 0


def _memory(reset: bool = False) -> int:
    """The peak of this process's memory in bytes, since it was reset where that can be."""
    if reset:
        with contextlib.suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")
    with contextlib.suppress(OSError, StopIteration):
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def faults(seeds: range, bases: list[Path]) -> Iterator[tuple[int, Path, str]]:
    """The seeds whose files open in no good way: with what was damaged and what happened."""
    for seed in seeds:
        rng = random.Random(seed)
        with tempfile.TemporaryDirectory() as home:
            base = rng.choice(bases)
            try:
                path = damage(base, Path(home), rng)
            except (RuntimeError, TypeError, ValueError):  # of libraries: two damages to one thing that can't be made
                continue
            kept = sorted(p.name for p in Path(home).rglob("*"))
            if said := fault(path):
                yield seed, base, said
            elif sorted(p.name for p in Path(home).rglob("*")) != kept:
                yield seed, base, "something was left behind"


def child(start: int, count: int, home: str) -> None:
    """Try some, and print a line for each that has a fault; the last line says that the process came to its end."""
    logging.disable(logging.WARNING)
    limit = 4 * 10**9
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    load_model.load()  # what is imported and kept once
    for seed, base, said in faults(range(start, start + count), sorted(Path(home).iterdir())):
        print(json.dumps([seed, base.name, said]), flush=True)
    print(json.dumps([start, "", "end"]), flush=True)


def main() -> int:
    """Try so many, and list the kinds of faults."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--show", action="store_true", help="print what happened in full")
    asked = parser.parse_args()
    if asked.child:
        child(asked.seed, asked.count, asked.child)
        return 0
    kinds: dict[str, list[str]] = collections.defaultdict(list)
    began, end, each = time.monotonic(), asked.seed + asked.count, 500
    with tempfile.TemporaryDirectory() as home, tempfile.TemporaryDirectory() as temporary:
        base_files(Path(home))
        for start in range(asked.seed, end, each):
            told = ["--seed", str(start), "--count", str(min(each, end - start)), "--child", home]
            called = [sys.executable, "-m", "tests.benchmarks.hostile_files", *told]
            ended = subprocess.run(called, capture_output=True, text=True, env={**os.environ, "TMPDIR": temporary}, check=False)
            lines = [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("[")]
            if not lines or lines[-1][2] != "end":
                lines.append([start, "", f"the process ended with {ended.returncode}: {ended.stderr[-300:]}"])
            if left := [file.name for file in Path(temporary).iterdir()]:
                lines.append([start, "", f"left in the folder for temporary files: {left[:3]}"])
            for seed, base, said in lines:
                if said != "end":
                    kinds[_kind(said)].append(f"{seed} {base}")
                    print(f"{seed} {base}: {said if asked.show else _kind(said)}", flush=True)
    print()
    for kind, seeds in sorted(kinds.items(), key=lambda item: -len(item[1])):
        print(f"{len(seeds):4}  {kind}  ({', '.join(seeds[:3])})")
    print(f"{asked.count} files, {sum(map(len, kinds.values()))} faults, {time.monotonic() - began:.0f} s")
    return 1 if kinds else 0


def _kind(said: str) -> str:
    places = re.findall(r'File ".*?((?:vitcore|timm|torch)/\S+|\w+\.py)", line (\d+)', said)
    last = said.strip().splitlines()[-1][:200]
    return f"{last.split(':')[0] if 'Traceback' in said else last} at {places[-1:]}"


if __name__ == "__main__":
    sys.exit(main())
