"""Settings of every harmless kind beside the weights, TorchScript, bfloat16 of JAX: tensors are read, nothing is run."""

import argparse
import collections
import datetime
import pathlib
import pickle
import zipfile

import numpy as np
import pytest
import torch

from tests.checkpoints import same_answers, to_google
from tests.conftest import timm_vit
from vitcore.models import load_model


class Settings:
    """A class of somebody's own."""

    def __init__(self):
        self.rate = 1


class Attributes(dict):
    """As Lightning's hyper-parameters are."""


class NumpyOne:
    """A NumPy scalar as NumPy 1 pickled it."""

    def __reduce__(self):
        return np.float64(0.5).__reduce__()


HARMLESS = {
    "namespace": argparse.Namespace(rate=0.1, where=pathlib.Path("x")), "scalar": np.float64(0.5), "array": np.arange(5),
    "paths": [pathlib.PurePosixPath("a"), pathlib.PureWindowsPath("c:/x")], "date": datetime.datetime(2024, 1, 2, 3, 4),
    "zone": datetime.UTC, "defaults": collections.defaultdict(list, {"a": [1]}), "sets": [{1}, frozenset([2])],
    "own class": Settings(), "own dict": Attributes(rate=1), "a class": torch.nn.GELU, "a function": torch.nn.functional.gelu,
    "torch's": [torch.device("cpu"), torch.float16, torch.Size([1])], "bytes": [b"a", bytearray(b"b"), 1j, 10**50],
    "random state": np.random.RandomState(0).get_state(), "counter": collections.Counter("ab"), "old scalar": NumpyOne(),
}  # fmt: skip


@pytest.fixture(scope="module")
def module():
    return timm_vit(embed_dim=64, num_heads=1, depth=1)


@pytest.mark.parametrize("old", [False, True])
def test_harmless_settings_beside_the_weights(old, module, tmp_path, subtests):
    for kind, value in HARMLESS.items():
        with subtests.test(kind):
            held = {"state_dict": module.state_dict(), "hyper_parameters": {"x": value}, "epoch": 3}
            torch.save(held, tmp_path / "a.ckpt", _use_new_zipfile_serialization=not old)
            tree = load_model.inspect(tmp_path / "a.ckpt")
            assert tree.parts == ("state_dict",) and not tree.problems
    same_answers(load_model.load(tmp_path / "a.ckpt"), module)


NAMES = ["numpy.core.multiarray scalar", "pathlib._local WindowsPath", "omegaconf.dictconfig DictConfig", "pathlib PosixPath"]
CALLS = ["os system", "builtins exec", "builtins getattr", "pathlib Path.touch", "numpy.testing runstring", "subprocess Popen",
         "torch.hub load", "builtins __import__", "functools reduce", "runpy run_path"]  # fmt: skip


@pytest.mark.parametrize("name", [*NAMES, *CALLS])
def test_what_a_pickle_calls(name, module, tmp_path):
    """By names that need not be installed here: what is harmless is passed over, all else refused by its name."""
    torch.save({"model": module.state_dict()}, tmp_path / "a.pth")
    call = b"c" + name.replace(" ", "\n").encode() + b"\n(X\x01\x00\x00\x00at\x52"
    with zipfile.ZipFile(tmp_path / "a.pth") as old, zipfile.ZipFile(tmp_path / "b.pth", "w") as new:
        for entry in old.infolist():
            data = old.read(entry)
            if entry.filename.endswith("data.pkl"):
                data = data[:-1] + b"X\x01\x00\x00\x00z" + call + b"s."
            new.writestr(entry.filename, data)
    if name in NAMES:
        same_answers(load_model.load(tmp_path / "b.pth"), module)
    else:
        with pytest.raises(load_model.ModelError, match=r"without running code in it .*" + name.replace(" ", ".")):
            load_model.load(tmp_path / "b.pth")


def test_a_program_of_torchscript_is_read_and_not_run(module, tmp_path, monkeypatch):
    traced = torch.jit.trace(module, torch.zeros(1, 3, 32, 32))
    traced.save(str(tmp_path / "a.pt"))
    monkeypatch.setattr(torch.jit, "load", lambda *_, **__: pytest.fail("it is run"))
    same_answers(load_model.load(tmp_path / "a.pt"), module)


