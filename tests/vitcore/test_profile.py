"""Profiles: the operations torch counts, rates that are rates, the largest batch that brute force finds, and one sentence else."""

import json
import sys

import pytest
import torch
from safetensors.torch import save_file
from torch.utils.flop_counter import FlopCounterMode

from tests.conftest import timm_vit
from tests.forked_python import run_forked, shell
from tests.model_files import model_file
from vitcore.__main__ import main
from vitcore.models.model_cards import DEFAULT_MODEL, ModelError
from vitcore.profiling import largest_batch, process_memory, profile_subprocess, throughput

BRUTE_FORCE = """
import json, sys
from vitcore.profiling import largest_batch
fits = largest_batch.batch_fits_function({"path": sys.argv[1]}, 16 / 1024, 64, False, "fp32")
print(json.dumps([[batch for batch in range(1, 30) if fits(batch)], largest_batch.search_largest_batch(fits)]))
"""
HERE = throughput.MeasuredDevice("a device", "cpu", "fp32", 1, 1e11)


@pytest.mark.parametrize("training", [False, True])
def test_operations_are_those_torch_counts(training):
    told = []
    made = throughput.profile_throughput(
        "ViT-Ti/16", HERE, px=64, batches=(2, 1, 2), training=training, seconds=0, on_batch_size=told.append
    )
    import timm

    timm.layers.set_fused_attn(False)  # torch counts no operations of a CPU's fused attention
    try:
        module = timm.create_model("vit_tiny_patch16_224", img_size=64).train(training)
    finally:
        timm.layers.set_fused_attn(True)
    with FlopCounterMode(display=False) as counter, torch.set_grad_enabled(training):
        answer = module(torch.zeros(1, 3, 64, 64))
        if training:
            answer.sum().backward()
    assert made.flop_per_image == pytest.approx(counter.get_total_flops(), rel=0.01)
    assert made.limit_images_per_s == HERE.flop_per_s / made.flop_per_image
    assert [one.batch for one in made.speeds] == told == [1, 2] and made.too_large is None
    assert all(one.images_per_s > 0 for one in made.speeds) and made.params == sum(p.numel() for p in module.parameters())


def test_a_device_is_judged_by_its_matrix_products(monkeypatch):
    monkeypatch.setattr(throughput, "MATRIX_SIDE", 64)
    monkeypatch.setattr(throughput, "_seconds_per_call", lambda run, kind, seconds: (run(), [0.5, 0.25, 1.0])[1])
    found = throughput.measure_device("fp32")
    assert found.flop_per_s == 2 * 64**3 / 0.25 and found.precision == "fp32" and found.name


def test_memory_that_ends_ends_the_row(monkeypatch):
    def run(batch):
        if batch > 2:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes.")

    monkeypatch.setattr(throughput, "make_model_pass", lambda *a: run)
    made = throughput.profile_throughput(DEFAULT_MODEL, HERE, batches=(1, 2, 4, 8), seconds=0)
    assert [one.batch for one in made.speeds] == [1, 2] and made.too_large == 4

    def broken(batch):
        raise RuntimeError("shapes don't fit")

    monkeypatch.setattr(throughput, "make_model_pass", lambda *a: broken)
    with pytest.raises(RuntimeError, match="shapes"):
        throughput.profile_throughput(DEFAULT_MODEL, HERE, batches=(1,), seconds=0)


@pytest.mark.parametrize("most", [0, 1, 2, 3, 19, 64, 1000, 4097])
def test_the_search_is_close_to_the_largest(most):
    tried = []
    found = largest_batch.search_largest_batch(lambda batch: (tried.append(batch), batch <= most)[1])
    assert found <= most <= found + max(1, 0.05 * found) and len(tried) <= 2 * max(most, 1).bit_length() + 6


