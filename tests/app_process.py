"""The app as people start it: a process of its own, on a free port."""

import contextlib
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]


@contextlib.contextmanager
def served(home: Path, most_files: int | None = None) -> Iterator[str]:
    """A server of the app, which may open no more than so many files; its address. What it says is in `home / "log"`."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    env = os.environ | {"HF_ENDPOINT": "http://127.0.0.1:9", "HF_HOME": str(home), "VITCORE_MODELS": str(home),
                        "VITCORE_RUNS": str(home / "runs"), "INSIDE_VIT_POLLS": str(home)}  # fmt: skip
    command = [sys.executable, "-m", "streamlit", "run", "app/main.py", "--server.headless", "true", "--server.port", str(port)]
    if most_files:
        command = ["sh", "-c", f'ulimit -n {most_files}; exec "$@"', "sh", *command]
    with (home / "log").open("a") as log, subprocess.Popen(command, cwd=ROOT, env=env, stdout=log, stderr=log) as process:
        try:
            _wait_for(f"http://localhost:{port}/_stcore/health", process)
            yield f"http://localhost:{port}"
        finally:
            process.terminate()


def _wait_for(address: str, process: subprocess.Popen, seconds: float = 300) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert process.poll() is None, "the server ended before it began"
        with contextlib.suppress(OSError), urllib.request.urlopen(address, timeout=2):
            return
        time.sleep(0.1)
    raise TimeoutError(f"no answer from {address}")
