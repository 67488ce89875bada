"""Graphs for ONNX: equal to PyTorch for every plain ViT, the shipped model's made again byte for byte, and what is refused."""

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

import vitcore
from tests.conftest import NORMALISE, lively
from tests.shipping.shipped_graph import shipped_graph
from vitcore.onnx_graph.check_exportable import OnnxGraphError
from vitcore.onnx_graph.export_onnx import make_onnx_graph
from vitcore.onnx_graph.graph_nodes_and_weight_offsets import OUTPUTS

onnxruntime = pytest.importorskip("onnxruntime")


def switches(vit, *off: tuple[int, int]) -> np.ndarray:
    heads = np.ones((vit.blocks, vit.heads, 1, 1), np.float32)
    for place in off:
        heads[place] = 0
    return heads


def run(folder, graph: bytes, image: torch.Tensor, heads: np.ndarray) -> dict[str, np.ndarray]:
    """What ONNX Runtime makes of a picture; it finds the weights beside the graph."""
    (folder / "model.onnx").write_bytes(graph)
    session = onnxruntime.InferenceSession(folder / "model.onnx", providers=["CPUExecutionProvider"])
    return dict(zip(OUTPUTS, session.run(list(OUTPUTS), {"image": image.numpy(), "heads": heads}), strict=True))


def saved(vit, folder, dtype=torch.float32):
    file = folder / "model.safetensors"
    save_file({name: t.to(dtype).contiguous() for name, t in vit.module.state_dict().items()}, file)
    return file


def distilled():
    from timm.models.deit import VisionTransformerDistilled

    return lively(VisionTransformerDistilled(img_size=32, patch_size=8, embed_dim=24, depth=2, num_heads=3, num_classes=7))


KINDS = {
    "registers, no position for prefix tokens": {"reg_tokens": 4, "no_embed_class": True, "init_values": 0.3},
    "registers with positions, pre-norm": {"reg_tokens": 2, "pre_norm": True},
    "mean of patches, not square": {"global_pool": "avg", "img_size": (24, 40), "class_token": False},
    "class token, mean of patches": {"global_pool": "avg", "qk_norm": True, "qkv_bias": False},
    "ReLU, no positions, features": {"act_layer": torch.nn.ReLU, "pos_embed": "none", "num_classes": 0},
    "GELU by tanh, normalised parts": {"act_layer": "gelu_tanh", "scale_attn_norm": True, "scale_mlp_norm": True},
    "QuickGELU, patches not square": {"act_layer": "quick_gelu", "patch_size": (8, 16)},
    "SiLU": {"act_layer": "silu"},
}


@pytest.mark.parametrize("kind", [*KINDS, "distilled"])
def test_it_answers_as_pytorch_does(kind, make_module, tmp_path):
    from timm.layers import get_act_layer

    changes = dict(KINDS.get(kind, {}))
    if isinstance(act := changes.get("act_layer"), str):
        changes["act_layer"] = get_act_layer(act)
    module = distilled() if kind == "distilled" else make_module(**changes)
    vit = vitcore.wrap(module, name="tiny", **NORMALISE)
    high, wide = vit.grid.image_px
    image = torch.randn(1, vit.bands, high, wide, generator=torch.Generator().manual_seed(1))
    graph = make_onnx_graph(vit, saved(vit, tmp_path))
    found = run(tmp_path, graph, image, switches(vit))
    with torch.no_grad():
        assert np.abs(found["logits"] - module(image).numpy()).max() < 1e-4
        tokens = module.norm(torch.from_numpy(found["tokens"][None]))
        assert torch.allclose(tokens, module.forward_features(image), atol=1e-4) or kind == "distilled"
    assert found["attention"].shape == (vit.blocks, vit.grid.tokens, vit.grid.tokens)
    assert np.allclose(found["attention"].sum(-1), 1, atol=1e-5)
    off = run(tmp_path, graph, image, switches(vit, (0, 1), (1, 2)))["logits"]
    with torch.no_grad():
        assert np.abs(off - vitcore.switch_off(vit, ["L0H1", "L1H2"]).module(image).numpy()).max() < 1e-4
    assert np.abs(off - found["logits"]).max() > 1e-3


