"""The models: from this package, from a file with its card, from a hub, or placed by hand; and what is said when not."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from safetensors.torch import save, save_file

from tests.conftest import TINY, timm_vit
from tests.local_hub import a_hub, point_at
from tests.model_files import model_file, run_folder
from vitcore.forward.recording import record
from vitcore.models import load_model
from vitcore.models.load_model import fetch_weights, load
from vitcore.models.model_cards import DEFAULT_MODEL, MODEL_CARDS, ModelError

SMALL = "test_vit.r160_in1k"  # timm's own test model: 0.4 M parameters, 160 px


def refusal(run, *given, **options) -> str:
    with pytest.raises(ModelError) as caught:
        run(*given, **options)
    said = str(caught.value)
    assert said.isprintable() and 10 < len(said) < 400, said
    return said


# The shipped model


def test_the_shipped_model_is_small_frozen_and_its_card_is_true(shipped):
    assert (shipped.blocks, shipped.heads, shipped.pooling, shipped.hybrid) == (12, 3, "class token", False)
    grid, parameters = shipped.grid, list(shipped.module.parameters())
    assert (grid.rows, grid.cols, grid.patch_px, grid.prefix, grid.image_px) == (16, 16, 8, 1, (128, 128))
    assert len(shipped.labels) == 1000 and shipped.labels[:2] == ("tench", "goldfish")
    assert (load_model.SHIPPED / f"{DEFAULT_MODEL}.safetensors").stat().st_size <= 12 * 10**6
    assert shipped.card.params_m == pytest.approx(sum(p.numel() for p in parameters) / 1e6, abs=0.1) == MODEL_CARDS[0].params_m
    assert shipped.card.download_mb == 0 and shipped.card.licence == "Apache-2.0"
    assert not shipped.module.training and not any(p.requires_grad for p in parameters)
    assert {p.dtype for p in parameters} == {torch.float32}


def test_loading_needs_no_network(shipped, monkeypatch):
    monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("the network was used"))
    assert load().name == load(DEFAULT_MODEL).name == shipped.name == DEFAULT_MODEL


# A file with its card


@pytest.fixture
def own(tmp_path):
    """A model file with its card beside it, and the module it came from."""
    module = timm_vit(7)
    file = tmp_path / "mine.safetensors"
    save_file({k: v.contiguous() for k, v in module.state_dict().items()}, file)
    facts = {
        "card": {"title": "Mine", "params_m": 0.03, "download_mb": 0, "licence": "Apache-2.0", "good_for": "tests"},
        "architecture": TINY,
        "input": {"mean": [0.5] * 3, "std": [0.25] * 3, "interpolation": "bilinear", "crop_pct": 1.0, "crop_mode": "center"},
    }
    file.with_suffix(".json").write_text(json.dumps(facts))
    return SimpleNamespace(file=file, card=file.with_suffix(".json"), facts=facts, module=module)


@torch.inference_mode()
def test_a_file_with_its_card_and_without_it_is_inferred(own):
    x = torch.randn(1, 3, 32, 32)
    vit = load(own.file)
    assert (vit.name, vit.card.title, vit.card.good_for) == ("mine", "Mine", "tests")
    assert (vit.mean, vit.std, len(vit.labels)) == ((0.5,) * 3, (0.25,) * 3, 10)
    assert torch.equal(vit.module(x), own.module(x)) and load(str(own.file)).name == "mine"
    own.card.unlink()
    vit = load(own.file, answers={"heads": 3, "normalise": "half"})
    assert (vit.name, vit.mean, vit.heads, vit.blocks) == ("mine", (0.5,) * 3, 3, 3)
    assert torch.equal(vit.module(x), own.module(x))


def test_half_precision_files_are_read_as_32_bits(own):
    save_file({k: v.half().contiguous() for k, v in own.module.state_dict().items()}, own.file)
    weights = load(own.file).module.state_dict()
    assert {w.dtype for w in weights.values()} == {torch.float32}
    assert torch.allclose(weights["pos_embed"], own.module.pos_embed, atol=2e-3)


@pytest.mark.parametrize("image_px, rows, cols", [(48, 6, 6), ((32, 56), 4, 7), ((64, 40), 8, 5)])
def test_another_input_size(own, noise, image_px, rows, cols):
    vit = load(own.file, image_px=image_px)
    assert (vit.grid.rows, vit.grid.cols, vit.grid.patch_px) == (rows, cols, 8)
    expected = load_model.resample_positions(load(own.file), rows, cols, "timm")
    assert np.allclose(load_model.position_embeddings(vit), expected, atol=1e-6)
    assert record(vit, noise()).rollout().shape == (rows, cols)


DAMAGED_CARDS = {
    "empty": b"", "not JSON": b"{", "binary": b"\x00\x01", "a list": b"[]", "a number": b"3", "null": b"null", "a string": b'"x"',
    "no architecture": b"{}", "no text": b"\xff\xfe\x80" * 50,
}  # fmt: skip
WRONG_FACTS = [
    ("architecture", {"num_heads": 5, "embed_dim": 48, "depth": 4, "img_size": "x", "patch_size": 0, "colour": "blue"}),
    ("architecture", {"num_classes": -1}),
    ("card", {"colour": "blue", "title": None}), ("input", {"mean": None, "std": "wide"}),
]  # fmt: skip
DAMAGED_WEIGHTS = {
    **{f"{keep} bytes": lambda data, keep=keep: data[:keep] for keep in (0, 4, 200, -100)},
    "something else": lambda data: np.random.default_rng(0).bytes(3000), "another model": lambda data: save({"x": torch.zeros(3)}),
}  # fmt: skip


@pytest.mark.parametrize("text", DAMAGED_CARDS.values(), ids=DAMAGED_CARDS)
def test_damaged_cards(own, text):
    own.card.write_bytes(text)
    assert "mine." in refusal(load, own.file)


@pytest.mark.parametrize("part, key, value", [(part, *fact) for part, facts in WRONG_FACTS for fact in facts.items()], ids=str)
def test_cards_that_are_wrong(own, part, key, value):
    facts = {**own.facts, part: {**own.facts[part], key: value}}
    if value is None:
        del facts[part][key]
    own.card.write_text(json.dumps(facts))
    assert "mine." in refusal(load, own.file)


@pytest.mark.parametrize("damage", DAMAGED_WEIGHTS.values(), ids=DAMAGED_WEIGHTS)
def test_damaged_weights(own, damage):
    own.file.write_bytes(damage(own.file.read_bytes()))
    assert "mine." in refusal(load, own.file)


# A run's folder


ANIMALS = [f"animal {i}" for i in range(10)]


def test_a_runs_folder_is_a_model(tmp_path, monkeypatch):
    module = run_folder(tmp_path / "runs" / "animals", labels=ANIMALS)
    monkeypatch.chdir(tmp_path)
    x = torch.randn(1, 3, 32, 32)
    for name in ("runs/animals", Path("runs/animals")):
        vit = load(name)
        assert (vit.name, vit.card.title, vit.labels) == ("runs/animals", "Mine", tuple(ANIMALS))
        with torch.inference_mode():
            assert torch.equal(vit.module(x), module(x))
    assert load(vit.name).name == vit.name
    assert load("runs/animals", image_px=48).grid.image_px == (48, 48)


def test_places_where_there_is_no_model(tmp_path):
    assert "nowhere.safetensors does not exist" in refusal(load, tmp_path / "nowhere.safetensors")
    assert refusal(load, tmp_path) == f"{tmp_path} is a directory that holds no model: neither weights nor a config.json."
    (tmp_path / "recipe.json").write_text("{}")
    assert "no model yet" in refusal(load, tmp_path)
    run_folder(tmp_path / "r")
    for damage in (lambda file: file.write_bytes(b"x"), lambda file: file.unlink()):
        damage(tmp_path / "r" / "model.safetensors")
        assert f"{tmp_path.name}/r/model.safetensors" in refusal(load, tmp_path / "r")


def test_labels_of_a_card_come_before_imagenets(tmp_path):
    model_file(tmp_path / "a.safetensors", num_classes=1000, labels=[f"n{i}" for i in range(1000)])
    model_file(tmp_path / "b.safetensors", num_classes=1000)
    a, b = load(tmp_path / "a.safetensors"), load(tmp_path / "b.safetensors")
    assert a.labels[:2] == ("n0", "n1") and load_model.wordnet_ids(a) == ()
    assert b.labels[:2] == ("tench", "goldfish") and load_model.wordnet_ids(b)[:2] == ("n01440764", "n01443537")
    assert load_model.wordnet_ids(load(tmp_path / "a.safetensors")) == ()


@pytest.mark.parametrize("labels", [[], ["a"] * 9, ["a"] * 11, "abcdefghij", {"a": 1}, 3], ids=str)
def test_labels_that_do_not_fit(tmp_path, labels):
    model_file(tmp_path / "mine.safetensors", labels=labels)
    said = refusal(load, tmp_path / "mine.safetensors")
    assert "mine." in said and ("10 names" in said or "labels" in said)


def test_the_papers_pre_training_head(tmp_path):
    module = model_file(tmp_path / "mine.safetensors", mlp_head=True, labels=ANIMALS)
    vit, x = load(tmp_path / "mine.safetensors"), torch.randn(2, 3, 32, 32)
    head = [name for name in vit.module.state_dict() if name.startswith("head.")]
    assert head == ["head.0.weight", "head.0.bias", "head.2.weight", "head.2.bias"]
    with torch.inference_mode():
        assert torch.equal(vit.module(x), module(x)) and vit.module(x).shape == (2, 10)
        assert vit.module.forward_head(vit.module.forward_features(x), pre_logits=True).shape == (2, 24)
    assert not any(p.requires_grad for p in vit.module.parameters())


def test_the_filters_that_meet_the_pixels(shipped, hybrid):
    assert np.array_equal(load_model.first_layer_filters(shipped), load_model.patch_kernel(shipped))
    assert np.array_equal(load_model.first_layer_filters(hybrid), load_model.root_kernel(hybrid))


# Names


HOSTILE = [
    "", " ", "no_such_model", "vit_tiny_patch16_224.no_such_tag", "../../etc/passwd", "a\nb", "nul\x00l", "x" * 5000,
    "https://example.org/model", "hf-hub:", "hf-hub:some", "hf-hub:a/b/c", "hf-hub:../x/y", "hf-hub:some/mo del",
    "test_vit.r160_in1k/..", "<b>", "%s{0}",
]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_names_that_mean_nothing(name, monkeypatch):
    monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("the network was used"))
    refusal(load, name)


@pytest.mark.parametrize(("said", "hint"), [
    ("vit-tiny-patch8-182", f"the nearest name is {load_model.DEFAULT_MODEL}."),
    ("vit_base_patch16_24", "the nearest name is vit_base_patch16_224."),
    ("vit_base_patch16_224.augreg_in21k_ft_in1", "the nearest name is vit_base_patch16_224.augreg_in21k_ft_in1k."),
    ("google/vit-base-patch16-224", "write a model of the hub as hf-hub:google/vit-base-patch16-224."),
    ("https://huggingface.co/facebook/dino-vits8", "write a model of the hub as hf-hub:facebook/dino-vits8."),
    ("https://hf.co/owner/name/tree/v1.0?show=all", "write a model of the hub as hf-hub:owner/name@v1.0."),
    ("https://huggingface.co/owner/name/tree/main", "write a model of the hub as hf-hub:owner/name."),
])  # fmt: skip
def test_a_slip_of_the_hand_is_told_the_nearest_name_and_a_model_of_the_hub_how_to_ask_for_it(said, hint):
    assert refusal(load, said).endswith(f"{said!r}; {hint}")


# A hub, ours


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """A hub on this machine; `hub.files` maps a repository to the bytes of its model."""
    with a_hub(tmp_path, monkeypatch) as server:
        yield server


@pytest.fixture
def by_hand(tmp_path, monkeypatch):
    """The folder of models placed by hand, where no hub answers."""
    point_at("http://127.0.0.1:9", tmp_path, monkeypatch)
    (tmp_path / "by-hand").mkdir()
    return tmp_path / "by-hand"


def test_a_hub_that_cannot_be_reached_and_a_file_placed_by_hand(by_hand, small):
    with pytest.raises(ModelError, match="can't be reached") as refused:
        load(SMALL)
    (note,), place = refused.value.__notes__, by_hand / f"{SMALL}.safetensors"
    assert str(place) in note and f"timm/{SMALL}" in note
    assert str(place) not in str(refused.value), "a visitor reads no server's path"
    module, data = small
    place.write_bytes(data)
    assert torch.equal(load(SMALL).module.pos_embed, module.pos_embed)
    assert load(SMALL, image_px=(160, 192)).grid.image_px == (160, 192)
    place.write_bytes(data[:5000])
    assert SMALL in refusal(load, SMALL)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Random weights of timm's test model, and the bytes of their file."""
    import timm

    module = timm.create_model(SMALL, pretrained=False)
    file = tmp_path_factory.mktemp("small") / "model.safetensors"
    save_file(module.state_dict(), file)
    return module.eval(), file.read_bytes()


