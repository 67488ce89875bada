"""Layouts of vit-pytorch, jeonsworld, lukemelas, OpenMMLab and MONAI: small random states by their names, and their arithmetic.

Each forward pass here is written after the library's source (named beside it) on its own names, so nothing is renamed on the way.
"""

import math

import numpy as np
import pytest
import torch
from checkpoints import smooth
from torch.nn.functional import conv2d, gelu, layer_norm, linear

import vitcore
from vitcore.forward.block_activations import project_patch
from vitcore.models.model_cards import ModelError

WIDE, HEADS, HIDDEN, CLASSES, PATCH = 32, 4, 48, 5, 8
GRID = (4, 6)
TOLD = {"heads": HEADS}
pytestmark = pytest.mark.filterwarnings("ignore::vitcore.models.load_model.AssumedAnswersWarning")


class State(dict):
    """Random tensors by name, made when a forward pass first asks for them: the file that the library would save."""

    def __init__(self, seed: int = 0) -> None:
        self.random = torch.Generator().manual_seed(seed)

    def get_tensor(self, name: str, *shape: int) -> torch.Tensor:
        if name not in self:
            self[name] = torch.randn(shape, generator=self.random) / math.sqrt(shape[-1]) + (name.endswith("norm.weight"))
        return self[name]

    def layer(self, x, name, out, bias=True):
        return linear(
            x, self.get_tensor(f"{name}.weight", out, x.shape[-1]), self.get_tensor(f"{name}.bias", out) if bias else None
        )

    def norm(self, x, name, eps):
        return layer_norm(x, x.shape[-1:], *(self.get_tensor(f"{name}.{kind}", x.shape[-1]) for kind in ("weight", "bias")), eps)

    def conv(self, x, name, bias=True):
        w = self.get_tensor(f"{name}.weight", WIDE, x.shape[1], PATCH, PATCH)
        return conv2d(x, w, self.get_tensor(f"{name}.bias", WIDE) if bias else None, PATCH).flatten(2).mT

    def table(self, name, *shape):
        made = name not in self
        table = self.get_tensor(name, *shape)
        if made:
            smooth(table.view(1, *shape[-2:]), *GRID)
        return table


def attend(q, k, v):
    q, k, v = (one.unflatten(-1, (HEADS, -1)).transpose(1, 2) for one in (q, k, v))
    return ((q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1) @ v).transpose(1, 2).flatten(2)


def flat_patches(x):
    """'b c (h p1) (w p2) -> b (h w) (p1 p2 c)'"""
    return x.unfold(2, PATCH, PATCH).unfold(3, PATCH, PATCH).permute(0, 2, 3, 4, 5, 1).flatten(3).flatten(1, 2)


def with_class_token(x, token):
    return torch.cat([token.reshape(-1, WIDE).expand(len(x), 1, WIDE), x], 1)