def test_the_shipped_models_graph_is_made_again_and_equals_a_recording(shipped, rec):
    """Byte for byte; from half precision's weights, which no second file holds."""
    file, make = shipped_graph()
    assert file.read_bytes() == make(), "python -m tests.shipping.shipped_graph makes it anew"
    assert file.stat().st_size < 60_000
    image = torch.from_numpy(rec.model_input.pixels.copy()).permute(2, 0, 1)[None].float() / 255
    mean, std = (torch.tensor(values).view(1, 3, 1, 1) for values in (shipped.mean, shipped.std))
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    given = {"image": ((image - mean) / std).numpy(), "heads": switches(shipped)}
    logits, attention = session.run(["logits", "attention"], given)
    assert np.abs(logits[0] - rec.logits).max() < 1e-4
    assert np.abs(attention - rec.fused["mean"]).max() < 1e-5


def test_weights_in_half_precision_are_cast(make_vit, tmp_path):
    vit = make_vit().to(dtype="float16").to(dtype="float32")  # what half precision can hold
    image = torch.randn(1, 3, 32, 32, generator=torch.Generator().manual_seed(2))
    whole, half = ((tmp_path / name) for name in ("whole", "half"))
    for folder, dtype in ((whole, torch.float32), (half, torch.float16)):
        folder.mkdir()
        saved(vit, folder, dtype)
    answers = [
        run(folder, make_onnx_graph(vit, folder / "model.safetensors"), image, switches(vit))["logits"] for folder in (whole, half)
    ]
    assert np.allclose(*answers, atol=1e-6)


@pytest.mark.filterwarnings("ignore:tiny leaves settings open")
@pytest.mark.parametrize(
    "kind", ["max pooling", "SwiGLU", "grey", "no plain ViT", "another file", "no file of tensors", "a hook", "dynamic"]
)
def test_what_it_cannot_express_is_refused_in_a_sentence(kind, make_module, tmp_path):
    import timm
    from timm.layers import SwiGLUPacked

    changes = {
        "grey": {"in_chans": 1},
        "max pooling": {"global_pool": "max"},
        "SwiGLU": {"mlp_layer": SwiGLUPacked, "act_layer": torch.nn.SiLU},
    }
    if kind == "no plain ViT":
        module = timm.create_model("beit_base_patch16_224", depth=2, embed_dim=24, num_heads=3, img_size=32, patch_size=8).eval()
    else:
        module = make_module(**changes.get(kind, {}))
    means = {key: values[: changes.get(kind, {}).get("in_chans", 3)] for key, values in NORMALISE.items()}
    vit = vitcore.wrap(module, name="tiny", **means)
    file = saved(vit, tmp_path)
    if kind == "a hook":
        vit.module.blocks[1].mlp.register_forward_hook(lambda *_: None)
    if kind == "dynamic":
        vit.module.pos_embed = torch.nn.Parameter(torch.zeros(1, 5, 24))
    if kind == "another file":
        save_file({"cls_token": torch.zeros(3)}, file)
    if kind == "no file of tensors":
        file.write_bytes(b"PK" + bytes(50))
    sentence = {
        "max pooling": "tiny reads its answer by 'max'", "SwiGLU": "blocks.0.mlp, a GluMlp", "no plain ViT": "tiny is a Beit",
        "grey": "patch_embed.proj, a GreyConv2d",
        "another file": "model.safetensors does not hold", "no file of tensors": "model.safetensors is no safetensors file",
        "a hook": "a hook on blocks.1.mlp", "dynamic": "resizes its position embeddings",
    }[kind]  # fmt: skip
    with pytest.raises(OnnxGraphError, match=sentence):
        make_onnx_graph(vit, file)
