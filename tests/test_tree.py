"""The tree: paths that every system can have, a top level that holds only what it should, and texts read the same everywhere."""

import ast
import re
import subprocess
from collections import Counter
from pathlib import Path, PurePosixPath

import pytest

from tests.rooms import nodes, written

ROOT = Path(__file__).parent.parent
FOLDERS = {"app", "assets", "deploy", "tests", "vitcore"}
FILES = {"README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "CITATION.cff", "pyproject.toml", "Makefile"}
RESERVED = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])(\.|$)", re.I)
ILLEGAL = re.compile(r'[\x00-\x1f<>:"|?*\\]')
MOST_CHARACTERS = 120  # Windows allows 260 of a whole path; the folder that the checkout lies in takes some


@pytest.fixture(scope="module")
def paths() -> list[PurePosixPath]:
    """Every path that git keeps."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [PurePosixPath(name) for name in listed.stdout.decode().split("\0") if name]


def bad(path: PurePosixPath) -> bool:
    """Whether Windows, or a file system that does not tell cases apart, could not have it."""
    parts = path.parts
    illegal = any(ILLEGAL.search(part) or RESERVED.match(part) or part[-1] in ". " or part[0] == " " for part in parts)
    return illegal or len(str(path)) > MOST_CHARACTERS


@pytest.mark.parametrize(
    "name", ["a:b", "a?", "x/con", "x/Aux.txt", "com1", "x./y", "x /y", 'a"b', "a|b", "a\\b", "a\tb", " a", "d/" * 70 + "e"]
)
def test_what_windows_can_not_have_is_seen(name):
    assert bad(PurePosixPath(name))


def test_every_path_is_legal_everywhere_and_no_two_differ_only_in_case(paths):
    """Folders, too: on macOS and Windows `App/` and `app/` are one. Where links need a right, git leaves a text in their place."""
    assert len(paths) > 200
    assert [str(path) for path in paths if bad(path) or (ROOT / path).is_symlink()] == []
    every = {str(place) for path in paths for place in (path, *path.parents)}
    folded = Counter(name.casefold() for name in every)
    assert [name for name in sorted(every) if folded[name.casefold()] > 1] == []


def test_the_top_level_holds_what_it_should(paths):
    folders = {path.parts[0] for path in paths if len(path.parts) > 1}
    files = {path.name for path in paths if len(path.parts) == 1}
    assert {name for name in folders if not name.startswith(".")} == FOLDERS
    extra = {name for name in files - FILES if not name.startswith(".")}
    assert FILES <= files and [name for name in extra if not re.fullmatch(r"requirements[\w-]*\.txt", name)] == []


OURS = [file for package in ("app", "tests/shipping", "vitcore") for file in sorted((ROOT / package).rglob("*.py"))]


def unsaid(path: Path) -> list[str]:
    """Calls that open a text and leave its encoding to the system."""
    return [ast.unparse(n) for n in nodes(path) if isinstance(n, ast.Call) and _unsaid(n)]


def _unsaid(call: ast.Call) -> bool:
    said = {keyword.arg for keyword in call.keywords}
    if "encoding" in said:
        return False
    called = written(call.func)
    if called.endswith((".read_text", ".write_text")):
        return True
    if called in ("subprocess.run", "Popen", "subprocess.Popen", "check_output", "subprocess.check_output"):
        return bool(said & {"text", "universal_newlines"})
    mode = next((k.value for k in call.keywords if k.arg == "mode"), None)
    if called.endswith(".open"):  # of a path; `photos.open(i)` and `Image.open(file)` open pictures
        mode = mode or (call.args[0] if call.args else ast.Constant("r"))
        return isinstance(mode, ast.Constant) and isinstance(mode.value, str) and bool(re.fullmatch(r"[rwax+t]+", mode.value))
    if called == "open":
        mode = mode or (call.args[1] if len(call.args) > 1 else ast.Constant("r"))
        return "b" not in ast.unparse(mode)
    return False


def test_texts_are_read_as_utf_8_on_every_system_and_no_pickle_is_trusted(tmp_path):
    source = tmp_path / "source.py"
    source.write_text("torch.load(f)\ntorch.load(f, weights_only=True)\nnp.load(f, allow_pickle=True)\nopen(f)\nopen(f, 'rb')")
    assert trusting(source) == ["torch.load(f)", "np.load(f, allow_pickle=True)"] and unsaid(source) == ["open(f)"]
    assert len(OURS) > 100
    assert {str(path): found for path in OURS if (found := unsaid(path) + trusting(path))} == {}


def trusting(path: Path) -> list[str]:
    """Calls that run what a file says: `torch.load` and its like, unless they are told not to."""
    calls = [n for n in nodes(path) if isinstance(n, ast.Call)]
    loads = [n for n in calls if written(n.func).endswith(("torch.load", "pickle.load", "pickle.loads", "joblib.load"))]
    safe = [n for n in loads if any(k.arg == "weights_only" and written(k.value) == "True" for k in n.keywords)]
    pickled = [n for n in calls if any(k.arg == "allow_pickle" and written(k.value) == "True" for k in n.keywords)]
    return [ast.unparse(n) for n in loads + pickled if n not in safe]
