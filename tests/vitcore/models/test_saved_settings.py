"""Settings that a training saved beside its weights: read where a name means one thing, assumed where not, contradictions said."""

import argparse
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

import vitcore
from tests.conftest import timm_vit
from vitcore.models.load_model import AssumedAnswersWarning, inspect
from vitcore.models.model_cards import ModelError

NAMES = ("ant", "bee", "cow", "dog")
MEAN, STD = (0.1, 0.2, 0.3), (0.4, 0.5, 0.6)
BYTES = ([123.675, 116.28, 103.53], [58.395, 57.12, 57.375])


class Attributes(dict):
    """As Lightning's hyper-parameters are."""


class Encoder:
    """As scikit-learn's LabelEncoder is."""

    def __init__(self):
        self.classes_ = np.array(NAMES)


class Node:
    """As OmegaConf's values are."""

    def __init__(self, value):
        self._val = value


class Config:
    """As OmegaConf's dictionaries are."""

    def __init__(self, **said):
        self._content = {key: Node(value) for key, value in said.items()}


class Row(NamedTuple):
    """beside: what lies in the file beside the weights; the rest is what must come of it."""

    beside: dict[str, Any]
    labels: tuple[str, ...] = ()
    colours: tuple[Any, Any] | None = None
    heads: int = 2
    known: tuple[str, ...] = ()  # no longer assumed
    notes: str = ""
    output: str = "softmax"


COLOURS = ("normalise",)
ROWS = {
    "lists": Row({"classes": list(NAMES), "mean": list(MEAN), "std": list(STD)}, NAMES, (MEAN, STD), known=COLOURS),
    "a namespace": Row({"args": argparse.Namespace(class_names=NAMES, mean=MEAN, std=STD, interpolation="bilinear", crop_pct=0.9)},
                       NAMES, (MEAN, STD), known=(*COLOURS, "crop", "interpolation")),
    "Lightning": Row({"hyper_parameters": Attributes(class_to_idx={"bee": 1, "ant": 0, "cow": 2, "dog": 3}, lr=1.0)}, NAMES),
    "OmegaConf": Row({"cfg": Config(image_mean=MEAN, image_std=STD)}, colours=(MEAN, STD), known=COLOURS),
    "names by number": Row({"idx_to_class": dict(enumerate(NAMES))}, NAMES),
    "numbers by name": Row({"label2id": {name: i for i, name in enumerate(NAMES)}}, NAMES),
    "names that are numbers": Row({"class_to_idx": {"7": 0, "5": 1, "0": 2, "1": 3}}, ("7", "5", "0", "1")),
    "an array": Row({"classes": np.array(NAMES)}, NAMES),
    "an encoder": Row({"label_encoder": Encoder()}, NAMES),
    "timm's words": Row({"pretrained_cfg": {"mean": MEAN, "std": STD, "interpolation": "bicubic", "crop_pct": 1.0}},
                        colours=(MEAN, STD), known=(*COLOURS, "crop", "interpolation")),
    "transformers' words": Row({"config": {"num_attention_heads": 4, "problem_type": "multi_label_classification",
                                           "id2label": {0: "LABEL_0", 1: "LABEL_1", 2: "LABEL_2", 3: "LABEL_3"}}},
                               heads=4, output="sigmoid", known=("output",)),
    "OpenMMLab's": Row({"meta": {"CLASSES": NAMES}, "img_norm_cfg": {"mean": BYTES[0], "std": BYTES[1]}}, NAMES,
                       ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))),
    "the same twice": Row({"classes": list(NAMES), "hparams": {"class_names": NAMES, "mean": MEAN, "std": STD}, "mean": MEAN,
                           "std": STD}, NAMES, (MEAN, STD), known=COLOURS),
    "three names of four": Row({"classes": list(NAMES[:3])}, notes="classes in the file names 3 classes, and the head has 4"),
    "names that differ": Row({"classes": list(NAMES), "class_names": list("abcd")},
                             notes="says different things under classes, class_names"),
    "colours that differ": Row({"mean": MEAN, "std": STD, "val": {"mean": STD, "std": STD}},
                               notes="says different things under mean, std"),
    "a class of each photo": Row({"labels": ["ant", "bee"] * 20}),
    "no means of colours": Row({"mean": "x", "std": [0.0, 1.0, 1.0], "classes": 4, "num_heads": 3, "interpolation": ""}),
}  # fmt: skip