def test_a_model_is_downloaded_once_with_progress(hub, small, capsys):
    module, data = small
    hub.files[f"timm/{SMALL}"] = data
    seen = []
    vit = load(SMALL, progress=lambda done, total: seen.append((done, total)))
    assert seen and seen[-1] == (len(data), len(data))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen) and {total for _, total in seen} == {len(data)}
    assert vit.name == SMALL and vit.grid.image_px == (160, 160) and len(vit.labels) == 1000
    assert all(torch.equal(v, vit.module.state_dict()[k]) for k, v in module.state_dict().items())
    load(SMALL)
    assert capsys.readouterr().err == "", "the caller draws the progress, nobody else"
    assert hub.asked.count(f"GET /timm/{SMALL}/resolve/main/model.safetensors") == 1


def test_what_was_downloaded_is_there_without_the_hub(hub, small, tmp_path, monkeypatch):
    hub.files[f"timm/{SMALL}"] = small[1]
    file = fetch_weights(SMALL)
    point_at("http://127.0.0.1:9", tmp_path, monkeypatch)
    assert fetch_weights(SMALL) == file and load(SMALL).name == SMALL


HUBS = {  # what it has in the place of the model's file, and after how many bytes it breaks off
    "another file only": (None, None), "a connection that breaks off": ("the model", 100_000),
    "a damaged file": (b"no model" * 99, None),
}  # fmt: skip


