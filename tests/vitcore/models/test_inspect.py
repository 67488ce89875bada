"""`vitcore inspect`: what is said of a file that nobody described, the answers that are taken, and the card that settles them."""

import json

import pytest
import torch
from safetensors.torch import save_file

from tests.checkpoints import smooth
from tests.conftest import SAMPLES, timm_vit
from vitcore.__main__ import main
from vitcore.models import load_model
from vitcore.models.checkpoint_inspection.saved_settings.class_names_file import read_class_names
from vitcore.models.model_cards import ModelError


@pytest.fixture
def file(tmp_path):
    module = timm_vit(3, embed_dim=48, num_heads=6, img_size=(32, 48), num_classes=3)
    smooth(module.pos_embed, 4, 6)
    save_file(module.state_dict(), tmp_path / "mine.safetensors")
    return module, tmp_path / "mine.safetensors"


def test_what_is_asked(file):
    found = load_model.inspect(file[1])
    asked = {q.key: q for q in found.questions}
    assert list(asked) == ["heads", "activation", "eps", "pool", "output", "normalise", "grid"]
    assert asked["grid"].likely == (4, 6) and (6, 4) in asked["grid"].choices
    assert asked["heads"].choices == (1, 2, 3, 4, 6, 8, 12) and "48" in asked["heads"].consequence
    assert all(q.sentence.endswith("?") and q.consequence for q in found.questions)
    rest = {"activation": "gelu", "eps": "1e-06", "pool": "token", "output": "softmax", "normalise": "imagenet", "grid": "4x6"}
    assert found.assumed_answers({"heads": 6}) == rest | {"norm_place": "before", "crop": "center", "interpolation": "bicubic"}
    assert found.params == sum(p.numel() for p in file[0].parameters()) and found.problems == ()


def test_the_card_settles_everything(file, capsys):
    module, path = file
    names = path.with_name("names.txt")
    names.write_text("cat\ndog\nowl\n", encoding="utf-8")
    told = ["--heads", "6", "--normalise", "0.1,0.2,0.3/0.4,0.5,0.6", "--labels", str(names)]
    assert main(["inspect", str(path), *told, "--write-card"]) == 0
    said = capsys.readouterr().out
    assert "mine.json" in said and "--heads 6\n" in said and "--eps 1e-06 (likely)" in said and f"{3:>3}" in said
    vit, x = load_model.load(path), torch.randn(1, 3, 32, 48)
    with torch.inference_mode():
        assert torch.equal(vit.module(x), module(x))
    assert vit.labels == ("cat", "dog", "owl") and vit.mean == (0.1, 0.2, 0.3) and vit.heads == 6
    assert main(["inspect", str(path), "--write-card"]) == 2, "a card that is there is not replaced"


def test_every_verb_takes_the_answers(file, capsys):
    photo = str(SAMPLES / "astronaut.jpg")
    assert main(["distance", photo, "--model", str(file[1]), "--heads", "6", "--json"]) == 0
    said = capsys.readouterr()
    assert [len(row) for row in json.loads(said.out)["distance_px"]] == [6, 6, 6]
    assert "activation=gelu" in said.err and "heads" not in said.err
    assert main(["positions", "--model", str(file[1]), "--heads", "5", "--json"]) == 2
    assert "1 · 2 · 3 · 4 · 6" in capsys.readouterr().err


def test_json_lists_what_does_not_fit(file, capsys):
    state = file[0].state_dict()
    save_file({k: v for k, v in state.items() if k != "norm.bias"}, file[1])
    assert main(["inspect", str(file[1]), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["problems"] == ["missing: norm.bias"] and said["card"]["architecture"]["embed_dim"] == 48
    assert main(["positions", "--model", str(file[1])]) == 2
    assert "missing: norm.bias" in capsys.readouterr().err


WRONG = [("heads", "many"), ("eps", "2"), ("eps", "x"), ("grid", "3x7"), ("grid", "4"), ("normalise", "1,2/3"), ("pool", "sum"),
         ("normalise", "0,0,0/1,0,1"), ("activation", "tanh"), ("colour", "blue")]  # fmt: skip


@pytest.mark.parametrize("key, answer", WRONG, ids=str)
def test_answers_that_are_impossible(key, answer, file):
    with pytest.raises(ModelError):
        load_model.load(file[1], answers={key: answer})


NAMES = {
    "lines": "cat\ndog\n\n", "a list": '["cat", "dog"]', "id2label": '{"id2label": {"1": "dog", "0": "cat"}}',
    "label2id": '{"dog": 1, "cat": 0}', "ImageNet's": '{"0": ["n01", "cat"], "1": ["n02", "dog"]}',
}  # fmt: skip


@pytest.mark.parametrize("kind", NAMES)
def test_names_of_classes(kind, tmp_path):
    (tmp_path / "names").write_text(NAMES[kind], encoding="utf-8")
    assert read_class_names(tmp_path / "names") == ["cat", "dog"]


@pytest.mark.parametrize("text", ["", "{", "[1", '{"cat": 3}', '{"a": "b"}', "\n\n"])
def test_files_without_names(text, tmp_path):
    (tmp_path / "names").write_text(text)
    with pytest.raises(ModelError, match="no class names"):
        read_class_names(tmp_path / "names")
    with pytest.raises(ModelError, match="gone"):
        read_class_names(tmp_path / "gone")


@pytest.mark.parametrize(("rows", "cols"), [(18, 32), (14, 16), (20, 32), (8, 16), (24, 6), (16, 16)], ids=[
    "as many as a square", "with the class token as many as a square", "a prime number with it", "3 times 43 with it", "tall",
    "square",
])  # fmt: skip
def test_a_shape_that_the_positions_tell(rows, cols, tmp_path):
    """Of the shipped model at another size: whatever else so many tokens could be, its neighbours are alike in one shape only."""
    resized = load_model.load(image_px=(8 * rows, 8 * cols))
    save_file(resized.module.state_dict(), tmp_path / "resized.safetensors")
    vit = load_model.load(tmp_path / "resized.safetensors", answers={"normalise": "imagenet"})  # else it looks at photos
    assert (vit.grid.rows, vit.grid.cols, vit.grid.prefix) == (rows, cols, 1)


def test_a_shape_that_positions_do_not_tell_may_be_told(tmp_path):
    wide = timm_vit(img_size=(32, 72))  # 4×9 patches of random positions are as many as 6×6
    save_file(wide.state_dict(), tmp_path / "wide.safetensors")
    found = load_model.inspect(tmp_path / "wide.safetensors")
    assert "grid" not in [question.key for question in found.questions]
    assert load_model.load(tmp_path / "wide.safetensors").grid.rows == 6
    told = load_model.load(tmp_path / "wide.safetensors", answers={"grid": "4x9"})
    assert (told.grid.rows, told.grid.cols) == (4, 9)
    with pytest.raises(ModelError, match=r"Choose one of .*6x6"):
        load_model.load(tmp_path / "wide.safetensors", answers={"grid": "5x7"})
