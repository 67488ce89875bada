"""The wheel: what `pip install .` puts where, and that the shell and the app work from it, from any folder."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import tomllib
import urllib.request
import zipfile
from configparser import ConfigParser
from contextlib import suppress
from pathlib import Path

import pytest

from tests.conftest import ROOT, SAMPLES, kept_by_git
from tests.test_packaging import flat

BUILD = "import sys; from setuptools import build_meta as b; print(b.build_wheel(sys.argv[1]))"
START = "from inside_vit.app.start import main; main()"


def should_hold() -> set[str]:
    """Where each file of the checkout should be in the wheel; tests, screenshots and what makes the shipped models stay out."""
    ours = [name for name in kept_by_git() if name.startswith(("app/", "assets/", "vitcore/")) or name == ".streamlit/config.toml"]
    ours = [
        name
        for name in ours
        if not name.startswith(("assets/screenshots/", "assets/notebooks/", "assets/reference/")) and Path(name).name != "README.md"
    ]
    return {name if name.startswith("vitcore/") else f"inside_vit/{name}" for name in ours}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """Built without network from a copy of what git keeps, so that no old build leaks into it."""
    pytest.importorskip("setuptools", "77", reason="the wheel is built with setuptools")
    home = tmp_path_factory.mktemp("wheel")
    for name in kept_by_git():
        if not name.startswith("tests/"):
            (home / "copy" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, home / "copy" / name)
    done = subprocess.run(
        [sys.executable, "-c", BUILD, str(home)], cwd=home / "copy", capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return next(home.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    """The folder it was installed into, among packages that others have."""
    home = tmp_path_factory.mktemp("site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(home)
    (home / "assets").mkdir()  # a badly packed neighbour's
    return home


@pytest.fixture
def elsewhere(tmp_path):
    """A person's own folder, with a photo, and with an `app` that is not ours."""
    shutil.copy(SAMPLES / "cat.jpg", tmp_path / "photo.jpg")
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "__init__.py").write_text("raise RuntimeError('not this one')", encoding="utf-8")
    return tmp_path


def python(*args: str, cwd: Path, installed: Path, **options) -> subprocess.Popen:
    env = os.environ | {"PYTHONPATH": str(installed), "PYTHONUTF8": "1", "VITCORE_RUNS": str(cwd / "runs")}
    return subprocess.Popen([sys.executable, *args], cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            encoding="utf-8", **options)  # fmt: skip


def said(*args: str, cwd: Path, installed: Path) -> str:
    """What it printed; it ended well."""
    process = python(*args, cwd=cwd, installed=installed)
    out, _ = process.communicate(timeout=300)
    assert process.returncode == 0, out
    return out


def test_it_holds_everything_and_nothing_else(wheel):
    names = {name for name in zipfile.ZipFile(wheel).namelist() if not name.endswith("/")}
    found = {name for name in names if ".dist-info/" not in name and Path(name).name != "README.md"}
    assert sorted(should_hold() - found) == [], "not in the wheel"
    assert sorted(found - should_hold()) == [], "in the wheel, and nobody knows why"
    assert {name.partition("/")[0] for name in found} == {"inside_vit", "vitcore"}


def test_its_commands(wheel):
    with zipfile.ZipFile(wheel) as archive:
        info = next(name for name in archive.namelist() if name.endswith("entry_points.txt"))
        points = ConfigParser()
        points.read_string(archive.read(info).decode())
    assert dict(points["console_scripts"]) == {"vitcore": "vitcore.__main__:main", "inside-vit": "inside_vit.app.start:main"}


BOTH = """
import json, sys, vitcore.assets, vitcore.__main__
done = vitcore.__main__.main(["rollout", "photo.jpg", "--out", "pictures"])
from inside_vit.app.start import MAIN
from streamlit.testing.v1 import AppTest
sys.path.remove("")
at = AppTest.from_file(str(MAIN), default_timeout=200).run()
import app
print(json.dumps([str(vitcore.assets.asset_path("models")), done, app.__file__, [e.message for e in at.exception], len(at.title)]))
"""


def test_the_shell_works_from_any_folder_and_the_app_draws_its_first_page(installed, elsewhere):
    models, done, file, problems, titles = json.loads(said("-c", BOTH, cwd=elsewhere, installed=installed).splitlines()[-1])
    assert Path(models) == installed / "inside_vit" / "assets" / "models" and done == 0
    assert sorted(file.name for file in (elsewhere / "pictures").iterdir()) == ["rollout.npz", "rollout.png"]
    assert Path(file) == installed / "inside_vit" / "app" / "__init__.py"
    assert (problems, titles) == ([], 1)


def test_its_settings_come_along_and_flags_are_heard_first(installed, elsewhere):
    script = (
        "import json; from unittest.mock import patch; from streamlit import config;"
        "told = lambda *_, **__: print(json.dumps({k: config.get_option(k) for k in config.get_config_options()}, default=str));"
        "from streamlit.web import bootstrap; from inside_vit.app.start import main\n"
        "with patch.object(bootstrap, 'run_asgi_app', told): main(['--server.port', '8600', '--theme.baseRadius', '1px'])"
    )
    (elsewhere / ".streamlit").mkdir()
    (elsewhere / ".streamlit" / "config.toml").write_text("[theme]\nbaseFontSize = 40\n", encoding="utf-8")
    options = json.loads(said("-c", script, cwd=elsewhere, installed=installed).splitlines()[-1])
    ours = dict(flat(tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))))
    ours |= {"server.fileWatcherType": "none", "server.port": 8600, "theme.baseRadius": "1px"}
    assert {key: options[key] for key in ours} == ours


def test_the_app_serves_from_any_folder(installed, elsewhere):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = python("-c", START, "--server.port", str(port), "--server.headless", "true", cwd=elsewhere, installed=installed)
    with process:
        try:
            assert answer(f"http://localhost:{port}/_stcore/health", process) == b"ok"
            font = answer(f"http://localhost:{port}/app/static/fonts/inter-latin-wght-normal.woff2", process)
            assert font[:4] == b"wOF2", "static files are served because our settings say so"
            assert b"data-settled" in answer(f"http://localhost:{port}/story", process), "our styles are in the page's head"
        finally:
            process.kill()


def answer(address: str, process: subprocess.Popen, seconds: float = 90) -> bytes:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert process.poll() is None, process.stdout.read()
        with suppress(OSError), urllib.request.urlopen(address, timeout=5) as found:
            return found.read()
        time.sleep(0.1)
    raise TimeoutError(address)