@pytest.mark.skipif(sys.platform != "linux" or torch.cuda.is_available(), reason="a limit that only Linux sets")
def test_the_largest_batch_is_what_brute_force_finds(monkeypatch, tmp_path):
    """Of a model of one block under 16 MB, batch after batch. An allocator's pages make single sizes fail just below the limit,
    the same ones each time: what is found fits, and lies between the last before them and the largest of all."""
    file = tmp_path / "one-block.safetensors"
    save_file(timm_vit(img_size=64, embed_dim=192, depth=1).state_dict(), file)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    done = shell("-c", BRUTE_FORCE, str(file), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    fit, found = json.loads(done.stdout)
    surely = next(batch for batch in range(1, 30) if batch not in fit) - 1
    assert 1 < surely <= max(fit) < 29 and found in fit
    assert surely - max(1, 0.05 * surely) <= found <= max(fit)
    monkeypatch.setattr(largest_batch.subprocess, "run", run_forked)
    elsewhere = largest_batch.largest_batch({"path": str(file)}, 16 / 1024, 64)
    assert 0.5 * surely <= elsewhere <= 2 * max(fit), "another process, with other memory of its own"


def test_not_one_image_fits(monkeypatch):
    def none(*asked):
        raise MemoryError

    monkeypatch.setattr(largest_batch, "batch_fits_function", none)
    assert largest_batch._search_for_batch("x", 1, None, False, "fp32") == 0


def test_a_name_that_is_none_is_said_by_the_process_that_looks(monkeypatch):
    with monkeypatch.context() as patch, pytest.raises(ModelError, match="no-such is not a model"):
        patch.setattr(largest_batch.subprocess, "run", run_forked)
        largest_batch.largest_batch("no-such", 1)
    monkeypatch.setattr(largest_batch.sys, "executable", "false")
    with pytest.raises(ModelError, match="ended before"):
        largest_batch.largest_batch(DEFAULT_MODEL, 1)


def test_from_a_shell(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(throughput, "measure_device", lambda precision: HERE)
    monkeypatch.setattr(throughput, "SECONDS_PER_BATCH_SIZE", 0)
    monkeypatch.setattr(largest_batch, "largest_batch", lambda *asked: 12)
    asked = ["profile", DEFAULT_MODEL, "ViT-Ti/16", "--px", "32", "--batches", "1,2"]
    assert main([*asked, "--memory-gb", "0.5", "--out", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "a device, 1 thread, fp32: 100 GFLOP/s" in said and "the largest batch in 0.5 GB: 12" in said and "ViT-Ti/16" in said
    assert (tmp_path / "speed.png").stat().st_size > 9000 and b"<svg" in (tmp_path / "speed.svg").read_bytes()
    assert main([*asked[:1], "ViT-Ti/16", *asked[3:], "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["device"]["kind"] == "cpu" and [one["batch"] for one in told["models"][0]["speeds"]] == [1, 2]


def test_from_a_process_line_by_line(monkeypatch, tmp_path):
    """As it is told to a page; of a file of one's own with its owner's answers, too."""
    monkeypatch.setattr(throughput, "measure_device", lambda: HERE)
    monkeypatch.setattr(throughput, "SECONDS_PER_BATCH_SIZE", 0)
    asked = []
    monkeypatch.setattr(largest_batch, "largest_batch", lambda *what, **more: (asked.append((what, more)), 7)[1])
    model_file(tmp_path / "one.safetensors")
    file = {"path": str(tmp_path / "one.safetensors"), "called": "mine", "image_px": [64, 32]}
    lines = []
    profile_subprocess.run_profile_order(
        profile_subprocess.ProfileOrder(file, training=True, batches=[1], memory_gb=0.5), lines.append
    )
    assert [sorted(json.loads(json.dumps(line))) for line in lines] == [
        ["device", "profile"], ["batch"], ["device", "profile"], ["looking"], ["device", "profile"]
    ]  # fmt: skip
    on, whole = profile_subprocess.parse_profile(json.loads(json.dumps(lines[-1])))
    assert on == HERE and whole.name == "mine" and whole.image_px == (64, 32) and whole.training
    assert [one.batch for one in whole.speeds] == [1] and (whole.largest_batch, whole.memory_gb) == (7, 0.5)
    assert asked == [((file, 0.5), {"training": True, "precision": "fp32"})]
    profile_subprocess.run_profile_order(profile_subprocess.ProfileOrder("no-such"), lines.append)
    assert "no-such is not a model" in lines[-1]["problem"]["text"]


@pytest.mark.parametrize("asked, said", [
    (["no-such-model"], "not a model of the paper"), ([DEFAULT_MODEL, "--batches", "0"], "from 1"),
    ([DEFAULT_MODEL, "--batches", "x"], "from 1"),
])  # fmt: skip
def test_what_cannot_be_profiled_is_one_sentence(asked, said, capsys, monkeypatch):
    monkeypatch.setattr(throughput, "measure_device", lambda precision: HERE)
    try:
        status = main(["profile", *asked])
    except SystemExit as end:
        status = end.code
    assert status == 2 and said in capsys.readouterr().err.splitlines()[0]


def test_no_system_limits_no_largest_batch(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(largest_batch.sys, "platform", "darwin")
    with pytest.raises(ModelError, match="does not limit"):
        largest_batch.largest_batch(DEFAULT_MODEL, 1)


def test_a_watch_sees_memory_rise():
    watch = process_memory.PeakMemoryWatch()
    if watch.before is None:
        pytest.skip("this system does not say")
    with watch:
        held = torch.ones(96 * 2**20 // 4)  # 96 MB, which no allocator has lying about
        del held
    assert watch.peak_mb is None or watch.peak_mb >= 64


def test_a_pass_trains_only_where_asked():
    module = timm_vit()
    throughput.make_model_pass(module, (32, 32), HERE, False)(2)
    assert not module.training
    throughput.make_model_pass(module, (32, 32), HERE, True)(2)
    assert module.training and all(p.grad is None for p in module.parameters())