@pytest.mark.parametrize("kind", ["nothing", *HUBS])
def test_a_hub_that_does_not_give_it(hub, small, kind):
    if kind in HUBS:
        data, hub.cut = HUBS[kind]
        hub.files[f"timm/{SMALL}"] = small[1] if data == "the model" else data
    said = refusal(load, SMALL)
    assert SMALL in said and (kind in HUBS or "no model" in said)


def test_names_timm_does_not_know_are_not_asked_for(hub):
    for name in ("vit_nonsense_patch16_224", f"{SMALL}x"):
        assert name in refusal(load, name)
    assert [line for line in hub.asked if "/resolve/" in line] == []


def test_an_error_of_the_transport(hub, small, monkeypatch):
    import huggingface_hub

    class TransportError(Exception):
        """The hub's client and its transports have exceptions of their own."""

    def broken(*_, **__):
        raise TransportError("line one\nline two")

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", broken)
    assert SMALL in refusal(load, SMALL)


def test_a_mistake_of_ours_does_not_read_as_a_hub_out_of_reach(hub, small, monkeypatch):
    hub.files[f"timm/{SMALL}"] = small[1]
    monkeypatch.setattr("vitcore.models.hub_ids_and_weights._progress_bar", lambda: None)  # called with one argument
    with pytest.raises(TypeError, match="positional argument"):
        load(SMALL)


