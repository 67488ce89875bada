"""Where a model is: nothing assumes the CPU. CI has no accelerator, so a device of tests/pretend_device.py stands in for one."""

import json

import numpy as np
import pytest

import vitcore
from tests.forked_python import ROOT, shell
from vitcore.models.assembly.device_and_dtype import available_devices

PASSES = """
import contextlib, json, sys, torch
torch.inference_mode = lambda on=True: torch.no_grad() if on else contextlib.nullcontext()  # views of such tensors need it
import numpy as np, vitcore
from tests.conftest import NORMALISE, timm_vit
from tests.pretend_device import PretendTensor, calls, pretend_device
from vitcore.forward import block_activations, compare_models, logit_lens, predict
from vitcore.forward.query_key import recompute_heads
from vitcore.forward.relevance import relevance
from vitcore.models import embeddings

home = vitcore.wrap(timm_vit(reg_tokens=1), name="tiny", **NORMALISE)
photo = "assets/samples/cat.jpg"

def numbers(vit):
    rec = vitcore.record(vit, photo, maps="all", fusions=("mean", "max"))
    pixels, order = rec.model_input.pixels, np.arange(vit.grid.patches)[::-1].copy()
    kept = vitcore.record(vit, photo, store="query_key")
    yield from (rec.logits, rec.distance_px, rec.fused["mean"], rec.fused["max"], rec.maps[2], rec.norms, rec.rollout())
    yield vitcore.record(vit, photo, exact=True).logits
    yield recompute_heads(kept.query_key, 1)
    for method in ("rollout", "gradient_rollout", "chefer", "integrated_gradients", "grad_cam"):
        yield relevance(vit, pixels, method, inputs="pixels", **({"steps": 2} if method == "integrated_gradients" else {})).maps
    yield logit_lens.logit_lens(vit, pixels, inputs="pixels")
    yield predict.predict(vit, pixels, order, True)
    yield predict.predict_without_positions(vit, pixels)
    yield block_activations.trace_token(vit, pixels, 1, 3).x_out
    yield block_activations.patch_embeddings(vit, pixels)
    yield block_activations.project_patch(vit, pixels, 2).embedding
    yield compare_models.record_tokens(vit, photo).tokens
    yield embeddings.patch_kernel(vit)
    yield embeddings.position_embeddings(vit)
    yield embeddings.resample_positions(vit, 2, 3)

with pretend_device():
    pass  # torch must know of the device before it first differentiates
expected = list(numbers(home))
with pretend_device() as device:
    away = home.to(device)
    assert (away.device.type, home.device.type) == (device, "cpu")
    found = list(numbers(away))
    held = all(isinstance(p, PretendTensor) for p in away.module.parameters())
    auto = vitcore.load(device="auto").device.type
print(json.dumps({
    "off": [float(np.abs(a - b).max() / max(1e-9, np.abs(a).max())) for a, b in zip(expected, found, strict=True)],
    "held": held, "auto": auto, "calls": sum(calls.values()),
}))
"""


def test_every_pass_is_made_where_the_model_is():
    done = shell("-c", PASSES, cwd=ROOT)
    assert done.returncode == 0, done.stderr[-2000:]
    said = json.loads(done.stdout.splitlines()[-1])
    assert max(said["off"]) < 1e-3, said["off"]
    assert said["held"] and said["auto"] == "pretend" and said["calls"] > 1000


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_halves_measure_almost_the_same_distances(shipped, photo, rec, dtype):
    half = vitcore.load(dtype=dtype)
    assert str(half.dtype) == f"torch.{dtype}" and half.to(dtype="fp32").dtype == shipped.dtype
    assert np.abs(vitcore.record(half, photo).distance_px - rec.distance_px).max() < 0.5


def test_without_an_accelerator_auto_is_the_cpu():
    assert vitcore.load(device="auto").device.type == available_devices()[-1]