def test_clips_program_with_half_precision(tmp_path):
    transformer = pytest.importorskip("open_clip.transformer")

    class Clip(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.visual = transformer.VisionTransformer(32, 8, 128, 2, 2, 4.0, output_dim=24)
            self.logit_scale = torch.nn.Parameter(torch.ones(()))

        def forward(self, x):
            return self.visual(x) * self.logit_scale

    clip = Clip().eval()
    traced = torch.jit.trace(clip, torch.zeros(1, 3, 32, 32), check_trace=False)
    traced.half().save(str(tmp_path / "a.pt"))
    vit, x = load_model.load(tmp_path / "a.pt"), torch.randn(1, 3, 32, 32)
    with torch.inference_mode():
        assert vit.output == "features" and torch.allclose(vit.module(x), clip.half().float().visual(x), rtol=0, atol=1e-4)


def test_bfloat16_of_jax_and_arrays_that_are_no_numbers(module, tmp_path):
    to_google(module, tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz") as held:
        arrays = {n: torch.from_numpy(held[n]).bfloat16().view(torch.int16).numpy().view("V2") for n in held}
    np.savez(tmp_path / "b.npz", **arrays)
    vit = load_model.load(tmp_path / "b.npz")
    assert torch.equal(vit.module.head.weight, module.head.weight.bfloat16().float())
    np.savez(tmp_path / "c.npz", **{n: a.view("V1") if "embedding/kernel" in n else a for n, a in arrays.items()})
    with pytest.raises(load_model.ModelError, match="without plain values"):
        load_model.load(tmp_path / "c.npz")


def test_values_of_other_bytes_than_were_saved_are_not_taken(module, tmp_path):
    torch.save(module.state_dict(), tmp_path / "a.pth")
    data = bytearray((tmp_path / "a.pth").read_bytes())
    with zipfile.ZipFile(tmp_path / "a.pth") as archive:
        entry = max(archive.infolist(), key=lambda e: e.file_size)
    data[entry.header_offset + 200] ^= 1
    (tmp_path / "b.pth").write_bytes(data)
    with pytest.raises(load_model.ModelError, match="CRC"):
        load_model.load(tmp_path / "b.pth")


def test_int8_sparse_and_plain_pickles_are_named(module, tmp_path):
    state = module.state_dict()
    name = "blocks.0.mlp.fc1.weight"
    for held, said in (
        ({**state, name: state[name].to(torch.int8)}, "as int8, as quantised"),
        ({**state, name: state[name].to(torch.float8_e4m3fn), f"{name}_scale": torch.ones(())}, "as float8_e4m3fn, as quantised"),
        ({**state, name: state[name].to_sparse()}, "as a sparse tensor: save what to_dense"),
        ({**state, name: torch.empty(256, 64, device="meta")}, "without values, on torch's meta device"),
    ):  # fmt: skip
        torch.save(held, tmp_path / "a.pth")
        with pytest.raises(load_model.ModelError, match=said):
            load_model.load(tmp_path / "a.pth")
    (tmp_path / "b.pth").write_bytes(pickle.dumps({"a": 1}, 2))
    with pytest.raises(load_model.ModelError, match="did not write"):
        load_model.load(tmp_path / "b.pth")
    texts = {"version https://git-lfs.github.com/spec/v1\noid": "Git LFS", "<!DOCTYPE html><html>": "web page"}
    for text, said in texts.items():
        (tmp_path / "c.safetensors").write_text(text)
        with pytest.raises(load_model.ModelError, match=said):
            load_model.load(tmp_path / "c.safetensors")


def test_a_safetensors_header_that_begins_as_a_pickle_does(module, tmp_path):
    """One file in thirty-two: the length of its header ends in 0x80."""
    from safetensors.torch import save

    for words in range(600):
        data = save(module.state_dict(), {"note": "x" * words})
        if data[0] == 0x80:
            break
    assert data[0] == 0x80
    (tmp_path / "a.safetensors").write_bytes(data)
    same_answers(load_model.load(tmp_path / "a.safetensors"), module)