def test_a_model_whose_patch_is_one_number(by_hand):
    """As timm's XCiT has it, and not only (height, width)."""
    import timm

    name = "xcit_nano_12_p16_224"
    save_file(timm.create_model(name).state_dict(), by_hand / f"{name}.safetensors")
    assert load(name).grid.image_px == (224, 224)
    assert load(name, image_px=(96, 128)).grid.image_px == (96, 128)


# Models of one's own


def test_the_grid_of_a_wrapped_model_is_read_from_it_and_not_from_its_name(make_vit, hybrid):
    vit = make_vit(img_size=(40, 48), patch_size=(8, 16), reg_tokens=2)
    grid = vit.grid
    assert (grid.rows, grid.cols, grid.step_px, grid.prefix, grid.image_px) == (5, 3, (8, 16), 3, (40, 48))
    assert vit.labels == tuple(f"class {i}" for i in range(10))
    assert hybrid.hybrid and (hybrid.grid.rows, hybrid.grid.cols, hybrid.grid.patch_px) == (7, 7, 32)


@pytest.mark.parametrize("kind, said", [
    ({}, "class token"), ({"reg_tokens": 4}, "class token"), ({"global_pool": "avg"}, "mean of patches"),
    ({"global_pool": "max"}, "mean of patches"),
    ({"class_token": False, "global_pool": "avg"}, "mean of patches"),
    ({"class_token": False, "global_pool": "map"}, "attention pool"),
])  # fmt: skip
def test_where_the_answer_is_read(make_vit, kind, said):
    assert make_vit(**kind).pooling == said


@pytest.mark.parametrize("size", [0, -8, 100_000, "128", (128,), (64, -8), 12.5, True])
def test_what_is_no_input_size_is_one_sentence(size):
    said = refusal(load, image_px=size)
    assert re.search("number of pixels from 1 to 4,096", said) and repr(size) in said
    near = "100×130 px is not a whole number of patches of 8×8 px; 96×128 px is"
    assert near in refusal(load, image_px=(100, 130)), "which near one they fill"
