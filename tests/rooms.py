"""The drawing of the rooms in CONTRIBUTING.md, made from the imports: `python tests/rooms.py` writes it anew, a test compares.

A room is a folder of `app/` or `vitcore/`; the files of a package's own folder are one room, its entry points another. An arrow
goes from a room to those it stands on; where a longer way says the same, the short one is left out. `vitcore/__init__.py`, which
only hands names on, is not drawn.
"""

import ast
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import networkx as nx

ROOT = Path(__file__).parent.parent
TEXT = ROOT / "CONTRIBUTING.md"
BLOCK = re.compile(r"```mermaid\n.*?```\n", re.DOTALL)
ENTRIES = {"app/main.py", "app/start.py", "vitcore/__main__.py"}


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """All that a file's tree holds: to walk through every file takes a second, and dozens of tests look."""
    return tuple(ast.walk(tree(path)))


@cache
def written(node: ast.AST) -> str:
    """A node's source. Tests ask for that of every call there is: of a dotted name what is not a name stands as "…"."""
    parts, first = [], node
    while isinstance(first, ast.Attribute):
        parts.append(first.attr)
        first = first.value
    if not parts:
        return ast.unparse(node)
    return ".".join([first.id if isinstance(first, ast.Name) else "…", *reversed(parts)])


@cache
def imports(path: Path, early: bool = False, at_run_time: bool = False) -> frozenset[str]:
    """Dotted names a file imports, `vitcore.grid` for both of its spellings.

    `early`: only on the way in; `at_run_time`: in functions too, but not for annotations.
    """
    found, skipped = set(), set()
    for node in nodes(path) if early or at_run_time else ():
        if early and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            skipped |= set(ast.walk(node))
        if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            skipped |= {part for statement in node.body for part in ast.walk(statement)}
    for node in nodes(path):
        if node in skipped:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: relative imports hide what is imported"
            whole = (ROOT / node.module.replace(".", "/")).is_dir()
            found |= {f"{node.module}.{alias.name}" for alias in node.names} if whole else {node.module}
    return frozenset(found)


def room(file: Path) -> str:
    """The room of a file: `app/views`, `vitcore/train/data`, `vitcore` for what lies in the package's own folder."""
    path = file.relative_to(ROOT)
    if path.as_posix() in ENTRIES:
        return f"{path.parts[0]}: entry"
    deep = 3 if path.parts[:2] == ("vitcore", "train") else 2
    return "/".join(path.parent.parts[:deep])


def plan() -> "nx.DiGraph":
    """Rooms, and an arrow from each to the rooms it imports."""
    import networkx as nx

    files = [file for package in ("app", "vitcore") for file in sorted((ROOT / package).rglob("*.py"))]
    files.remove(ROOT / "vitcore" / "__init__.py")
    modules = {".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file for file in files}
    graph = nx.DiGraph()
    for file in files:
        others = {room(modules[name]) for name in imports(file) if name in modules}
        graph.add_edges_from((room(file), other) for other in others - {room(file)})
    return graph


def drawing(graph: "nx.DiGraph") -> str:
    """The plan as mermaid draws it, from the top down. Raises: networkx.NetworkXError, where rooms stand on each other."""
    import networkx as nx

    arrows = sorted(nx.transitive_reduction(graph).edges)
    called = {name: f"r{i}" for i, name in enumerate(sorted(graph))}
    lines = [f'  {code}["{name}"]' for name, code in called.items()]
    return "\n".join(["```mermaid", "flowchart TD", *lines, *(f"  {called[a]} --> {called[b]}" for a, b in arrows), "```", ""])


if __name__ == "__main__":
    TEXT.write_text(BLOCK.sub(lambda _: drawing(plan()), TEXT.read_text(encoding="utf-8")), encoding="utf-8")
