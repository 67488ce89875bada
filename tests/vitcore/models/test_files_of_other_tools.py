"""What tools beside the training loop write: shared tensors, MLX's kernels, Meta's Perception Encoders, DTensors, other formats.

Each opens equal to the module that was saved, or is refused for what it is.
"""

import re
import sys
import types
import warnings

import numpy as np
import pytest
import timm
import torch
from safetensors.torch import save_file, save_model
from torch import nn

import vitcore
from tests.checkpoints import load_quietly, same_answers
from tests.conftest import lively, timm_vit
from vitcore.models.formats.containers.read_weights import first_weights_of_zeros
from vitcore.models.load_model import timm_name_of_model
from vitcore.models.local_files import SHIPPED_MODELS, find_local_weights
from vitcore.models.model_cards import DEFAULT_MODEL, ModelError

SHAPE = {"embed_dim": 192, "num_heads": 3, "depth": 2, "img_size": 64, "patch_size": 16}
KERNEL = "patch_embed.proj.weight"
PERCEPTION = (  # timm's names and Meta's (github.com/facebookresearch/perception_models)
    ("attn_pool.latent", "attn_pool.probe"), ("attn_pool.norm", "attn_pool.layernorm"),
    ("attn_pool.proj", "attn_pool.attn.out_proj"),
    ("patch_embed.proj", "conv1"), ("pos_embed", "positional_embedding"), ("norm_pre", "ln_pre"), ("norm1", "ln_1"),
    ("norm2", "ln_2"), ("blocks.", "transformer.resblocks."), ("gamma_1", "ls_1.gamma"), ("gamma_2", "ls_2.gamma"),
    ("qkv.", "in_proj_"), ("attn.proj", "attn.out_proj"), ("mlp.fc1", "mlp.c_fc"), ("mlp.fc2", "mlp.c_proj"),
)  # fmt: skip


@pytest.fixture
def module():
    return timm_vit(**SHAPE)


def mlx(module):
    return {n: (w.permute(0, 2, 3, 1) if n == KERNEL else w).contiguous() for n, w in module.state_dict().items()}


def as_meta(module):
    """The state of one of timm's Perception Encoders under the names of Meta's own files, which hold no rotation."""
    state = {}
    for name, w in module.state_dict().items():
        for ours, theirs in PERCEPTION:
            name = name.replace(ours, theirs)
        name = name.replace("norm.", "ln_post.") if name.startswith("norm.") else name
        if name == "cls_token":
            name, w = "class_embedding", w[0, 0]
        if name == "positional_embedding":
            w = w[0]
        if name == "head.weight":
            name, w = "proj", w.T
        state[name] = w
    state.pop("head.bias", None)
    for kind in ("weight", "bias"):
        if f"attn_pool.q.{kind}" in state:
            parts = [state.pop(f"attn_pool.{part}.{kind}") for part in ("q", "kv")]
            state[f"attn_pool.attn.in_proj_{kind}"] = torch.cat(parts)
    return {f"visual.{name}": w for name, w in state.items()}


def test_tensors_that_are_shared_are_found_under_each_name(module, tmp_path):
    """safetensors keeps one of them, and names the others in its header."""
    module.blocks[1] = module.blocks[0]
    save_model(module, str(tmp_path / "a.safetensors"))
    vit = load_quietly(tmp_path / "a.safetensors")
    assert len(vit.module.blocks) == 2
    same_answers(vit, module)


def test_kernels_of_mlx_have_colours_last(module, tmp_path):
    save_file(mlx(module), tmp_path / "a.safetensors", {"format": "mlx"})
    np.savez(tmp_path / "b.npz", **{n: w.numpy() for n, w in mlx(module).items()})
    for name in ("a.safetensors", "b.npz"):
        vit = load_quietly(tmp_path / name)
        assert "channels" not in vit.assumed
        same_answers(vit, module)