def vit_pytorch(s, x, version="2025", pool="cls", dim_head=16, simple=False):
    """vit_pytorch/vit.py and simple_vit.py of 0.40.2 ("2022"), 1.2.0 ("2023") and 1.26.11 ("2025")."""
    normed, fn = version != "2022", "" if version == "2025" else "fn."
    x = flat_patches(x)
    x = s.norm(x, "to_patch_embedding.1", 1e-5) if normed else x
    x = s.layer(x, f"to_patch_embedding.{1 + normed}", WIDE)
    x = s.norm(x, "to_patch_embedding.3", 1e-5) if normed else x
    if simple:
        (rows, cols), waves = GRID, 10_000.0 ** -(torch.arange(WIDE // 4) / (WIDE // 4 - 1))
        y = (torch.arange(rows * cols) // cols)[:, None] * waves
        across = (torch.arange(rows * cols) % cols)[:, None] * waves
        x = x + torch.cat([across.sin(), across.cos(), y.sin(), y.cos()], 1)
    else:
        batch = () if version == "2025" else (1,)
        empty = pool == "mean" and version == "2025"
        token = s.get_tensor("cls_token", *batch, 0 if empty else 1, WIDE)
        x = x if empty else with_class_token(x, token)
        x = x + s.table("pos_embedding", *batch, x.shape[1], WIDE)
    for i in range(2):
        attn, mlp = (f"transformer.layers.{i}.{j}." for j in (0, 1))
        y = s.norm(x, f"{attn}norm", 1e-5)
        y = attend(*s.layer(y, f"{attn}{fn}to_qkv", 3 * HEADS * dim_head, bias=False).chunk(3, -1))
        x = x + s.layer(y, f"{attn}{fn}to_out" + ("" if simple else ".0"), WIDE, bias=not simple)
        y = s.norm(x, f"{mlp}norm" if fn else f"{mlp}net.0", 1e-5)
        first, second = (0, 3) if fn else (1, 3 if simple else 4)
        x = x + s.layer(gelu(s.layer(y, f"{mlp}{fn}net.{first}", HIDDEN)), f"{mlp}{fn}net.{second}", WIDE)
    x = x if fn else s.norm(x, "transformer.norm", 1e-5)
    x = x.mean(1) if simple or pool == "mean" else x[:, 0]
    if fn:
        return s.layer(s.norm(x, "mlp_head.0", 1e-5), "mlp_head.1", CLASSES)
    return s.layer(x, "linear_head" if simple else "mlp_head", CLASSES)


def jeonsworld(s, x):
    """models/modeling.py of github.com/jeonsworld/ViT-pytorch."""
    x = with_class_token(
        s.conv(x, "transformer.embeddings.patch_embeddings"), s.get_tensor("transformer.embeddings.cls_token", 1, 1, WIDE)
    )
    x = x + s.table("transformer.embeddings.position_embeddings", 1, x.shape[1], WIDE)
    for i in range(2):
        at = f"transformer.encoder.layer.{i}."
        y = s.norm(x, f"{at}attention_norm", 1e-6)
        y = attend(*(s.layer(y, f"{at}attn.{part}", WIDE) for part in ("query", "key", "value")))
        x = x + s.layer(y, f"{at}attn.out", WIDE)
        x = x + s.layer(gelu(s.layer(s.norm(x, f"{at}ffn_norm", 1e-6), f"{at}ffn.fc1", HIDDEN)), f"{at}ffn.fc2", WIDE)
    return s.layer(s.norm(x, "transformer.encoder.encoder_norm", 1e-6)[:, 0], "head", CLASSES)


def lukemelas(s, x, hidden=0):
    """pytorch_pretrained_vit/model.py and transformer.py of 0.0.7."""
    x = with_class_token(s.conv(x, "patch_embedding"), s.get_tensor("class_token", 1, 1, WIDE))
    x = x + s.table("positional_embedding.pos_embedding", 1, x.shape[1], WIDE)
    for i in range(2):
        at = f"transformer.blocks.{i}."
        y = s.norm(x, f"{at}norm1", 1e-6)
        x = x + s.layer(attend(*(s.layer(y, f"{at}attn.proj_{part}", WIDE) for part in "qkv")), f"{at}proj", WIDE)
        x = x + s.layer(gelu(s.layer(s.norm(x, f"{at}norm2", 1e-6), f"{at}pwff.fc1", HIDDEN)), f"{at}pwff.fc2", WIDE)
    x = s.layer(x, "pre_logits", hidden).tanh() if hidden else x
    return s.layer(s.norm(x, "norm", 1e-6)[:, 0], "fc", CLASSES)


def openmmlab(s, x, head="token", scaled=False, in_proj=False):
    """mmpretrain 1.2.0: models/backbones/vision_transformer.py, heads/vision_transformer_head.py, heads/linear_head.py and
    necks' ClsBatchNormNeck; mmsegmentation 1.2.2: models/backbones/vit.py (`in_proj`)."""
    x = with_class_token(s.conv(x, "backbone.patch_embed.projection"), s.get_tensor("backbone.cls_token", 1, 1, WIDE))
    x = x + s.table("backbone.pos_embed", 1, x.shape[1], WIDE)
    for i in range(2):
        at = f"backbone.layers.{i}."
        y = s.norm(x, f"{at}ln1", 1e-6)
        if in_proj:
            w, b = (
                s.get_tensor(f"{at}attn.attn.in_proj_weight", 3 * WIDE, WIDE),
                s.get_tensor(f"{at}attn.attn.in_proj_bias", 3 * WIDE),
            )
            y = s.layer(attend(*linear(y, w, b).chunk(3, -1)), f"{at}attn.attn.out_proj", WIDE)
        else:
            y = s.layer(attend(*s.layer(y, f"{at}attn.qkv", 3 * WIDE).chunk(3, -1)), f"{at}attn.proj", WIDE)
        x = x + (y * s.get_tensor(f"{at}attn.gamma1.weight", WIDE) if scaled else y)
        y = s.layer(gelu(s.layer(s.norm(x, f"{at}ln2", 1e-6), f"{at}ffn.layers.0.0", HIDDEN)), f"{at}ffn.layers.1", WIDE)
        x = x + (y * s.get_tensor(f"{at}ffn.gamma2.weight", WIDE) if scaled else y)
    x = x if head == "mean" else s.norm(x, "backbone.ln1", 1e-6)
    if head == "features":
        return x[:, 0]
    if head.startswith("mean"):
        return s.layer(s.norm(x[:, 1:].mean(1), "backbone.ln2", 1e-6), "head.fc", CLASSES)
    x = x[:, 0]
    if head == "linear probe":
        mean, var = s.get_tensor("neck.bn.running_mean", WIDE), s.get_tensor("neck.bn.running_var", WIDE).abs_()
        x = (x - mean) / (var + 1e-6).sqrt()
    x = s.layer(x, "head.layers.pre_logits", 24).tanh() if head == "hidden" else x
    return s.layer(x, "head.layers.head", CLASSES)


def monai(s, x, conv=True, bias=False, tanh=True, classes=True):
    """monai/networks/nets/vit.py, blocks/patchembedding.py, selfattention.py and mlp.py of 1.6.1."""
    stem = "patch_embedding.patch_embeddings"
    x = s.conv(x, stem) if conv else s.layer(flat_patches(x), f"{stem}.1", WIDE)
    x = x + s.table("patch_embedding.position_embeddings", 1, x.shape[1], WIDE)
    x = with_class_token(x, s.get_tensor("cls_token", 1, 1, WIDE)) if classes else x
    for i in range(2):
        at = f"blocks.{i}."
        y = s.layer(s.norm(x, f"{at}norm1", 1e-5), f"{at}attn.qkv", 3 * WIDE, bias)
        x = x + s.layer(attend(*y.chunk(3, -1)), f"{at}attn.out_proj", WIDE)
        s.norm(x, f"{at}norm_cross_attn", 1e-5)  # in every file, and used by none
        x = x + s.layer(gelu(s.layer(s.norm(x, f"{at}norm2", 1e-5), f"{at}mlp.linear1", HIDDEN)), f"{at}mlp.linear2", WIDE)
    x = s.norm(x, "norm", 1e-5)
    if not classes:
        return x.mean(1)
    return s.layer(x[:, 0], "classification_head.0", CLASSES).tanh() if tanh else s.layer(x[:, 0], "classification_head", CLASSES)


CASES = {
    "vit-pytorch 2025": (vit_pytorch, {}, {}),
    "vit-pytorch 2025, mean": (vit_pytorch, {"pool": "mean"}, {}),
    "vit-pytorch 2023": (vit_pytorch, {"version": "2023"}, {}),
    "vit-pytorch 2022": (vit_pytorch, {"version": "2022", "dim_head": 8}, {}),
    "vit-pytorch 2022, mean": (vit_pytorch, {"version": "2022", "pool": "mean"}, {"pool": "avg"}),
    "SimpleViT": (vit_pytorch, {"simple": True}, {"grid": GRID}),
    "jeonsworld": (jeonsworld, {}, {}),
    "lukemelas": (lukemelas, {}, {}),
    "lukemelas, hidden layer": (lukemelas, {"hidden": 24}, {}),
    "mmpretrain": (openmmlab, {"scaled": True}, {}),
    "mmpretrain, hidden layer": (openmmlab, {"head": "hidden"}, {}),
    "mmpretrain, mean": (openmmlab, {"head": "mean"}, {}),
    "mmpretrain, mean after a norm": (openmmlab, {"head": "mean after a norm"}, {}),
    "mmpretrain, linear probe": (openmmlab, {"head": "linear probe"}, {}),
    "mmsegmentation": (openmmlab, {"head": "features", "in_proj": True}, {}),
    "MONAI": (monai, {}, {}),
    "MONAI, layer of pixels": (monai, {"conv": False, "bias": True, "tanh": False}, {}),
    "MONAI, features": (monai, {"classes": False}, {}),
}  # fmt: skip


def saved(tmp_path, forward, settings, prefix=""):
    """The file of a random model, a batch of pictures, and what the library answers of them."""
    state, x = State(), torch.randn(2, 3, GRID[0] * PATCH, GRID[1] * PATCH, generator=torch.Generator().manual_seed(1))
    want = forward(state, x, **settings)
    torch.save({prefix + name: w.clone() for name, w in state.items()}, tmp_path / "a.pth")
    return tmp_path / "a.pth", x, want


@torch.no_grad()
@pytest.mark.parametrize("case", CASES)
def test_a_file_answers_as_its_library_does(tmp_path, case):
    forward, settings, answers = CASES[case]
    file, x, want = saved(tmp_path, forward, settings)
    vit = vitcore.load(file, answers=TOLD | {"grid": GRID} | answers)
    assert want.std() > 0.05
    torch.testing.assert_close(vit.module(x), want, atol=2e-5, rtol=0)
    assert (vit.grid.rows, vit.grid.cols, vit.heads, vit.is_global) == (*GRID, HEADS, True)
    known = {"pool", "output", "normalise", "grid", "activation", "eps", "crop", "interpolation"}
    flat = forward is vit_pytorch or settings.get("conv") is False
    assert vit.assumed.keys() - known == ({"patches"} if flat else set())
    assert not flat or vit.assumed["patches"] == f"{PATCH}x{PATCH} px of 3 colours"


@torch.no_grad()
def test_a_card_beside_the_file_opens_it_again(tmp_path):
    for case in ("vit-pytorch 2023", "SimpleViT", "jeonsworld", "lukemelas, hidden layer", "mmpretrain", "MONAI"):
        forward, settings, answers = CASES[case]
        file, x, want = saved(tmp_path, forward, settings, "module.")
        found = vitcore.inspect(file)
        found.write_card(found.card(TOLD | {"grid": GRID} | answers))
        torch.testing.assert_close(vitcore.load(file).module(x), want, atol=2e-5, rtol=0)
        found.card_file.unlink()


@torch.no_grad()
def test_pictures_of_a_normed_patch_embedding_and_of_wide_heads(tmp_path):
    file, *_ = saved(tmp_path, vit_pytorch, {})
    vit = vitcore.load(file, answers=TOLD | {"grid": GRID})
    recording = vitcore.record(vit, "assets/samples/castle.jpg")
    assert recording.rollout().shape == GRID
    assert recording.logits.shape == (CLASSES,)
    assert project_patch(vit, np.zeros((32, 48, 3), np.uint8), 0) is None, "a norm comes between the filters and the embedding"


def test_what_no_rename_opens_is_refused_by_its_reason(tmp_path):
    state = State()
    monai(state, torch.zeros(1, 3, 32, 48))
    state["patch_embedding.patch_embeddings.weight"] = torch.zeros(WIDE, 1, 8, 8, 8)
    torch.save(dict(state), tmp_path / "volumes.pth")
    with pytest.raises(ModelError, match="MONAI model of volumes"):
        vitcore.inspect(tmp_path / "volumes.pth")
    state = State()
    vit_pytorch(state, torch.zeros(1, 4, 32, 48))
    torch.save(dict(state), tmp_path / "bands.pth")
    with pytest.raises(ModelError, match="takes 256 numbers of a patch"):
        vitcore.inspect(tmp_path / "bands.pth")
    state = State()
    jeonsworld(state, torch.zeros(1, 3, 32, 48))
    state["transformer.encoder.part_norm.weight"] = torch.zeros(WIDE)  # TransFG's part selection
    torch.save(dict(state), tmp_path / "parts.pth")
    with pytest.raises(ModelError, match=r"encoder\.part_norm"):
        vitcore.load(tmp_path / "parts.pth", answers=TOLD | {"grid": GRID})


def test_where_heads_may_be_of_any_width_their_number_divides_it(tmp_path):
    file, *_ = saved(tmp_path, vit_pytorch, {"dim_head": 64})
    heads = next(q for q in vitcore.inspect(file).questions if q.key == "heads")
    assert heads.likely == HEADS and dict(heads.facts)["width"] == HEADS * 64
