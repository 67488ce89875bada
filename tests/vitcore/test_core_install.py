"""What `pip install inside-vit` alone gives: vitcore and its verbs without the app's packages and those of a training."""

import json
import subprocess
import sys
import tomllib

from tests.conftest import ROOT

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
NAMES = {name.partition(">")[0] for names in EXTRAS.values() for name in names if "[" not in name}
ABSENT = sorted(NAMES - {"click"})  # the hub's client has click

ALONE = """
import contextlib, io, json, sys
from importlib.machinery import PathFinder

class Finder(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in ABSENT else super().find_spec(name, path, target)

ABSENT = set(json.loads(sys.argv[1]))
sys.meta_path[sys.meta_path.index(PathFinder)] = Finder
import vitcore
from vitcore.cli.commands import main

photo, told = "assets/samples/cat.jpg", {}
rec = vitcore.record(vitcore.load(), photo)
fig = vitcore.figures.rollout(rec.rollout(), rec.model_input.pixels, rec.grid)
fig.write_image(sys.argv[2] + "/rollout.png")
try:
    fig.to_plotly()
except ImportError as error:
    told["to_plotly"] = [type(error).__name__, str(error)]
for verb in (["rollout", photo], ["relevance", photo], ["models"], ["evaluate", "--data", "samples"],
             ["train", "image_folder_tiny", "--data", "samples"], ["completion", "bash"]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        given = [*verb, "--json"] if verb[0] in ("rollout", "relevance", "models") else verb
        told[verb[0]] = [main(given), err.getvalue()]
try:
    from app.start import main as start
    start([])
except SystemExit as error:
    told["inside-vit"] = str(error)
told["loaded"] = sorted(ABSENT & {name.partition(".")[0] for name in sys.modules})
print(json.dumps(told))
"""


def test_the_library_and_its_verbs_work_without_the_extras(tmp_path):
    command = [sys.executable, "-c", ALONE, json.dumps(ABSENT), str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert [told.pop(verb) for verb in ("rollout", "relevance", "models")] == [[0, ""]] * 3
    assert (tmp_path / "rollout.png").stat().st_size > 10_000 and told.pop("loaded") == []
    assert told == {
        "to_plotly": ["ImportError", "plotly is not installed: pip install inside-vit[app]."],
        "evaluate": [2, "vitcore: pyarrow is not installed: pip install inside-vit[train].\n"],
        "train": [2, "vitcore: accelerate is not installed: pip install inside-vit[train].\n"],
        "completion": [2, "vitcore: completion needs the package shtab: pip install inside-vit[completion].\n"],
        "inside-vit": "inside-vit: plotly is not installed: pip install inside-vit[app].",
    }
