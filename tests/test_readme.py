"""The README keeps its word: its blocks run as written, beside a photo, and what it points to is there."""

import os
import re
import shlex
from pathlib import Path

import pytest
from PIL import Image

from vitcore.profiling import speed
from vitcore.shell.cli import main

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
STARTS_THE_APP = ("make ", "streamlit run")


def blocks(*languages: str) -> list[str]:
    """Code of the README in these languages, but for what starts the app."""
    found = [code for language, code in BLOCK.findall(README) if language in languages]
    return [code for code in found if not any(word in code for word in STARTS_THE_APP)]


PYTHON, SHELL = blocks("python"), blocks("sh", "bash", "shell", "console")


def first_line(code: str) -> str:
    return code.strip().splitlines()[0][:40]


@pytest.fixture
def folder(tmp_path, photo_file, monkeypatch):
    """A person's folder with a photo, if a small one; they are in it."""
    with Image.open(photo_file) as photo:
        photo.reduce(3).save(tmp_path / "photo.jpg")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_there_is_something_to_run():
    assert any("import vitcore" in code for code in PYTHON), "no block shows the notebook"
    assert any("python -m vitcore" in code for code in SHELL), "no block shows the shell"
    assert any("make app" in code for _, code in BLOCK.findall(README)), "no block shows how to start"


@pytest.mark.parametrize("code", PYTHON, ids=first_line)
def test_python_blocks(code, folder):
    exec(compile(code, "README.md", "exec"), {"__name__": "__main__"})


@pytest.mark.skipif(os.name == "nt", reason="these blocks are for a POSIX shell")
@pytest.mark.parametrize("code", SHELL, ids=first_line)
def test_shell_blocks(code, folder, capsys, monkeypatch):
    monkeypatch.setattr(speed, "SECONDS", 0)  # three passes of a batch are timed all the same
    for line in filter(str.strip, code.splitlines()):
        words = shlex.split(line, comments=True)
        assert words[:3] == ["python", "-m", "vitcore"], f"a line of another kind: let this test run it with sh: {line}"
        assert main(words[3:]) == 0, (line, capsys.readouterr().err)
    assert any(folder.rglob("*.png")) or any(folder.rglob("config.json")) or "--out" not in code, "nothing was written"


def test_every_verb_is_shown():
    for verb in ("patches", "filters", "positions", "distance", "rollout", "models", "report", "compare"):
        assert any(f"python -m vitcore {verb}" in code for code in SHELL), verb


def test_files_it_points_to_are_there():
    links = {target for target in re.findall(r"\]\(([^)#\s]+)", README) if "://" not in target}
    assert len(links) >= 3
    assert [link for link in sorted(links) if not (ROOT / link).exists()] == []