@pytest.fixture(scope="module")
def module():
    return timm_vit(embed_dim=128, num_heads=2, depth=1, num_classes=4)


@pytest.mark.parametrize("old", [False, True], ids=["archive", "old file"])
@pytest.mark.parametrize("kind", ROWS)
def test_settings_beside_the_weights(kind, old, module, tmp_path):
    row = ROWS[kind]
    torch.save({"state_dict": module.state_dict(), **row.beside}, tmp_path / "a.pth", _use_new_zipfile_serialization=not old)
    vit, said = opened(tmp_path / "a.pth")
    assert vit.labels == (row.labels or tuple(f"class {i}" for i in range(4)))
    assert (vit.mean, vit.std) == (row.colours or ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)))
    assert vit.heads == row.heads and vit.output == row.output
    assert not set(row.known) & set(vit.assumed)
    assert {"normalise", "heads"} - set(row.known) <= set(vit.assumed)  # heads may be another part's
    assert row.notes in said and (row.notes or not said)
    read = dict(inspect(tmp_path / "a.pth").facts).get("read from the file", "")
    assert bool(read) == bool(row.labels or row.known)


def test_text_in_the_header_of_safetensors(module, tmp_path):
    told = {"format": "pt", "id2label": json.dumps(dict(enumerate(NAMES))), "mean": "0.1, 0.2, 0.3", "std": "[0.4, 0.5, 0.6]"}
    save_file(module.state_dict(), tmp_path / "a.safetensors", metadata=told)
    vit, _ = opened(tmp_path / "a.safetensors")
    assert vit.labels == NAMES and (vit.mean, vit.std) == (MEAN, STD) and "normalise" not in vit.assumed


def test_names_in_an_archive_of_arrays(module, tmp_path):
    arrays = {name: w.numpy() for name, w in module.state_dict().items()}
    np.savez(tmp_path / "a.npz", classes=np.array(NAMES), **arrays)
    assert opened(tmp_path / "a.npz")[0].labels == NAMES


def test_a_plain_pickle_of_arrays(module, tmp_path):
    import pickle

    held = {"params": {name: w.numpy() for name, w in module.state_dict().items()}, "classes": NAMES}
    (tmp_path / "a.pkl").write_bytes(pickle.dumps(held))
    vit, _ = opened(tmp_path / "a.pkl")
    x = torch.randn(1, 3, 32, 32)
    assert vit.labels == NAMES and torch.equal(vit.module(x), module(x))
    (tmp_path / "b.pkl").write_bytes(pickle.dumps({"classes": NAMES}))
    with pytest.raises(ModelError, match=r"a pickle that torch\.save did not write"):
        vitcore.load(tmp_path / "b.pkl")