@pytest.mark.parametrize("name", ["spatial_base_patch16_512", "lang_large_patch14_448", "core_base_patch16_224"])
def test_perception_encoders_rotate_though_their_files_are_named_as_openclip_s(name, tmp_path):
    torch.manual_seed(0)
    module = lively(timm.create_model(f"vit_pe_{name}", depth=1, img_size=56 if "14" in name else 64))
    if "core" in name:
        nn.init.zeros_(module.head.bias)
    torch.save(as_meta(module), tmp_path / "pe.pt")
    vit = load_quietly(tmp_path / "pe.pt")
    assert vit.assumed["architecture"] == f"vit_pe_{name}" and vit.output == "features"
    same_answers(vit, module)
    plain = timm_vit(**SHAPE | {"embed_dim": 96}, pre_norm=True, num_classes=0)
    narrow = {n: w for n, w in as_meta(plain).items() if "ln_post" not in n}
    torch.save(narrow, tmp_path / "narrow.pt")
    with pytest.raises(ModelError, match="without its last norm"):
        load_quietly(tmp_path / "narrow.pt")


def test_distributed_tensors_open_where_one_process_holds_all(module, tmp_path):
    from torch import distributed
    from torch.distributed.tensor import DeviceMesh, DTensor, Replicate, Shard

    distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
    try:
        mesh, state = DeviceMesh("cpu", [0]), {n: w.detach() for n, w in module.state_dict().items()}
        torch.save({n: DTensor.from_local(w, mesh, [Replicate()]) for n, w in state.items()}, tmp_path / "a.pth")
        part = DTensor.from_local(state[KERNEL][:9], mesh, [Shard(0)], shape=state[KERNEL].shape, stride=state[KERNEL].stride())
        torch.save({**state, KERNEL: part}, tmp_path / "b.pth")
    finally:
        distributed.destroy_process_group()
    same_answers(load_quietly(tmp_path / "a.pth"), module)
    with pytest.raises(ModelError, match="one process's part"):
        load_quietly(tmp_path / "b.pth")


def test_parts_beside_a_classifier_are_told_whatever_their_size(module, tmp_path):
    """DynamicViT's predictors drop tokens between blocks (arXiv 2106.02034)."""
    beside = {f"net.score_predictor.{i}.{part}.weight": torch.ones(192, 192) for i in range(3) for part in "abcdefg"}
    torch.save({f"net.vit.{n}": w for n, w in module.state_dict().items()} | beside, tmp_path / "a.pth")
    with pytest.warns(match="not used here .net.score_predictor"):
        vitcore.load(tmp_path / "a.pth")


class OfTorchao:
    """A tensor of a class of torchao's, as its pickle has it."""

    def __init__(self, kind):
        self.kind = kind

    def __reduce__(self):
        args = self.kind, torch.float32, (2, 2), (2, 1), 0, torch.strided, torch.device("cpu"), False
        return torch._tensor._rebuild_from_type_v2, (
            torch._utils._rebuild_wrapper_subclass,
            self.kind,
            args,
            {"qdata": torch.ones(4)},
        )


@pytest.fixture
def torchao(monkeypatch):
    kind = type("Int8Tensor", (), {"__module__": "torchao"})
    found = types.ModuleType("torchao")
    found.Int8Tensor = kind
    monkeypatch.setitem(sys.modules, "torchao", found)
    return OfTorchao(kind)


def test_torchao_is_named(module, torchao, tmp_path):
    torch.save({**module.state_dict(), "blocks.0.mlp.fc1.weight": torchao}, tmp_path / "a.pth")
    with pytest.raises(ModelError, match="as torchao quantised it"):
        load_quietly(tmp_path / "a.pth")


