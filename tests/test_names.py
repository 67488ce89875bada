"""Names: one meaning a package, none too short to be searched for, and the words that matter in one table of CONTRIBUTING."""

import ast
import re
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

from tests.rooms import nodes, tree

ROOT = Path(__file__).parent.parent
FILES = [file for package in ("app", "tests/shipping", "vitcore") for file in sorted((ROOT / package).rglob("*.py"))]
ROW = re.compile(r"^\| ([a-z ]+) \| [^|]+ \| [^|]+ \|$", re.MULTILINE)
MOST_WORDS, LEAST_LETTERS = 40, 3
PROTOCOL = {"FORMAT", "RULES", "FilmCallback", "METRIC_NAMES"}  # what each checkpoint format, or each callback, has of its own
UNITS = {"GB"}
TYPED = {"masked_patches_paper"}  # a preset, which people type


@cache
def public(file: Path) -> list[tuple[str, str]]:
    """The public names a file defines, each with what tells its meaning: kind, parameters, or the value of a constant."""
    found = []
    for node in tree(file).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            parameters = [a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
            found.append((node.name, f"function of {', '.join(parameters)}"))
        elif isinstance(node, ast.ClassDef):
            found.append((node.name, f"class of {', '.join(map(ast.unparse, node.bases))}"))
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found += [(one.id, ast.unparse(node.value)) for one in targets if isinstance(one, ast.Name)]
    types = ("TypeVar(", "ParamSpec(")
    return [(name, meaning) for name, meaning in found if not name.startswith("_") and not meaning.startswith(types)]


def two_meanings(files: list[Path]) -> dict[str, list[str]]:
    """Names that the files define more than once, with other parameters or another value."""
    meanings, places = defaultdict(set), defaultdict(list)
    for file in files:
        for name, meaning in public(file):
            meanings[name].add(meaning)
            places[name].append(file.name)
    return {name: places[name] for name in meanings if len(meanings[name]) > 1 and name not in PROTOCOL}


def test_a_name_has_one_meaning_in_its_package():
    packages = {file.parent: [] for file in FILES}
    for file in FILES:
        packages[file.parent].append(file)
    assert {str(package): found for package, files in packages.items() if (found := two_meanings(files))} == {}


def test_the_test_of_meanings_sees_two(tmp_path):
    for name, source in (("a", "def crop(photo): ...\nSIDE = 3\nRULES = 1"), ("b", "def crop(box): ...\nSIDE = 4\nRULES = 1")):
        (tmp_path / f"{name}.py").write_text(source, encoding="utf-8")
    assert set(two_meanings(sorted(tmp_path.glob("*.py")))) == {"crop", "SIDE"}


def test_no_public_name_is_too_short_to_be_searched_for():
    names = {(file, name) for file in FILES for name, _ in public(file) if name not in UNITS}
    assert {f"{file.relative_to(ROOT)}: {name}" for file, name in names if len(name) < LEAST_LETTERS} == set()


def test_the_words_of_this_house_are_in_use():
    table = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Words of this house")[2].partition("\n## ")[0]
    words = [word for word in ROW.findall(table) if word != "word"]
    assert 30 <= len(words) <= MOST_WORDS and len(set(words)) == len(words)
    names = {name.casefold().replace("_", "") for file in FILES for name in (file.stem, *(name for name, _ in public(file)))}
    names |= {parameter.arg.replace("_", "") for file in FILES for parameter in nodes(file) if isinstance(parameter, ast.arg)}
    assert [word for word in words if not any(word.replace(" ", "") in name for name in names)] == []


def used_by_its_own_file_alone(files: list[Path], readers: list[Path]) -> dict[str, list[str]]:
    """Public functions of the files, without a decorator, that no other of the readers names."""
    words = {file: set(re.findall(r"\w{3,}", file.read_text(encoding="utf-8"))) for file in {*files, *readers}}
    users = Counter(word for found in words.values() for word in found)
    functions = ast.FunctionDef | ast.AsyncFunctionDef

    def is_own(node: ast.AST) -> bool:
        if not isinstance(node, functions) or node.name.startswith("_") or node.name in TYPED:
            return False
        return not node.decorator_list and users[node.name] == 1

    own = {str(file): [node.name for node in tree(file).body if is_own(node)] for file in files}
    return {file: names for file, names in own.items() if names}


def test_a_function_of_one_file_is_private():
    kinds = ("*.py", "*.ipynb", "*.md", "*.toml", "*.js")
    readers = [*(file for kind in kinds for file in ROOT.glob(kind)), *FILES]
    readers += [file for folder in ("assets", "deploy", "tests") for kind in kinds for file in (ROOT / folder).rglob(kind)]
    readers = [file for file in readers if "node_modules" not in file.parts]
    assert used_by_its_own_file_alone([file for file in FILES if "shipping" not in file.parts], readers) == {}


def test_the_test_of_private_functions_sees_one(tmp_path):
    for name, source in (
        ("aaa", "def crop(photo): ...\ndef cut(photo): ..."),
        ("bbb", "from aaa import crop"),
        ("ccc", "def _cut(): ..."),
    ):
        (tmp_path / f"{name}.py").write_text(source, encoding="utf-8")
    files = sorted(tmp_path.glob("*.py"))
    assert used_by_its_own_file_alone(files, files) == {str(files[0]): ["cut"]}
