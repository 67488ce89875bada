"""`hf-hub:` ids: a repository's configuration and weights from a hub on this machine, and what is said when it has none."""

import pytest
import torch

from tests.checkpoints import transformers_model
from tests.local_hub import a_hub, point_at
from vitcore.models import hub_folder, load_model
from vitcore.models.model_cards import ModelError

ID = "hf-hub:some/vit"


@pytest.fixture
def hub(tmp_path, monkeypatch):
    with a_hub(tmp_path, monkeypatch) as server:
        yield server


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """A model of transformers', and the files of its directory."""
    folder = tmp_path_factory.mktemp("repository")
    module = transformers_model("ViTForImageClassification")
    module.save_pretrained(folder)
    return module, {file.name: file.read_bytes() for file in folder.iterdir()}


def test_a_repository_is_fetched_once(hub, repository, tmp_path, monkeypatch):
    module, files = repository
    hub.files["some/vit"] = files
    seen = []
    vit = load_model.load(ID, progress=lambda done, total: seen.append((done, total)))
    x = torch.randn(1, 3, 32, 32)
    with torch.inference_mode():
        assert torch.allclose(vit.module(x), module(x).logits, rtol=0, atol=1e-5)
    assert vit.name == ID and seen[-1] == (len(files["model.safetensors"]),) * 2
    point_at("http://127.0.0.1:9", tmp_path, monkeypatch)
    assert load_model.load(ID).name == ID, "it is here already"


def test_weights_of_another_kind_of_model_are_not_fetched(hub, repository):
    hub.files["some/vit"] = repository[1] | {"config.json": b'{"model_type": "llama", "num_attention_heads": 4}'}
    with pytest.raises(ModelError, match="llama"):
        load_model.load(ID)
    assert not any("model.safetensors" in line for line in hub.asked)


REFUSALS = {  # how the hub answers, and what is said
    "401": ({"says": 401, "code": "RepoNotFound"}, "no model some/vit"), "403": ({"says": 403, "code": "GatedRepo"}, "is gated"),
    "404": ({"says": 404, "code": "RepoNotFound"}, "no model"), "500": ({"says": 500, "code": ""}, "error"),
    "slow": ({"waits": 0.5}, "can't be reached"), "half a file": ({"cut": 50_000}, "some/vit"),
}  # fmt: skip


@pytest.mark.parametrize("kind", REFUSALS)
def test_a_hub_that_refuses(hub, repository, monkeypatch, kind):
    answer, said = REFUSALS[kind]
    usual = {name: getattr(hub, name) for name in answer}
    hub.files["some/vit"] = repository[1]
    with monkeypatch.context() as patch:
        if kind == "slow":
            patch.setattr(hub_folder, "TIMEOUT_SECONDS", 0.1)
        if kind == "half a file":
            hub.files["some/vit"] = {"model.safetensors": repository[1]["model.safetensors"]}
        vars(hub).update(answer)
        with pytest.raises(ModelError, match=said):
            load_model.load(ID)
    vars(hub).update(usual)
    hub.files["some/vit"] = repository[1]
    assert load_model.load(ID).name == ID, "a second try works"


def test_a_repository_without_weights(hub):
    hub.files["some/vit"] = {"config.json": b'{"num_attention_heads": 2, "patch_size": 8}'}
    with pytest.raises(ModelError, match="holds no weights"):
        load_model.load(ID)
