"""Files that are no model, or a damaged one: one sentence each, nothing run, nothing left behind, and the next file opens."""

import io
import json
import pickle
import struct
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save, save_file

from tests.checkpoints import to_google
from tests.conftest import timm_vit
from vitcore.models import load_model
from vitcore.models.model_cards import ModelError

SHAPE = {"embed_dim": 64, "num_heads": 1, "depth": 2}


class Payload:
    """What a hostile pickle holds: a call that would be made when it is opened."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self):
        return Path.touch, (self.trace,)


@pytest.fixture(scope="module")
def state():
    return timm_vit(**SHAPE).state_dict()


def bytes_of(held, **options) -> bytes:
    out = io.BytesIO()
    torch.save(held, out, **options)
    return out.getvalue()


def repacked(data: bytes, method: int, extra: dict[str, bytes] | None = None) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w", method) as new:
        for entry in old.infolist():
            new.writestr(entry.filename, old.read(entry))
        for name, more in (extra or {}).items():
            new.writestr(name, more)
    return out.getvalue()


def npz(**arrays) -> bytes:
    out = io.BytesIO()
    np.savez_compressed(out, **arrays)
    return out.getvalue()


def changed(state, **tensors):
    return save({**state, **{name.replace("__", "."): w for name, w in tensors.items()}})


def nan(w):
    return torch.where(torch.arange(w.numel()).view_as(w) == 3, torch.nan, w)


def llama():
    return save({"model.embed_tokens.weight": torch.zeros(9, 4), "model.layers.0.self_attn.q_proj.weight": torch.zeros(4, 4)})


def frozen():
    out = io.BytesIO()
    torch.jit.save(torch.jit.freeze(torch.jit.trace(torch.nn.Linear(3, 2).eval(), torch.ones(1, 3))), out)
    return out.getvalue()


def spectrograms():
    import transformers as T

    shape = {"hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 64}
    return bytes_of(T.ASTModel(T.ASTConfig(**shape, max_length=32, num_mel_bins=32)).state_dict())


def beit():
    import transformers as T

    shape = {"hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 64, "image_size": 32}
    return bytes_of(T.BeitModel(T.BeitConfig(**shape)).state_dict())


def one_less_of(state, name):
    return {k: v for k, v in state.items() if k != name}


def one_less(state, name):
    return save(one_less_of(state, name))


def wider_norms(state):
    shapes = {"qkv": (96, 64), "proj": (64, 32), "q_norm": (128,), "k_norm": (128,)}
    wider = {f"blocks__{i}__attn__{name}__weight": torch.ones(*shape) for i in (0, 1) for name, shape in shapes.items()}
    return changed(state, blocks__1__norm1__weight=torch.ones(128), **wider)


BAD = {
    "empty": (".pth", lambda s: b"", "is empty"),
    "text": (".pth", lambda s: b"weights\n" * 99, "is text that begins with 'weights"),
    "text named safetensors": (".safetensors", lambda s: b"hello, I am a text\n" * 99, "is text that begins with 'hello"),
    "a picture": (".bin", lambda s: b"\x89PNG\r\n\x1a\n" + bytes(99), "is a photo (PNG)"),
    "an archive": (".pth", lambda s: b"\x1f\x8b" + bytes(99), "is an archive (gzip): unpack it"),
    "Keras": (".pt", lambda s: b"\x89HDF\r\n\x1a\n" + bytes(99), "Keras"),
    "3 GB header": (".safetensors", lambda s: struct.pack("<Q", 3 * 10**9) + b"{" + bytes(99), "3,000,000,000"),
    "header cut": (".safetensors", lambda s: save(s)[:60], "incomplete"),
    "half of it": (".safetensors", lambda s: save(s)[:-5000], "incomplete"),
    "header of noise": (".safetensors", lambda s: struct.pack("<Q", 50) + b"{" + b"\xff" * 99, "damaged"),
    "half a pickle": (".pth", lambda s: bytes_of(s)[:-5000], "damaged or incomplete"),
    "half an old pickle": (".pth", lambda s: bytes_of(s, _use_new_zipfile_serialization=False)[:2000], "damaged"),
    "half an archive": (".npz", lambda s: npz(a=np.ones(9))[:-9], "damaged"),
    "a number": (".pth", lambda s: bytes_of(3), "no named weights"),
    "a tensor": (".pth", lambda s: bytes_of(torch.ones(3)), "single tensor"),
    "no tensors": (".pth", lambda s: bytes_of({"a": 1}), "no named weights"),
    "objects": (".npz", lambda s: npz(a=np.array([{}], dtype=object)), "running code"),
    "Keras 3": (".pt", lambda s: repacked(npz(), 0, {"model.weights.h5": b"hi"}), "in Keras (.keras) format"),
    "torch.export": (".pt", lambda s: repacked(npz(), 0, {"m/archive_format": b"pt2"}), "in torch.export format"),
    "another zip": (".pth", lambda s: repacked(npz(), 0, {"readme.txt": b"hi"}), "ZIP archive without weights"),
    "a folder in a zip": (".zip", lambda s: repacked(npz(), 0, {"m/model.safetensors": b"hi"}), "is an archive (ZIP): unpack it"),
    "what a hub answered": (
        ".safetensors", lambda s: b'{"error":"Access to this model is restricted"}', "is text that begins with",
    ),
    "Flax": (".msgpack", lambda s: b"\x81\xa6params" + bytes(99), "is in Flax (msgpack) format"),
    "sound": (
        ".pt", lambda s: save({f"v.{k}": w for k, w in s.items()} | {"v.dist_token": torch.ones(1, 1, 64)}), "a model of sound",
    ),
    "videos": (
        ".pt", lambda s: changed(s, patch_embed__proj__weight=torch.ones(64, 3, 2, 8, 8)), "its patches are 2×8×8, frames or",
    ),
    "shared out": (".pt", lambda s: bytes_of({"module": {k: torch.empty(0) for k in s}}), "in pieces, which are shared out"),
    "shared out and flat": (
        ".pt",
        lambda s: bytes_of({"backbone._fsdp_wrapped_module._flat_param": torch.ones(9)}),
        "in pieces, which",
    ),
    "frozen": (".pt", lambda s: frozen(), "is a frozen TorchScript program"),
    "an optimiser": (".pt", lambda s: bytes_of(torch.optim.SGD([torch.ones(2)]).state_dict()), "holds the state of an optimiser"),
    "a schedule": (".pt", lambda s: bytes_of({"last_epoch": 3, "_step_count": 4}), "holds the state of a schedule"),
    "random numbers": (".pth", lambda s: bytes_of({"python": 1, "cpu": torch.ones(9)}), "holds the states of random number"),
    "joblib": (".pkl", lambda s: pickle.dumps({"a": "joblib.numpy_pickle"}), "in joblib format"),
    "sound by one channel": (".bin", lambda s: spectrograms(), "as models of sound have (AST)"),
    "another class of transformers": (".bin", lambda s: beit(), "such as blocks.0.lambda_1: put its config.json beside it"),
    "pruned heads": (
        ".pt",
        lambda s: changed(
            s,
            blocks__1__attn__qkv__weight=torch.ones(96, 64),
            blocks__1__attn__qkv__bias=torch.ones(96),
            blocks__1__attn__proj__weight=torch.ones(64, 32),
        ),
        "attention is 32, 64 wide",
    ),
    "SAM": (".pth", lambda s: changed(s, pos_embed=torch.ones(1, 4, 4, 64)), "as image encoders of SAM and ViTDet have"),
    "positions of one patch more": (
        ".pt",
        lambda s: changed(one_less_of(s, "cls_token"), pos_embed=torch.ones(1, 65, 64)),
        "65 positions, one more than 8×8 patches have",
    ),
    "positions of no grid": (
        ".pt",
        lambda s: changed(one_less_of(s, "cls_token"), pos_embed=torch.ones(1, 19, 64)),
        "those of 19 patches, which form no grid",
    ),
    "another's blocks": (
        ".pt", lambda s: save({k.replace("norm1", "in_norm"): w for k, w in s.items()}), "hold other tensors than those",
    ),
    "zip bomb": (".pth", lambda s: repacked(bytes_of(s), 8, {"archive/data/bomb": bytes(75 * 10**6)}), "would grow"),
    "bomb of zeros": (".npz", lambda s: npz(a=np.zeros(70_000_000, np.uint8)), "would grow"),
    "two of one name": (".npz", lambda s: repacked(npz(a=np.ones(3)), 0, {"a.npy": b"x"}), "two entries named"),
    "language model": (".safetensors", lambda s: llama(), "language model"),
    "some tensors": (".safetensors", lambda s: save({"layer.weight": torch.ones(3)}), "no Vision Transformer"),
    "a million classes": (".safetensors", lambda s: changed(s, head__weight=torch.zeros(10**6, 1)), "1,000,000 classes"),
    "NaN": (".safetensors", lambda s: changed(s, blocks__1__mlp__fc1__weight=nan(s["blocks.1.mlp.fc1.weight"])), "NaN"),
    "misshapen": (".safetensors", lambda s: changed(s, blocks__1__mlp__fc2__bias=torch.ones(3)), "fc2.bias is 3, not 64"),
    "missing": (".pth", lambda s: one_less(s, "blocks.1.norm2.bias"), "missing: blocks.1.norm2.bias"),
    "unexpected": (".pt", lambda s: changed(s, blocks__0__adapter__weight=torch.ones(3)), "unexpected: blocks.0.adapter.weight"),
    "one tensor more": (".pt", lambda s: changed(s, extra__weight=torch.ones(3)), "1 tensor does not fit (unexpected: extra"),
    "a long name": (".pt", lambda s: changed(s, **{"a" * 9000 + "\x1b[1m": torch.ones(3)}), "…aaa"),
    "QK norms that are wider": (".pt", wider_norms, "tensors do not fit"),
    "a narrow model": (".pt", lambda s: save({k: w[..., :3].clone() for k, w in s.items()}), "which no such tensor"),
    "half of DINOv3": (
        ".pt", lambda s: changed(one_less_of(s, "cls_token"), rope_embed__periods=torch.ones(16)), "cls_token is missing",
    ),
    "a block missing": (".pt", lambda s: changed(s, blocks__4__norm1__weight=torch.ones(64)), "missing: blocks.2"),
    "no blocks": (".pt", lambda s: save({k: v for k, v in s.items() if "blocks" not in k}), "no blocks"),
    "gray photos": (".pt", lambda s: changed(s, patch_embed__proj__weight=torch.ones(64, 65)), "three colours"),
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD)
def test_what_is_no_model(kind, state, tmp_path):
    suffix, make, expected = BAD[kind]
    file = tmp_path / f"mine{suffix}"
    file.write_bytes(make(state))
    with pytest.raises(ModelError) as caught:
        load_model.load(file)
    said = str(caught.value)
    assert expected in said and said.isprintable() and 10 < len(said) < 420, said
    assert [f.name for f in tmp_path.iterdir()] == [file.name], "something was left behind"
    file.write_bytes(save(state))  # a second try
    assert load_model.load(file).blocks == 2


@pytest.mark.parametrize("old", [False, True])
def test_code_in_a_pickle_is_not_run(old, state, tmp_path):
    trace = tmp_path / "was-here"
    torch.save({"model": state, "args": Payload(trace)}, tmp_path / "a.pth", _use_new_zipfile_serialization=not old)
    (tmp_path / "b.pth").write_bytes(pickle.dumps(Payload(trace), protocol=2))
    torch.save(timm_vit(**SHAPE), tmp_path / "module.pth", _use_new_zipfile_serialization=not old)
    refused = {"a.pth": r"without running code in it .*getattr.*torch.save", "module.pth": "VisionTransformer"}
    for name, said in (refused | {"b.pth": refused["a.pth"]}).items():
        with pytest.raises(ModelError, match=said):
            load_model.load(tmp_path / name)
    assert not trace.exists()


FOLDERS = {  # files of a folder, and what is said of it
    "torch's parts": (["__0_0.distcp", ".metadata"], r"format_utils\.dcp_to_torch_save"),
    "DeepSpeed": (["latest", "global_step3/mp_rank_00_model_states.pt"], r"of DeepSpeed: .* zero_to_fp32\.py"),
    "Flax": (["flax_model.msgpack"], r"in Flax format \(flax_model\.msgpack\)"),
    "Flax, transformers'": (["flax_model.msgpack", "config.json"], r"in Flax format \(flax_model\.msgpack\)"),
    "TensorFlow": (["saved_model.pb", "variables/variables.index"], r"in TensorFlow format \(saved_model\.pb\)"),
    "Orbax": (["_METADATA", "d/1"], r"in Orbax format"),
    "a training of transformers": (["checkpoint-10/model.safetensors", "checkpoint-20/model.safetensors"],
                                   r"open one of its folders, checkpoint-10, checkpoint-20"),
    "nothing": (["readme.txt"], r"holds no model: neither weights nor a config\.json"),
}  # fmt: skip


@pytest.mark.parametrize("kind", FOLDERS)
def test_folders_without_weights_that_are_read(kind, tmp_path):
    files, said = FOLDERS[kind]
    for file in (tmp_path / name for name in files):
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(VIT))
    with pytest.raises(ModelError, match=said):
        load_model.load(tmp_path)


def test_links(state, tmp_path):
    save_file(state, tmp_path / "real.safetensors")
    links = {"good": "real.safetensors", "nowhere": "gone.safetensors", "round": "round.safetensors"}
    for name, to in links.items():
        (tmp_path / f"{name}.safetensors").symlink_to(tmp_path / to)
    assert load_model.load(tmp_path / "good.safetensors").name == "good"
    for name in ("nowhere", "round"):
        with pytest.raises(ModelError, match=f"{name}.safetensors"):
            load_model.load(tmp_path / f"{name}.safetensors")


def test_two_files_in_one_folder(state, tmp_path):
    for name in ("a.pth", "b.pth"):
        torch.save(state, tmp_path / name)
    with pytest.raises(ModelError, match=r"a\.pth, b\.pth"):
        load_model.load(tmp_path)
    save_file(state, tmp_path / "model.safetensors")  # the name that such folders give it
    assert load_model.load(tmp_path).name == tmp_path.name


def test_a_head_that_does_not_fit_is_left_out(state, tmp_path):
    save_file(dict(state) | {"head.bias": torch.zeros(3)}, tmp_path / "a.safetensors")
    found = load_model.inspect(tmp_path / "a.safetensors")
    assert found.problems == () and "head.bias" in found.notes[0]
    vit = load_model.open_inspected_checkpoint(found)
    assert vit.labels == () and vit.module.num_classes == 0


CONFIGURATIONS = [
    "{", "[]", '{"model_type": "llama"}', '{"vision_config": 3}', '{"architecture": "resnet18", "pretrained_cfg": {}}',
    '{"num_attention_heads": "many", "patch_size": 8}',
]  # fmt: skip
SHARDS = [json.dumps({"weight_map": {"a": shard}}) for shard in ("../../etc/passwd", 3, "gone.safetensors")]


@pytest.mark.parametrize(("name", "text"), [*(("config.json", text) for text in CONFIGURATIONS),
                                            *(("model.safetensors.index.json", text) for text in SHARDS)])  # fmt: skip
def test_configurations_that_are_wrong_and_shards_that_lie_elsewhere(name, text, state, tmp_path):
    if name == "config.json":
        save_file(state, tmp_path / "model.safetensors")
    (tmp_path / name).write_text(text)
    with pytest.raises(ModelError):
        load_model.load(tmp_path)


VIT = {"model_type": "vit", "image_size": 32, "patch_size": 8, "num_attention_heads": 1}
TIMM_SIZE = {"architecture": "vit_tiny_patch16_224", "pretrained_cfg": {"fixed_input_size": True, "input_size": 224}}
NAMES = {"0": "a", "1": "b"}  # of a head with more classes
WRONG_SETTINGS = {
    "one side of three": (json.dumps(TIMM_SIZE), "input_size is 224, which is impossible"),
    "too few names": (
        json.dumps(VIT | {"architectures": ["ViTForImageClassification"], "id2label": NAMES}),
        "config.json names 2 classes, and its head has",
    ),
    "nested": ("[" * 10**5, "brackets are nested too deeply"),
    "a pointer": ("version https://git-lfs.github.com/spec/v1\n", "config.json is a pointer of Git LFS"),
    "another tool's": ('{"lr": 3}', "names neither transformers' model_type nor timm's architecture"),
    "fewer layers": (json.dumps(VIT | {"num_hidden_layers": 1}), r"num_hidden_layers is 1, and by the tensors of .* it is 2\."),
    "registers": (json.dumps(VIT | {"num_register_tokens": 4}), r"num_register_tokens is 4, and by the tensors of .* it is 0\."),
    "a setting of none": ('{"architecture": "vit_tiny_patch16_224", "model_args": {"a": 1}}', "no setting named a"),
}


@pytest.mark.parametrize("kind", WRONG_SETTINGS)
def test_settings_that_can_not_be_are_named(kind, state, tmp_path):
    text, said = WRONG_SETTINGS[kind]
    save_file(state, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(ModelError, match=said):
        load_model.load(tmp_path)


def test_a_file_with_a_card_is_looked_over_as_one_without(state, tmp_path):
    found = load_model.inspect(write(state, tmp_path / "model.safetensors"))
    found.write_card(found.card())
    assert load_model.load(tmp_path / "model.safetensors").blocks == 2
    write(state | {"pos_embed": nan(state["pos_embed"])}, tmp_path / "model.safetensors")
    with pytest.raises(ModelError, match=r"NaN or infinite. in pos_embed"):
        load_model.load(tmp_path / "model.safetensors")
    card = found.card()
    (tmp_path / "model.json").write_text(json.dumps(card | {"input": card["input"] | {"rescale_factor": 1}}))
    with pytest.raises(ModelError, match="input is 'rescale_factor'"):
        load_model.load(tmp_path / "model.safetensors")


def write(state, file):
    save_file(state, file)
    return file


@pytest.mark.parametrize("open_", [load_model.load, load_model.inspect])
def test_an_address_is_no_file(open_):
    with pytest.raises(ModelError, match=r"a\.pth is an address.*hf-hub:"):
        open_("https://example.com/a.pth")


def test_tensors_that_claim_more_than_the_file_holds(state, tmp_path):
    torch.save(state | {"pos_embed": torch.zeros(1).expand(1, 10**9, 64)}, tmp_path / "a.pth")
    assert (tmp_path / "a.pth").stat().st_size < 10**6
    with pytest.raises(ModelError, match="pos_embed"):
        load_model.load(tmp_path / "a.pth")


def test_a_tar_and_an_archive_of_google_that_is_short(tmp_path):
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        archive.add(__file__, "x.py")
    with pytest.raises(ModelError, match=r"is an archive \(tar\): unpack it"):
        load_model.load(tmp_path / "a.tar")
    module = timm_vit(**SHAPE)
    to_google(module, tmp_path / "b.npz")
    with np.load(tmp_path / "b.npz") as held:
        np.savez(tmp_path / "c.npz", **{n: held[n] for n in held if "encoderblock_1/LayerNorm_2/bias" not in n})
    with pytest.raises(ModelError, match=r"missing: blocks.1.norm2.bias"):
        load_model.load(tmp_path / "c.npz")
