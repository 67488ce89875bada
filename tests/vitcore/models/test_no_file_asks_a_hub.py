"""A file's own words can't make this machine ask anybody: names of a hub in every place where one may stand, and no connection."""

import json
import socket
import warnings

import pytest
import timm
import torch
import transformers as T
from safetensors.torch import save_file

import vitcore
from vitcore.errors import RefusalError

HUB = "hf-hub:evil/model"
ID = "evil/model"
SMALL = {
    "hidden_size": 24, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 48, "image_size": 32,
    "patch_size": 8,
}  # fmt: skip


@pytest.fixture
def asked(monkeypatch):
    """Every address that is looked up or connected to; nobody answers."""
    calls: list[object] = []

    def refuse(*args, **_):
        calls.append(args[-1] if args and isinstance(args[0], socket.socket) else args[:2])
        raise OSError("no network here")

    ways = ((socket.socket, "connect"), (socket.socket, "connect_ex"), (socket, "getaddrinfo"), (socket, "create_connection"))
    for owner, name in ways:
        monkeypatch.setattr(owner, name, refuse)
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    return calls


@pytest.fixture(scope="module")
def weights():
    """Two files' tensors: timm's, and transformers'."""
    torch.manual_seed(0)
    plain = timm.create_model("vit_tiny_patch16_224", img_size=32, patch_size=8, embed_dim=24, depth=1, num_heads=2, num_classes=3)
    theirs = T.ViTForImageClassification(T.ViTConfig(**SMALL, num_labels=3))
    return {"timm": plain.state_dict(), "transformers": theirs.state_dict()}


PREPROCESSING = {"hf_hub_id": ID, "url": "http://evil.example/x", "file": "http://evil.example/y", "num_classes": 3}
VIT = {"model_type": "vit", "architectures": ["ViTForImageClassification"], **SMALL}
CONFIGS = {
    "timm's architecture": ("timm", {"architecture": HUB, "num_classes": 3, "pretrained_cfg": PREPROCESSING}),
    "timm's hf_hub_id": ("timm", {"architecture": "vit_tiny_patch16_224", "num_classes": 3, "pretrained_cfg": PREPROCESSING,
                                  "model_args": {"pretrained": True, "img_size": 32, "patch_size": 8, "embed_dim": 24, "depth": 1,
                                                 "num_heads": 2, "pretrained_cfg": HUB, "checkpoint_path": "/etc/passwd"}}),
    "a model's name or path": ("transformers", VIT | {"_name_or_path": ID, "auto_map": {"AutoModel": f"{ID}--modeling.Model"},
                                                      "tokenizer_class": ID, "custom_pipelines": {"x": {"impl": ID}}}),
    "a class of a hub": ("transformers", {"model_type": ID, "_name_or_path": ID, "architectures": [ID]}),
    "a backbone": ("transformers", {"model_type": "dpt", "architectures": ["DPTForDepthEstimation"], "backbone": ID,
                                    "use_pretrained_backbone": True, "is_hybrid": False, **SMALL}),
    "timm's backbone": ("transformers", {"model_type": "detr", "architectures": ["DetrModel"], "backbone": HUB,
                                         "use_timm_backbone": True, "use_pretrained_backbone": True, **SMALL}),
    "timm's wrapper": ("transformers", {"model_type": "timm_wrapper", "architectures": ["TimmWrapperForImageClassification"],
                                        "architecture": HUB, "pretrained_cfg": PREPROCESSING, "model_args": {"pretrained": True}}),
    "a text part's tokenizer": ("timm", {"model_cfg": {"embed_dim": 24, "vision_cfg": {"timm_model_name": HUB,
                                                                           "timm_model_pretrained": True},
                                         "text_cfg": {"hf_model_name": ID, "hf_tokenizer_name": ID}}, "preprocess_cfg": {}}),
}  # fmt: skip


@pytest.mark.parametrize("case", CONFIGS)
def test_no_config_asks_a_hub(asked, weights, tmp_path, case):
    kind, config = CONFIGS[case]
    folder = tmp_path / "model"
    folder.mkdir()
    save_file(weights[kind], folder / "model.safetensors")
    for name in ("config.json", "open_clip_config.json") if "model_cfg" in config else ("config.json",):
        (folder / name).write_text(json.dumps(config))
    (folder / "preprocessor_config.json").write_text(json.dumps({"image_processor_type": ID, "_name_or_path": ID}))
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": ID, "name_or_path": ID}))
    _open_every_way(folder)
    assert asked == []


@pytest.mark.parametrize("named", [ID, HUB, f"https://huggingface.co/{ID}"])
def test_no_adapter_asks_for_its_base(asked, tmp_path, named):
    folder = tmp_path / "adapter"
    folder.mkdir()
    layer = "base_model.model.vit.encoder.layer.0.attention.attention.query"
    pair = {f"{layer}.lora_A.weight": torch.zeros(2, 24), f"{layer}.lora_B.weight": torch.zeros(24, 2)}
    save_file(pair, folder / "adapter_model.safetensors")
    said = {"peft_type": "LORA", "r": 2, "lora_alpha": 2, "base_model_name_or_path": named, "revision": "main",
            "auto_mapping": {"base_model_class": "ViTModel", "parent_library": ID}}  # fmt: skip
    (folder / "adapter_config.json").write_text(json.dumps(said))
    _open_every_way(folder)
    with pytest.raises(RefusalError, match="base"):
        vitcore.load(folder)
    assert asked == []


@pytest.mark.parametrize(
    "architecture", [{"timm": HUB}, HUB, {"family": HUB}, {"timm": "vit_tiny_patch16_224", "pretrained": True}]
)
def test_no_card_asks_a_hub(asked, weights, tmp_path, architecture):
    save_file(weights["timm"], tmp_path / "mine.safetensors")
    card = {"title": "Mine", "architecture": architecture, "hub": ID, "base": ID, "input": {}, "labels": ["a", "b", "c"]}
    (tmp_path / "mine.json").write_text(json.dumps(card))
    _open_every_way(tmp_path / "mine.safetensors")
    assert asked == []


def _open_every_way(path) -> None:
    """As `vitcore.load`, `vitcore.inspect` and the app's page open it; whether it can be opened is for other tests."""
    with warnings.catch_warnings(action="ignore"):
        for way in (vitcore.load, vitcore.inspect, lambda it: vitcore.inspect(it).model()):
            try:
                way(path)
            except (RefusalError, AttributeError):
                continue