STATES = {  # what is in the file, of a plain state, and the sentence
    "wide norms": (
        lambda s: s | {f"blocks.{i}.attn.{n}_norm.weight": torch.ones(192) for i in (0, 1) for n in "qk"}, "192 numbers"
    ),
    "one frame": (lambda s: s | {KERNEL: s[KERNEL][:, :, None]}, "its patches are 1×16×16, frames or slices first"),
    "197 positions": (
        lambda s: {n: w for n, w in s.items() if n != "cls_token"} | {"pos_embed": torch.randn(1, 197, 192)},
        "197 positions, one more than 14×14",
    ),
    "BEiT": (
        lambda s: {n: w for n, w in s.items() if n != "pos_embed"}
        | {f"blocks.{i}.attn.relative_position_bias_table": torch.ones(52, 3) for i in (0, 1)},
        "unexpected: blocks.0.attn.relative_position_bias_table",
    ),
    "moments": (lambda s: {f"exp_avg.{n}": w for n, w in s.items()}, "the state of an optimiser"),
    "optimiser": (lambda s: {"optimizer": {"state": {"cls_token": {"exp_avg": s["cls_token"]}}}}, "the state of an optimiser"),
    "DeepSpeed's part": (
        lambda s: {"optimizer_state_dict": {"single_partition_of_fp32_groups": [torch.ones(9)]}, "ds_config": {}},
        "is a checkpoint of DeepSpeed: make one file of it with the script zero_to_fp32.py",
    ),
    "a history": (lambda s: {"train_loss": [0.5], "epoch": 3}, "no named weights, but train_loss, epoch"),
    "half a download": (
        lambda s: s | {n: torch.zeros_like(w) for n, w in list(s.items())[-9:]}, "zeros alone in norm.weight, as a download",
    ),
    "its first half lost": (lambda s: s | {n: torch.zeros_like(w) for n, w in list(s.items())[:9]}, "in patch_embed.proj.weight"),
    "AdapterHub": (lambda s: s | {"blocks.0.adapters.x.adapter_down.0.weight": torch.ones(6, 192)}, "of AdapterHub's library"),
    "AdapterHub's LoRA": (lambda s: s | {"blocks.0.attn.loras.x.lora_A": torch.ones(6, 192)}, "of AdapterHub's library"),
}  # fmt: skip


@pytest.mark.parametrize("kind", STATES)
def test_states_that_no_plain_model_has_are_named(kind, module, tmp_path):
    change, said = STATES[kind]
    torch.save(change(module.state_dict()), tmp_path / "a.pth")
    with pytest.raises(ModelError, match=said):
        load_quietly(tmp_path / "a.pth")


@pytest.mark.parametrize(("name", "start", "said"), [
    ("a.mlmodel", b"\x08\x04\x12\xb2\x01\n", "in Core ML format"), ("saved_model.pb", b"\x08\x01\x12\xff", "in TensorFlow format"),
    ("a.xml", b"<?xml version", "in OpenVINO format"), ("__0_0.distcp", b"PK\x03\x04", "in torch.distributed.checkpoint format"),
    ("b.pth", b"", "begins with zeros alone"), ("b.pth", b"%PDF-1.4\n1 0 obj\n" * 40, "in PDF format"),
    ("b.pth", b"\x93NUMPY", "in NumPy"), ("b.bin", b"\0\0\0\x0cJXL ", r"is a photo \(JPEG XL\)"),
    ("b.bin", b"SIMPLE  = T" + b" " * 600, r"is a photo \(FITS\)"), ("b.pt", bytes(4) + b"TFL3", "in TensorFlow Lite"),
    ("b.pth", "<!doctype html>é".encode("latin-1") + b"\xe9" * 500, "is a web page"),
    ("b.pth", b"\f<html>\0" + b"\xb0\xa1" * 250, "is a web page"),
    ("dir/m/data.pkl", b"\x80\2}.", "in unpacked .pth format"),
    ("dir/snapshots/0a1b/model.safetensors", b"", r"open one of its folders, snapshots/0a1b"),
    ("dir/version_0/checkpoints/last.ckpt", b"", r"open one of its folders, version_0/checkpoints"),
    ("a.ckpt", b"\n\xb4\x01\n\x0ecls_token", "in no format that can be opened here"),
    ("dir/x-1.data-00000-of-00001", b"", "in TensorFlow format"), ("dir/Data/com.apple.CoreML/m.mlmodel", b"", "in Core ML format"),
    ("dir/pytorch_model_fsdp_0/__0_0.distcp", b"", "dcp_to_torch_save"),
])  # fmt: skip
def test_files_of_other_formats_are_named(name, start, said, tmp_path):
    file = tmp_path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(start + bytes(99))
    with pytest.raises(ModelError, match=said):
        load_quietly(tmp_path / "dir" if name.startswith("dir/") else file)


def test_a_file_of_texts_alone_names_none_of_its_own_entries(tmp_path):
    save_file({}, tmp_path / "a.safetensors", metadata={"a": "b"})
    with pytest.raises(ModelError, match=r"a\.safetensors holds no named weights\.$"):
        load_quietly(tmp_path / "a.safetensors")


