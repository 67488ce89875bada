"""timm's own files: folders that name their architecture, and bare states of models whose positions are no table."""

import pytest
import timm
import torch
from checkpoints import lively

from tests.checkpoints import same_answers
from vitcore.models import load_model

ASKED = ("vit_pe_spatial_tiny_patch16_512", "vit_small_patch16_rope_ape_224")  # a plain ViT may have just these tensors


def model(name, **more):
    torch.manual_seed(0)
    return lively(timm.create_model(name, num_classes=3, **more))


@pytest.mark.parametrize("name", ASKED)
def test_what_names_do_not_tell_is_asked(name, tmp_path):
    module = model(name, depth=2)
    torch.save(module.state_dict(), tmp_path / "bare.pth")
    found = load_model.inspect(tmp_path / "bare.pth")
    question = next(q for q in found.questions if q.key == "architecture")
    assert question.choices == ("vit", name)
    same_answers(load_model.open_inspected_checkpoint(found, {"architecture": name}), module)
    plain = load_model.open_inspected_checkpoint(found, {"architecture": "vit"})
    with torch.inference_mode():
        x = torch.randn(1, 3, *plain.grid.image_px)
        assert not torch.allclose(plain.module(x), module(x), atol=1e-3)
    with pytest.raises(load_model.ModelError, match=name):
        load_model.open_inspected_checkpoint(found, {"architecture": "resnet50"})
    found.write_card(found.card({"architecture": name}))
    same_answers(load_model.load(tmp_path / "bare.pth"), module)


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


def test_eva_02_s_own_names(tmp_path):
    """As the training of its repository saves them: gates, norms and biases have other names, and rotations are kept."""
    module = model("eva02_base_patch14_224", depth=1, img_size=56)
    names = {"mlp.fc1_g": "mlp.w1", "mlp.fc1_x": "mlp.w2", "mlp.fc2": "mlp.w3", "mlp.norm": "mlp.ffn_ln",
             "attn.norm": "attn.inner_attn_ln", "q_proj.bias": "q_bias", "v_proj.bias": "v_bias"}  # fmt: skip
    state = {"rope.freqs_cos": torch.zeros(16, 64), "rope.freqs_sin": torch.zeros(16, 64)}
    for name, w in module.state_dict().items():
        part = next((part for part in names if part in name), "")
        state[name.replace(part, names[part]) if part else name] = w
    assert "blocks.0.attn.q_bias" in state and "blocks.0.mlp.ffn_ln.weight" in state
    torch.save({"module": state}, tmp_path / "eva.pt")
    same_answers(load_model.load(tmp_path / "eva.pt", image_px=(56, 56)), module)


def test_kinds_of_files_that_hold_no_plain_weights(tmp_path):
    """Each is refused for what it is: packed weights of eight bits, and a checkpoint in parts."""
    module = model("vit_tiny_patch16_224", depth=1, img_size=32)
    torch.save(torch.ao.quantization.quantize_dynamic(module, {torch.nn.Linear}).state_dict(), tmp_path / "eight.pth")
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "__0_0.distcp").write_bytes(b"x")
    for name, said in (("eight.pth", "blocks.0.attn.qkv as torch quantised it"), ("parts", "dcp_to_torch_save")):
        with pytest.raises(load_model.ModelError, match=said):
            load_model.load(tmp_path / name)


def test_a_classifier_behind_a_tower_s_projection_is_not_left_out_in_silence(tmp_path):
    tower = pytest.importorskip("open_clip.transformer").VisionTransformer(32, 8, 128, 2, 2, 4.0, output_dim=24)
    state = {f"model.visual.{name}": w for name, w in tower.state_dict().items()}
    torch.save({**state, "head.weight": torch.randn(5, 24), "head.bias": torch.zeros(5)}, tmp_path / "tuned.pth")
    found = load_model.inspect(tmp_path / "tuned.pth")
    assert "may be a classifier" in " ".join(found.warned_notes) and "head.weight" in found.part.unread_head


def test_a_card_of_other_patches_than_the_file_is_refused_before_a_kernel_is_resampled(tmp_path, monkeypatch):
    module = model("vit_tiny_patch16_224", depth=1, img_size=32)
    torch.save(module.state_dict(), tmp_path / "a.pth")
    found = load_model.inspect(tmp_path / "a.pth")
    card = found.card()
    card["architecture"] |= {"patch_size": 8, "img_size": 16}
    found.write_card(card)
    monkeypatch.setattr("timm.models.vision_transformer.resample_patch_embed", lambda *_, **__: pytest.fail("it resamples"))
    with pytest.raises(load_model.ModelError, match="can't be loaded"):
        load_model.load(tmp_path / "a.pth")
