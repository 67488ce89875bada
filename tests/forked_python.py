"""`python …` in a process of its own, forked from one that has imported torch and timm already: that alone takes seconds.

Modules (`-m vitcore …`) and code (`-c …`) are run as Python does.

Where nothing can be forked (Windows), and for other programs than vitcore, it is an interpreter from the beginning. As a
script this file is `python -m vitcore`, for torchrun, which forks what returns and not what exits.
"""

import multiprocessing
import os
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

# not from conftest: the new process imports this file, and would import pytest with it
ROOT = Path(__file__).parent.parent
HEAVY = ["vitcore", "torch", "torch.distributed.launcher.api", "timm", "safetensors.torch", "pyarrow.parquet", "accelerate",
         "scipy.ndimage", "plotly.graph_objects", "narwhals.stable.v1", "matplotlib.pyplot", "timm.data", "timm.optim"]  # fmt: skip


def environment() -> dict[str, str]:
    """This one, in which vitcore is found from any folder and each process has one thread: others share the cores."""
    return {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}


class Forked:
    """A process that runs `python -m module args` or `python -c args`, with the part of `subprocess.Popen` that tests ask for."""

    def __init__(self, module: str, args: Sequence[str], cwd: Path) -> None:
        self._said = [Path(tempfile.mkstemp()[1]) for _ in range(2)]
        self._process = _server().Process(target=_run, args=(module, list(args), str(cwd), self._said, environment()))
        with patch.dict(sys.modules, {"__main__": ModuleType("__main__")}):  # a page, where one has been tested
            self._process.start()
        self.pid = self._process.pid
        self.kill = self._process.kill

    def poll(self) -> int | None:
        return self._process.exitcode

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout)
        out, err = (file.read_text(encoding="utf-8") for file in self._said)
        for file in self._said:
            file.unlink()
        return out, err


@cache
def _server() -> multiprocessing.context.BaseContext:
    os.environ["OMP_NUM_THREADS"] = "1"
    found = multiprocessing.get_context("forkserver")
    found.set_forkserver_preload(HEAVY)
    return found


def _run(module: str, args: list[str], cwd: str, said: list[Path], env: dict[str, str]) -> None:
    """In the new process."""
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    for number, file in zip((1, 2), said, strict=True):
        os.dup2(os.open(file, os.O_WRONLY | os.O_APPEND), number)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", encoding="utf-8", buffering=1) for number in (1, 2))
    if module == "-c":
        sys.argv, sys.modules["__main__"] = ["-c", *args[1:]], (main := ModuleType("__main__"))
        exec(args[0], vars(main))
    else:
        sys.argv = [module, *args]
        runpy.run_module(module, run_name="__main__", alter_sys=True)


def start(*args: str, cwd: Path) -> "Forked | subprocess.Popen":
    """Start `python args`."""
    args = tuple(map(str, args))
    if os.name != "nt" and (args[0] == "-c" or args[1].startswith(("vitcore", "torch.distributed.run"))):
        return Forked(*(("-c", args[1:]) if args[0] == "-c" else (args[1], args[2:])), cwd)
    command = [sys.executable, *args]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=cwd, env=environment(), stdout=pipe, stderr=pipe, text=True, encoding="utf-8")


def shell(*args: str, cwd: Path, seconds: float = 180) -> subprocess.CompletedProcess:
    """Run `python args` to its end."""
    process = start(*args, cwd=cwd)
    out, err = process.communicate(timeout=seconds)
    return subprocess.CompletedProcess(args, process.returncode, out, err)


def run_forked(command: Sequence[str], **_: object) -> subprocess.CompletedProcess:
    """In the place of `subprocess.run`, where this interpreter is asked to run a module of vitcore."""
    return shell(*command[1:], cwd=ROOT)


def two_processes(*args: str, cwd: Path, seconds: float = 180) -> subprocess.CompletedProcess:
    """Run `torchrun --standalone --nproc_per_node 2 -m vitcore args` to its end."""
    command = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    command += ["-m", "vitcore"] if os.name == "nt" else ["--start-method", "fork", "--run-path", __file__]
    return shell(*command, *args, cwd=cwd, seconds=seconds)


if __name__ == "__main__":
    from vitcore.__main__ import main

    if status := main():
        raise SystemExit(status)
