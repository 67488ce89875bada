"""The device that models of the app run on: pages compute there, the control is for one's own server, errors are sentences."""

import json

import pytest
import torch
from visitor import App

from app.state.memory import memory_cache
from app.state.models import model_device
from tests.conftest import ROOT
from tests.forked_python import shell

# A device that only pretends to be one, in a process of its own: torch never forgets a device.
ON_AN_ACCELERATOR = """
import json, sys, torch
sys.path.insert(0, "tests/app")
from streamlit.testing.v1 import local_script_runner
from visitor import App
import vitcore
from app.state.memory import cached_value_size
from app.state.models import loaded_models, model_device
from tests import pretend_device
from tests.conftest import NORMALISE, timm_vit
from vitcore.interventions import activations  # before inference mode is another
from vitcore.models import load_model
from vitcore.models.model_cards import DEFAULT_MODEL

ADDRESSES = {"rollout": {"method": "Grad-CAM", "fusion": "max"}, "switch": {"off": "positions-L1.mlp-L0H0"}}
run, buffer = local_script_runner.LocalScriptRunner._run_script_thread, cached_value_size._buffer

def run_on_device(runner):
    with pretend_device._Factories():
        run(runner)

local_script_runner.LocalScriptRunner._run_script_thread = run_on_device
cached_value_size._buffer = lambda one: buffer(getattr(one, "held", one))
torch.inference_mode = lambda on=True: torch.set_grad_enabled(not on)
small = vitcore.wrap(timm_vit(), name=DEFAULT_MODEL, **NORMALISE)
load_model.load = lambda name, **_: small
told = {}
with pretend_device.pretend_device() as device:
    home = loaded_models.loaded_model(DEFAULT_MODEL)
    told["at first"] = home.device.type
    model_device.choose_device(device)
    away = loaded_models.loaded_model(DEFAULT_MODEL)
    told["chosen"] = away.device.type
    for slug, address in ADDRESSES.items():
        before = sum(pretend_device.calls.values())
        app = App(slug, **address).fine()
        told[slug] = sum(pretend_device.calls.values()) - before, app.text("error", "warning"), app.values()["device"]
    logits = [vitcore.record(vit, "assets/samples/cat.jpg").logits for vit in (home, away)]
    told["difference"] = float(abs(logits[0] - logits[1]).max())
    model_device.choose_device("cpu")
    told["again"] = loaded_models.loaded_model(DEFAULT_MODEL).device.type
print(json.dumps(told))
"""


def test_pages_compute_on_the_chosen_device_and_answer_as_on_the_cpu():
    done = shell("-c", ON_AN_ACCELERATOR, cwd=ROOT)
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert (told.pop("at first"), told.pop("chosen"), told.pop("again")) == ("cpu", "pretend", "cpu")
    assert told.pop("difference") < 1e-4
    for slug, (operations, problems, shown) in told.items():
        assert operations > 20, f"{slug} computed nothing on the device"
        assert not problems and shown == "pretend", (slug, problems)


def test_one_device_needs_no_choice_and_strangers_have_none(monkeypatch):
    assert "device" not in App("overview").fine().controls
    monkeypatch.setattr(model_device, "available_devices", lambda: ("cpu", "cuda"))
    chosen = []
    with monkeypatch.context() as patch:
        patch.setattr(model_device, "choose_device", chosen.append)
        assert App("overview").fine().set(device="cuda").fine().values()["device"] == "cuda" and chosen == ["cuda"]
    monkeypatch.setenv("INSIDE_VIT_PUBLIC", "1")
    assert "device" not in App("overview").fine().controls
    model_device.choose_device("meta")
    assert model_device.current_device() == "cpu", "nothing is chosen there, not even what would be refused"


@pytest.mark.parametrize("error", [torch.OutOfMemoryError("CUDA out of memory."), RuntimeError("MPS backend out of memory (…)")])
def test_no_room_on_the_device_is_known_as_no_room(error):
    def fail():
        raise error

    with pytest.raises(memory_cache.MemoryBudgetError):
        memory_cache.MemoryCache().get(("something",), fail)


def test_a_device_that_there_is_not_ends_the_start_in_a_sentence(monkeypatch):
    monkeypatch.setenv("INSIDE_VIT_DEVICE", "abacus")
    with pytest.raises(SystemExit, match=r"^INSIDE_VIT_DEVICE: 'abacus' is not a device of this machine, which has cpu"):
        model_device.check_device_setting()
    assert "model_device.check_device_setting()" in (ROOT / "app/main.py").read_text()
    monkeypatch.setenv("INSIDE_VIT_DEVICE", "auto")
    assert model_device.current_device() in model_device.available_devices()