@pytest.mark.parametrize("with_card", [False, True])
def test_a_pruned_model_opens_and_its_zeros_are_told(with_card, module, tmp_path):
    """A block switched off, all of its weights, and one of a head's hidden layer, which is none of a block."""
    state = module.state_dict() | {n: torch.zeros_like(w) for n, w in module.state_dict().items() if n.startswith("blocks.1.")}
    save_file(state, tmp_path / "a.safetensors")
    if with_card:
        found = vitcore.inspect(tmp_path / "a.safetensors")
        found.write_card(found.card())
    with pytest.warns(
        UserWarning, match=r"zeros=blocks\.1\.attn\.qkv\.weight, blocks\.1\.mlp\.fc1\.weight \(switched off or pruned"
    ):
        vit = vitcore.load(tmp_path / "a.safetensors")
    assert vit.assumed["zeros"] == "blocks.1.attn.qkv.weight, blocks.1.mlp.fc1.weight"
    module.load_state_dict(state)
    same_answers(vit, module)
    assert first_weights_of_zeros(torch.nn.ModuleDict({"head": torch.nn.ModuleDict({"fc1": torch.nn.Linear(2, 2)})})) == []


@pytest.mark.parametrize("name", [DEFAULT_MODEL, "vit_base_patch16_224", "ViT-B/16", "nobody's"])
def test_a_folder_of_a_models_name_hides_no_model(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name / "logs").mkdir(parents=True)
    (tmp_path / name / "logs/opt.pt").write_bytes(b"x")
    if name == "nobody's":
        with pytest.raises(ModelError, match="holds no weights itself: open one of its folders, logs"):
            find_local_weights(name)
    else:
        assert find_local_weights(name) == (SHIPPED_MODELS / f"{name}.safetensors" if name == DEFAULT_MODEL else None)
        assert str(timm_name_of_model(name)).startswith("vit")
    for path in (tmp_path / name, f"./{name}"):
        with pytest.raises(ModelError, match="holds no weights itself: open one of its folders, logs"):
            find_local_weights(path)


def test_openvino_s_weights_are_named_by_the_file_beside_them(tmp_path):
    (tmp_path / "a.bin").write_bytes(bytes(99))
    (tmp_path / "a.xml").write_bytes(b"<net/>")
    with pytest.raises(ModelError, match="in OpenVINO format"):
        load_quietly(tmp_path / "a.bin")


@pytest.mark.parametrize(
    "text", ["Entry not found", '<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>', "model:\n  name: vit"]
)
@pytest.mark.parametrize("suffix", [".safetensors", ".pth"])
def test_what_a_server_answered_in_place_of_a_file_is_told(text, suffix, tmp_path):
    (tmp_path / f"a{suffix}").write_text(text)
    with pytest.raises(ModelError, match="is text that begins with ." + re.escape(text[:5])):
        load_quietly(tmp_path / f"a{suffix}")


def test_what_a_disk_leaves_beside_a_model_is_no_model(module, tmp_path):
    torch.save(module.state_dict(), tmp_path / "best.pth")
    (tmp_path / "._best.pth").write_bytes(b"\0\5\x16\7")  # macOS keeps attributes so on other disks
    same_answers(load_quietly(tmp_path), module)
    (tmp_path / "best.pth").unlink()
    (tmp_path / "best.pth").symlink_to(tmp_path / "gone")
    with pytest.raises(ModelError, match=r"a link best\.pth to a file that is not there"):
        load_quietly(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "data.pkl").write_bytes(b"\x80\2}.")
    with pytest.raises(ModelError, match=r"in unpacked \.pth format"):
        load_quietly(tmp_path / "data.pkl")


def test_composer_s_average_in_a_list_of_pairs_comes_first(module, tmp_path):
    state = module.state_dict()
    averaged = {f"module.{name}": weight for name, weight in state.items()}
    torch.save({"state": {"model": {n: w + 1 for n, w in averaged.items()}, "algorithms": [("EMA", {"ema_model": averaged})]}},
               tmp_path / "ep1.pt")  # fmt: skip
    same_answers(load_quietly(tmp_path / "ep1.pt"), module)


def test_a_language_model_s_head_is_no_classifier_of_photos(module, tmp_path):
    state = {f"vision_tower.{name}": weight for name, weight in module.state_dict().items() if not name.startswith("head.")}
    torch.save(state | {"lm_head.weight": torch.ones(99, 192), "projector.0.weight": torch.ones(64, 192)}, tmp_path / "a.bin")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        vitcore.load(tmp_path / "a.bin")
    assert not any("may be a classifier" in str(one.message) for one in said)
