"""timm's own files: folders that name their architecture, and bare states of models whose positions are no table."""

import pytest
import timm
import torch
from checkpoints import lively

from vitcore.models import load_model

ASKED = ("vit_pe_spatial_tiny_patch16_512", "vit_small_patch16_rope_ape_224")  # a plain ViT may have just these tensors


def model(name, **more):
    torch.manual_seed(0)
    return lively(timm.create_model(name, num_classes=3, **more))


def same(vit, module):
    x = torch.randn(1, 3, *vit.grid.image_px)
    with torch.inference_mode():
        assert torch.allclose(vit.module(x), module(x), rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", ASKED)
def test_what_names_do_not_tell_is_asked(name, tmp_path):
    module = model(name, depth=2)
    torch.save(module.state_dict(), tmp_path / "bare.pth")
    found = load_model.inspect(tmp_path / "bare.pth")
    question = next(q for q in found.questions if q.key == "architecture")
    assert question.choices == ("vit", name)
    same(load_model.open_inspected(found, {"architecture": name}), module)
    plain = load_model.open_inspected(found, {"architecture": "vit"})
    with torch.inference_mode():
        x = torch.randn(1, 3, *plain.grid.image_px)
        assert not torch.allclose(plain.module(x), module(x), atol=1e-3)
    with pytest.raises(load_model.ModelError, match=name):
        load_model.open_inspected(found, {"architecture": "resnet50"})
    found.write_card(found.card({"architecture": name}))
    same(load_model.load(tmp_path / "bare.pth"), module)


def test_no_positions_and_no_architecture_that_fits_is_refused_and_a_plain_model_asked_nothing(tmp_path, monkeypatch):
    """Blocks that only a name promises are not built: ten thousand for each architecture would take minutes."""
    file = tmp_path / "bare.pth"
    torch.save(model("vit_tiny_patch16_224", depth=1, img_size=32).state_dict(), file)
    assert "architecture" not in {q.key for q in load_model.inspect(file).questions}
    nowhere = model("vit_tiny_patch16_224", depth=1, img_size=32, pos_embed="none").state_dict()
    promised = {"patch_embed.proj.weight": torch.zeros(384, 3, 16, 16), "blocks.9999.norm1.weight": torch.zeros(384)}
    for state in (nowhere, promised):
        torch.save(state, file)
        with pytest.raises(load_model.ModelError, match="holds no position embeddings"):
            load_model.load(file)
        monkeypatch.setattr(timm, "create_model", lambda *_, **__: pytest.fail("it builds a model"))
