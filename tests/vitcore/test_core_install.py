"""What `pip install inside-vit` alone gives: vitcore and its verbs without the app's packages and those of a training.

And its first import: beside any torch, nothing loaded by it, and no thread in another's way.
"""

import json
import subprocess
import sys
import tomllib

from tests.conftest import ROOT

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
NAMES = {name.partition(">")[0] for names in EXTRAS.values() for name in names if "[" not in name}
ABSENT = sorted(NAMES - {"click"})  # the hub's client has click

ALONE = """
import _imp, contextlib, io, json, sys, threading
from importlib.machinery import PathFinder

class Finder(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in ABSENT else super().find_spec(name, path, target)

ABSENT = set(json.loads(sys.argv[1]))
sys.meta_path[sys.meta_path.index(PathFinder)] = Finder
import vitcore
from vitcore.models import torchvision_ops

told = {"heavy": "torch" in sys.modules, "locked": [], "began": []}

def declare(declared=torchvision_ops.declare_torchvision_ops):
    told["locked"].append(_imp.lock_held())
    declared()

def begin(name):
    __import__(name)
    told["began"].append(name)

torchvision_ops.declare_torchvision_ops = declare
threads = [threading.Thread(target=begin, args=[name]) for name in sys.argv[3:]]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
import timm, torch
told["timm"] = [hasattr(torch.ops.torchvision, "nms"), timm.is_model("vit_tiny_patch16_224")]
from vitcore.__main__ import main

photo = "assets/samples/cat.jpg"
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


PARTS = [
    "vitcore.architectures.axial_vit",
    "vitcore.train.learning.model_from_recipe",
    "vitcore.train.learning.optimiser_and_weight_average",
]


def test_the_library_and_its_verbs_work_without_the_extras(tmp_path):
    """Nor do visitors who come together hinder each other: each thread begins with another part of timm.

    While torch is loaded other threads can import: they need the lock that Python holds while a module is looked for.
    """
    command = [sys.executable, "-c", ALONE, json.dumps(ABSENT), str(tmp_path), *PARTS]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert told.pop("heavy") is False, "`import vitcore` loads nothing heavy"
    assert sorted(told.pop("began")) == PARTS and set(told.pop("locked")) == {False} and told.pop("timm") == [True, True]
    assert [told.pop(verb) for verb in ("rollout", "relevance", "models")] == [[0, ""]] * 3
    assert (tmp_path / "rollout.png").stat().st_size > 10_000 and told.pop("loaded") == []
    assert told == {
        "to_plotly": ["ImportError", "plotly is not installed: pip install inside-vit[app]."],
        "evaluate": [2, "vitcore: pyarrow is not installed: pip install inside-vit[train].\n"],
        "train": [2, "vitcore: accelerate is not installed: pip install inside-vit[train].\n"],
        "completion": [2, "vitcore: completion needs the package shtab: pip install inside-vit[completion].\n"],
        "inside-vit": "inside-vit: plotly is not installed: pip install inside-vit[app].",
    }


def test_declaring_twice_does_nothing_and_what_is_declared_is_what_torchvision_asks_for():
    import torch

    from vitcore.models import torchvision_ops

    torchvision_ops.declare_torchvision_ops()
    before = len(torchvision_ops._declared)
    torchvision_ops.declare_torchvision_ops()
    assert len(torchvision_ops._declared) == before
    for name, schema in torchvision_ops.SCHEMAS.items():
        assert schema.startswith(f"{name}(") and hasattr(torch.ops.torchvision, name)
