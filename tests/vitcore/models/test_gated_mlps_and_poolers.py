"""Layers that a state's tensors cannot tell apart: a gated MLP's gate, transformers' pooler, OpenCLIP's MLP head."""

import warnings
from functools import partial

import pytest
import timm
import torch
import transformers as T
from checkpoints import lively
from safetensors.torch import save_file
from timm.layers import GluMlp, SwiGLU
from torch import nn

import vitcore

SHAPE = {"img_size": 32, "patch_size": 8, "embed_dim": 96, "depth": 2, "num_heads": 3, "num_classes": 5}
TRANSFORMERS = {"hidden_size": 96, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 192,
                "image_size": 32, "patch_size": 8}  # fmt: skip


def answers_equal(file, module, answers):
    """The model opened with these answers answers as the module does, and so does the same once its card is written."""
    x = torch.randn(2, 3, 32, 32)
    with warnings.catch_warnings(action="ignore"), torch.inference_mode():
        inspection = vitcore.inspect(file)
        torch.testing.assert_close(vitcore.load(file, answers=answers).module(x), module(x), rtol=0, atol=1e-5)
        inspection.write_card(inspection.card(answers))
        torch.testing.assert_close(vitcore.load(file).module(x), module(x), rtol=0, atol=1e-5)
    return inspection


@pytest.mark.parametrize("activation", ["silu", "gelu", "sigmoid"])
@pytest.mark.parametrize("gate", ["first half", "second half", ""])
def test_the_gate_of_a_gated_mlp_is_asked(gate, activation, tmp_path):
    mlp = partial(GluMlp, gate_last=gate == "second half") if gate else SwiGLU
    module = lively(timm.models.VisionTransformer(**SHAPE, mlp_layer=mlp, act_layer=activation)).eval()
    save_file(module.state_dict(), tmp_path / "a.safetensors")
    told = {"heads": 3, "activation": activation} | ({"gate": gate} if gate else {})
    inspection = answers_equal(tmp_path / "a.safetensors", module, told)
    likely = {q.key: q.likely for q in inspection.questions}
    assert likely["activation"] == "silu" and likely.get("gate", "") == ("first half" if gate else "")
    assert {"activation"} < set(inspection.assumed_answers())


class Pooled(nn.Module):
    """transformers' ViT below a classifier of one's own, as people write it."""

    def __init__(self, reads_pooler, classifier):
        super().__init__()
        self.vit, self.classifier, self.reads_pooler = T.ViTModel(T.ViTConfig(**TRANSFORMERS)), classifier, reads_pooler

    def forward(self, x):
        out = self.vit(pixel_values=x)
        return self.classifier(out.pooler_output if self.reads_pooler else out.last_hidden_state[:, 0])


@pytest.mark.parametrize("classifier", ["linear", "layers"])
@pytest.mark.parametrize("reads_pooler", [False, True])
def test_whether_a_classifier_reads_the_pooler_is_asked(reads_pooler, classifier, tmp_path):
    layers = nn.Sequential(nn.Dropout(0.1), nn.Linear(96, 32), nn.ReLU(), nn.Linear(32, 5))
    module = lively(Pooled(reads_pooler, nn.Linear(96, 5) if classifier == "linear" else layers)).eval()
    torch.save(module.state_dict(), tmp_path / "a.pth")
    told = {"heads": 3, "eps": 1e-12, "pool": "pooler" if reads_pooler else "token"}
    inspection = answers_equal(tmp_path / "a.pth", module, told | ({"head_activation": "relu"} if classifier == "layers" else {}))
    assert "pooler" in next(q.choices for q in inspection.questions if q.key == "pool")


def test_openclips_mlp_head(tmp_path):
    import open_clip  # seconds, in every worker

    vision = {"timm_model_name": "vit_tiny_patch16_224", "timm_pool": "token", "timm_proj": "mlp", "image_size": 224}
    text = {"context_length": 8, "vocab_size": 64, "width": 64, "heads": 1, "layers": 1}
    module = open_clip.model.CLIP(16, vision, text).eval()
    lively(module.visual)
    torch.save(module.state_dict(), tmp_path / "a.pt")
    with warnings.catch_warnings(action="ignore"), torch.inference_mode():
        vit = vitcore.load(tmp_path / "a.pt", answers={"heads": 3})
        x = torch.randn(1, 3, 224, 224)
        torch.testing.assert_close(vit.module(x), module.visual(x), rtol=0, atol=1e-4)
    assert vit.output == "features" and "head_activation" not in vit.assumed


def test_an_activation_that_is_unknown_is_said(tmp_path):
    T.ViTForImageClassification(T.ViTConfig(**TRANSFORMERS, hidden_act="laplace")).save_pretrained(tmp_path / "a")
    with pytest.raises(vitcore.models.model_cards.ModelError, match="activation function that is not supported: 'laplace'"):
        vitcore.load(tmp_path / "a")