def test_files_beside_the_weights_come_first(tmp_path):
    transformers = pytest.importorskip("transformers")
    shape = {"hidden_size": 48, "num_hidden_layers": 1, "num_attention_heads": 3, "intermediate_size": 96, "image_size": 32,
             "patch_size": 8}  # fmt: skip
    model = transformers.ViTForImageClassification(transformers.ViTConfig(**shape, num_labels=2, id2label={0: "x", 1: "y"}))
    model.save_pretrained(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    (tmp_path / "preprocessor_config.json").write_text('{"image_processor_type": "ViTImageProcessor", "size": 32}')
    torch.save({"state_dict": model.state_dict(), "mean": MEAN, "std": STD, "classes": ["p", "q"]}, tmp_path / "pytorch_model.bin")
    vit, said = opened(tmp_path)
    assert vit.labels == ("x", "y") and vit.mean == (0.5, 0.5, 0.5)
    assert "mean, std in the file says something else" in said and "classes in the file says something else" in said


def test_the_architecture_that_is_named_answers_where_its_tensors_fit(tmp_path):
    import timm

    named = timm.create_model("vit_base_patch32_clip_quickgelu_224", num_classes=2).eval()
    args = argparse.Namespace(model="vit_base_patch32_clip_quickgelu_224", img_size=None, mean=None, interpolation="")
    torch.save({"arch": args.model, "state_dict": named.state_dict(), "args": args}, tmp_path / "a.pth")
    vit, _ = opened(tmp_path / "a.pth")
    assert vit.assumed["activation"] == "quick_gelu" and "arch in the file says" in vit.assumed_because["activation"]
    x = torch.randn(1, 3, 224, 224)
    torch.testing.assert_close(vit.module(x), named(x), rtol=0, atol=1e-4)
    other = timm_vit(embed_dim=128, num_heads=2, depth=1, num_classes=2)
    torch.save({"arch": args.model, "state_dict": other.state_dict()}, tmp_path / "b.pth")
    assert opened(tmp_path / "b.pth")[0].assumed["activation"] == "gelu"


def test_the_size_of_the_input_that_is_named(module, tmp_path):
    import timm

    rotary = timm.create_model("vit_small_patch16_dinov3", depth=1, img_size=96, num_classes=2).eval()
    torch.save({"state_dict": rotary.state_dict(), "args": argparse.Namespace(img_size=96)}, tmp_path / "a.pth")
    vit, _ = opened(tmp_path / "a.pth")
    assert vit.grid.image_px == (96, 96) and "output" in vit.assumed
    assert "img_size" in dict(inspect(tmp_path / "a.pth").facts)["read from the file"]
    other = timm.create_model("convnext_atto", num_classes=2).eval()
    torch.save(
        {"state_dict": other.state_dict(), "args": argparse.Namespace(model="convnext_atto", img_size=96)}, tmp_path / "c.pth"
    )
    torch.testing.assert_close(opened(tmp_path / "c.pth")[0].module(x := torch.randn(1, 3, 224, 224)), other(x), rtol=0, atol=1e-4)
    table = {**module.state_dict(), "pos_embed": torch.randn(1, 25, 128)}  # 25 tokens: 4×6 patches, or 5×5 without a class token
    torch.save({"state_dict": table, "input_size": (3, 32, 48)}, tmp_path / "b.pth")
    vit, _ = opened(tmp_path / "b.pth")
    assert (vit.grid.rows, vit.grid.cols) == (4, 6) and "input_size" in vit.assumed_because["grid"]


def test_an_average_of_some_weights_without_names_is_named(module, tmp_path):
    torch.save({"model": module.state_dict(), "ema": {"shadow_params": [torch.ones(4, 128)]}}, tmp_path / "a.pth")
    assert "are not used here (ema.shadow_params)" in opened(tmp_path / "a.pth")[1]


def cyclic() -> dict[str, Any]:
    inner: dict[str, Any] = {"classes": []}
    inner["inner"] = inner
    inner["classes"].append(inner["classes"])
    return inner


HOSTILE: dict[str, Callable[[], Any]] = {
    "cyclic": cyclic, "deep": lambda: json.loads('{"a":' * 300 + "1" + "}" * 300), "long": lambda: {"classes": "[" * 10**6},
    "many": lambda: {"classes": ["x"] * 10**5, "mean": [0.1] * 10**5, "std": [1.0] * 10**5},
    "numbers": lambda: {"class_to_idx": {"a": 10**30, "b": -1, "c": float("nan"), "d": 0}, "num_heads": 10**400},
    "endless": lambda: {"mean": [float("inf")] * 3, "std": [float("nan")] * 3, "crop_pct": float("nan")},
}  # fmt: skip


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_settings_change_nothing(kind, module, tmp_path):
    torch.save({"state_dict": module.state_dict(), "settings": HOSTILE[kind]()}, tmp_path / "a.pth")
    vit, _ = opened(tmp_path / "a.pth")
    assert vit.labels == tuple(f"class {i}" for i in range(4)) and "normalise" in vit.assumed


def opened(path: Path) -> tuple[vitcore.Vit, str]:
    """The model, and what is said of it beside what is assumed."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        vit = vitcore.load(path)
    return vit, " ".join(str(one.message) for one in caught if not issubclass(one.category, AssumedAnswersWarning))
