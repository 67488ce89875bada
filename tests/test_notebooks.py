"""The notebooks run from the first cell to the last, and the API reference names everything public."""

import ast
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import vitcore
from vitcore import figures

ROOT = Path(__file__).parent.parent
REFERENCE = ROOT / "assets" / "reference"
NOTEBOOKS = sorted((ROOT / "assets" / "notebooks").glob("*.ipynb"))
PAGES = {path.stem: path.read_text(encoding="utf-8") for path in REFERENCE.glob("*.md")}


def code_cells(path: Path) -> list[dict]:
    return [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]


def run_cell(source: str, names: dict) -> object:
    """Run a cell as Jupyter does; the value of its last line, if that is an expression."""
    body = ast.parse(source).body
    shown = body.pop() if isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), "cell", "exec"), names)
    return eval(compile(ast.Expression(shown.value), "cell", "eval"), names) if isinstance(shown, ast.Expr) else None


@pytest.mark.filterwarnings("ignore::vitcore.models.checkpoint_inspection.assumed_answers.AssumedAnswersWarning")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_something(path, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("MPLBACKEND", "Agg")
    names: dict = {"__name__": "__main__"}
    shown = [run_cell("".join(cell["source"]), names) for cell in code_cells(path)]
    drawings = [value for value in shown if isinstance(value, figures.Drawing)]
    assert all(drawing.to_plotly().data for drawing in drawings)
    assert [text for value in shown if (text := repr(value)) and len(text) > 2000] == [], "nobody reads that"
    assert any(value is not None for value in shown) and (drawings or capsys.readouterr().out)


def test_notebooks_are_kept_without_what_a_run_left_and_are_all_in_the_reference():
    assert len(NOTEBOOKS) >= 6
    left = [path.name for path in NOTEBOOKS for cell in code_cells(path) if cell["outputs"] or cell["execution_count"]]
    assert left == []
    assert set(re.findall(r"\.\./notebooks/(\w+)", PAGES["index"])) == {path.stem for path in NOTEBOOKS}


def test_the_reference_has_every_page_and_every_module_of_analysis():
    assert set(re.findall(r"^(\w+)$", PAGES["index"], re.M)) == PAGES.keys() - {"index"}
    modules = {f"vitcore.analysis.{path.stem}" for path in (ROOT / "vitcore/analysis").glob("[!_]*")}
    assert modules == set(re.findall(r"automodule:: (vitcore\.analysis\.\w+)", PAGES["analysis"]))


@pytest.mark.parametrize("module", [vitcore, figures], ids=lambda module: module.__name__)
def test_every_public_name_says_what_it_does(module):
    public = {name: getattr(module, name) for name in module.__all__}
    assert [name for name, thing in public.items() if len((inspect.getdoc(thing) or "").split()) < 4] == []


@pytest.mark.slow
def test_the_reference_is_built_without_a_warning(tmp_path):
    pytest.importorskip("myst_nb", reason="make reference installs it")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-c", str(REFERENCE), str(ROOT / "assets"), str(tmp_path / "pages")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "pages" / "reference" / "api.html").read_text(encoding="utf-8")
    assert [name for name in vitcore.__all__ if name not in ("analysis", "figures") and f'id="vitcore.{name}"' not in page] == []
