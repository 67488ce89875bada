"""That tests/pretend_device.py sees what it is for: with one `.to` of vitcore taken away, a pass on that device fails."""

import json

import pytest

from tests.conftest import ROOT
from tests.forked_python import shell
from vitcore.__main__ import main

TAKEN_AWAY = """
import contextlib, inspect, json, textwrap, torch
torch.inference_mode = lambda on=True: torch.no_grad() if on else contextlib.nullcontext()
import numpy as np, vitcore
from tests.conftest import NORMALISE, timm_vit
from tests.pretend_device import pretend_device
from vitcore.faithfulness import covered_patches
from vitcore.forward import block_attention, recording
from vitcore.forward import relevance as relevances

home = vitcore.wrap(timm_vit(), name="tiny", **NORMALISE)
photo = "assets/samples/cat.jpg"
pixels = vitcore.record(home, photo).model_input.pixels
black = {"baseline": "black", "steps": 1}
masks = [np.arange(home.grid.patches) == 3]
CASES = {
    "a photo's pixels": (recording.to_model_input, "to(vit.weight)", lambda vit: vitcore.record(vit, photo)),
    "distances": (inspect.unwrap(block_attention._far_and_ones), "to(device)", lambda vit: vitcore.record(vit, photo)),
    "a baseline": (relevances._plain, "to(x.device, x.dtype)",
                   lambda vit: relevances.relevance(vit, photo, "integrated_gradients", **black)),
    "patches that stay": (inspect.unwrap(covered_patches._answers_without_tokens), "to(vit.device)",
                          lambda vit: covered_patches._answers_without_tokens(vit, pixels, masks, 1, covered_patches.no_progress)),
}

def without(function, taken):
    source = textwrap.dedent(inspect.getsource(function))
    assert source.count(f".{taken}") == 1, "it is no longer there to be taken away"
    lines = [line for line in source.replace(f".{taken}", "").splitlines() if not line.startswith("@")]
    exec(chr(10).join(["from __future__ import annotations", *lines]), vars(inspect.getmodule(function)), made := {})
    return made[function.__name__].__code__

with pretend_device():
    pass
told = {}
with pretend_device() as device:
    away = home.to(device)
    for name, (function, taken, run) in CASES.items():
        block_attention._far_and_ones.cache_clear()
        run(away)
        whole, function.__code__ = function.__code__, without(function, taken)
        block_attention._far_and_ones.cache_clear()
        try:
            run(away)
            told[name] = "nothing"
        except RuntimeError as error:
            told[name] = str(error)
        function.__code__ = whole
print(json.dumps(told))
"""


def test_a_missing_to_is_caught():
    done = shell("-c", TAKEN_AWAY, cwd=ROOT)
    assert done.returncode == 0, done.stderr[-2000:]
    for name, said in json.loads(done.stdout.splitlines()[-1]).items():
        assert "on the same device" in said, (name, said)


@pytest.mark.parametrize(("flags", "words"), [
    (["--device", "abacus"], "'abacus' is not a device of this machine"), (["--device", "meta"], "is not a device"),
    (["--dtype", "int8"], "not in int8"),
])  # fmt: skip
def test_a_device_that_there_is_not_is_a_sentence(flags, words, capsys):
    assert main(["positions", "--json", *flags]) == 2
    said = capsys.readouterr()
    assert words in said.err and said.out == "" and said.err.count("\n") == 1


def test_verbs_compute_where_and_in_what_they_are_told(capsys, make_vit, monkeypatch):
    from vitcore.models import load_model

    asked = []
    monkeypatch.setattr(load_model, "load", lambda *_, **given: asked.append((given["device"], given["dtype"])) or make_vit())
    photo = str(ROOT / "assets/samples/cat.jpg")
    for verb in (["rollout", photo], ["distance", photo], ["positions"], ["relevance", photo], ["attention", photo],
                 ["compare", "a", "b", photo]):  # fmt: skip
        assert main([*verb, "--device", "auto", "--dtype", "bf16", "--json"]) == 0, capsys.readouterr().err
    assert asked == [("auto", "bf16")] * 7
