"""Classifiers' heads under any name and of any layers: opened as their own modules answer, asked about, or named and left out."""

import warnings
from collections import OrderedDict

import pytest
import timm
import torch
import transformers as T
from checkpoints import lively
from torch import nn

from vitcore.architectures.classifier_head import read_classifier_head
from vitcore.architectures.head_layers import HEAD_ACTIVATIONS
from vitcore.models import load_model

OF_TRANSFORMERS = {"hidden_size": 96, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 192,
                   "image_size": 32, "patch_size": 8}  # fmt: skip
WIDE, NARROW = 192, 96  # timm's and transformers' features


class Wrapped(nn.Module):
    """A backbone and layers under names of one's own, as people write them."""

    def __init__(self, backbone, between=None, **layers):
        super().__init__()
        self.backbone, self.between, self.names = backbone, between, list(layers)
        for name, layer in layers.items():
            setattr(self, name, layer)

    def forward(self, x):
        x = self.backbone(x)
        x = x if torch.is_tensor(x) else x.last_hidden_state[:, 0]
        for i, name in enumerate(self.names):
            x = getattr(self, name)(self.between(x) if i and self.between else x)
        return x


def of_timm(classes=0, **more):
    return timm.create_model("vit_tiny_patch16_224", depth=2, img_size=32, patch_size=8, num_classes=classes, **more)


def with_head(*layers):
    module = of_timm(5)
    module.head = nn.Sequential(*layers) if len(layers) > 1 else layers[0]
    return module


def of_subclass():
    class Renamed(type(of_timm())):
        def forward(self, x):
            return self.fc(super().forward(x))

    module = of_timm()
    module.fc, module.__class__ = nn.Linear(WIDE, 3), Renamed
    return module


def of_torchvision(head):
    from torchvision.models.vision_transformer import VisionTransformer

    module = VisionTransformer(32, 8, 2, 3, 96, 192, num_classes=3)
    module.heads = head
    return module


def of_transformers(head=None):
    if head is None:
        return T.ViTModel(T.ViTConfig(**OF_TRANSFORMERS), add_pooling_layer=False)
    module = T.ViTForImageClassification(T.ViTConfig(**OF_TRANSFORMERS, num_labels=3))
    module.classifier = head
    return module


def mlp(wide, activation, hidden=64, *more):
    return nn.Sequential(nn.Linear(wide, hidden), activation, *more, nn.Linear(hidden, 3))


def dropped(wide):
    return nn.Sequential(nn.Dropout(0.1), nn.Linear(wide, 3))


HF, TV = {"heads": 3, "eps": 1e-12}, {"heads": 3}
READ = {  # what makes the module, the answers that its tensors do not give, and which of the head's questions are asked
    "dropout and linear": (lambda: with_head(*dropped(WIDE)), {}, ["head_input"]),
    "an activation first": (lambda: with_head(nn.ReLU(), nn.Linear(WIDE, 3)), {"head_input": "relu"}, ["head_input"]),
    "of equal width, ReLU": (lambda: with_head(*mlp(WIDE, nn.ReLU(), WIDE)), {}, ["head_activation"]),
    "of equal width, tanh": (lambda: with_head(*mlp(WIDE, nn.Tanh(), WIDE)), {"head_activation": "tanh"}, ["head_activation"]),
    "GELU and dropout": (lambda: with_head(*mlp(WIDE, nn.GELU(), 64, nn.Dropout())), {"head_activation": "gelu"},
                         ["head_activation"]),
    "three layers": (lambda: with_head(nn.Linear(WIDE, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 3)),
                     {"head_activation": "silu"}, ["head_activation"]),
    "nothing between": (lambda: with_head(nn.Linear(WIDE, 64), nn.Linear(64, 3)), {}, []),
    "LayerNorm": (lambda: with_head(nn.LayerNorm(WIDE), nn.Linear(WIDE, 3)), {}, ["head_eps"]),
    "MAE's batch norm": (lambda: with_head(nn.BatchNorm1d(WIDE, affine=False, eps=1e-6), nn.Linear(WIDE, 3)),
                         {"head_eps": 1e-6}, ["head_eps"]),
    "batch norm inside": (lambda: with_head(nn.Linear(WIDE, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(), nn.Linear(64, 3)),
                          {}, ["head_activation", "head_eps"]),
    "no bias": (lambda: with_head(nn.Linear(WIDE, 3, bias=False)), {}, []),
    "fc beside": (lambda: Wrapped(of_timm(), fc=nn.Linear(WIDE, 3)), {}, []),
    "classifier beside": (lambda: Wrapped(of_timm(), classifier=nn.Linear(WIDE, 3)), {}, []),
    "linear beside": (lambda: Wrapped(of_timm(), linear=nn.Linear(WIDE, 3)), {}, []),
    "a Sequential beside": (lambda: Wrapped(of_timm(), classifier=dropped(WIDE)), {}, ["head_input"]),
    "an MLP beside": (lambda: Wrapped(of_timm(), cls_head=mlp(WIDE, nn.ReLU(), 64, nn.Dropout())), {}, ["head_activation"]),
    "two layers beside": (lambda: Wrapped(of_timm(), torch.relu, fc1=nn.Linear(WIDE, 64), fc2=nn.Linear(64, 3)), {},
                          ["head_activation"]),
    "beside a mean": (lambda: Wrapped(of_timm(global_pool="avg"), fc=nn.Linear(WIDE, 3)), {}, []),
    "a subclass": (of_subclass, {}, []),
    "weight norm": (lambda: with_head(nn.utils.parametrizations.weight_norm(nn.Linear(WIDE, 3))), {}, []),
    "one Sequential with the backbone": (lambda: nn.Sequential(of_timm(), nn.Linear(WIDE, 3)), {}, []),
    "the same, dropout before": (lambda: nn.Sequential(of_timm(), nn.Dropout(), nn.Linear(WIDE, 3)), {}, ["head_input"]),
    "the same, an MLP inside": (lambda: nn.Sequential(of_timm(), mlp(WIDE, nn.ReLU())), {}, ["head_activation"]),
    "beside transformers'": (lambda: Wrapped(of_transformers(), fc=nn.Linear(NARROW, 3)), HF, []),
    "an MLP beside transformers'": (lambda: Wrapped(of_transformers(), classifier=mlp(NARROW, nn.ReLU())), HF, ["head_activation"]),
    "transformers' own name": (lambda: of_transformers(dropped(NARROW)), HF, ["head_input"]),
    "torchvision's, replaced": (lambda: of_torchvision(nn.Linear(NARROW, 3)), TV, []),
    "torchvision's, a Sequential": (lambda: of_torchvision(dropped(NARROW)), TV, ["head_input"]),
    "torchvision's, inside": (lambda: of_torchvision(nn.Sequential(OrderedDict(head=dropped(NARROW)))), TV, ["head_input"]),
    "torchvision's, an MLP": (lambda: of_torchvision(mlp(NARROW, nn.GELU(), NARROW)), TV | {"head_activation": "gelu"},
                              ["head_activation"]),
}  # fmt: skip


def saved(make, folder):
    """The module as it answers, and its state in a file."""
    torch.manual_seed(0)
    module = lively(make()).eval()
    for layer in module.modules():
        if isinstance(layer, nn.BatchNorm1d):
            layer.running_mean.normal_()
            layer.running_var.uniform_(0.5, 2)
    torch.save(module.state_dict(), folder / "a.pth")
    return module, folder / "a.pth"


@pytest.mark.parametrize("kind", READ)
@torch.inference_mode()
def test_a_head_answers_as_its_own_module_does(kind, tmp_path):
    make, answers, asked = READ[kind]
    module, file = saved(make, tmp_path)
    x = torch.randn(2, 3, 32, 32)
    theirs = module(x)
    theirs = getattr(theirs, "logits", theirs)
    found = load_model.inspect(file)
    assert [q.key for q in found.questions if q.key.startswith("head_")] == asked
    vit = load_model.load(file, answers=answers)
    assert theirs.std() > 1e-3 and torch.allclose(vit.module(x), theirs, rtol=0, atol=1e-4)
    assert set(asked) - set(answers) <= set(vit.assumed), "what nobody said is assumed"
    found.write_card(found.card(answers))
    again = load_model.load(file)
    assert torch.equal(again.module(x), vit.module(x)) and again.assumed == vit.assumed
    assert len(again.labels) == 3


@pytest.mark.parametrize(("name", "beside"), [("vit_small_patch16_dinov3", True), ("beit_base_patch16_224", False)])
@torch.inference_mode()
def test_heads_of_models_whose_positions_are_no_table(name, beside, tmp_path):
    """Their architecture is told by all the other tensors."""

    def make():
        module = timm.create_model(name, depth=1, img_size=224, num_classes=0)
        head = mlp(module.embed_dim, nn.Tanh())
        if beside:
            return Wrapped(module, fc=head)
        module.head = head
        return module

    module, file = saved(make, tmp_path)
    vit = load_model.load(file, answers={"head_activation": "tanh"})
    x = torch.randn(1, 3, 224, 224)
    assert torch.allclose(vit.module(x), module(x), rtol=0, atol=1e-4) and len(vit.labels) == 3
    assert load_model.inspect(file).assumed_answers()["head_activation"] == "relu"


LEFT_OUT = {
    "PReLU": (lambda: with_head(*mlp(WIDE, nn.PReLU())), "head.1.weight"),
    "ReLU, norm, dropout": (lambda: with_head(*mlp(WIDE, nn.ReLU(), 64, nn.BatchNorm1d(64), nn.Dropout())), "head.0.weight"),
    "after a head of the backbone's own": (lambda: Wrapped(of_timm(5), fc=nn.Linear(5, 3)), "fc.weight"),
    "the same in one Sequential": (lambda: nn.Sequential(of_timm(5), nn.Linear(5, 3)), "1.weight"),
    "of an unknown name": (lambda: Wrapped(of_timm(), bottleneck=nn.Linear(WIDE, 3)), "bottleneck.weight"),
    "a norm beside": (lambda: Wrapped(of_timm(), norm=nn.LayerNorm(WIDE), fc=nn.Linear(WIDE, 3)), "norm.weight"),
    "two heads": (lambda: Wrapped(of_timm(), head_of_age=nn.Linear(WIDE, 9), head_of_kind=nn.Linear(WIDE, 3)), "head_of_age"),
    "beside CLIP": (
        lambda: T.CLIPForImageClassification(T.CLIPConfig(vision_config=OF_TRANSFORMERS | {"hidden_size": WIDE})),
        "classifier.weight",
    ),
    "beside a text": (lambda: Wrapped(of_timm(), text=nn.Embedding(5, 9), classifier=nn.Linear(WIDE, 3)), "classifier.weight"),
    "of another width": (lambda: with_head(nn.Linear(3 * WIDE, 3)), "head.weight"),
}


@pytest.mark.parametrize("kind", LEFT_OUT)
@torch.inference_mode()
def test_a_head_that_cannot_be_read_is_named_and_left_out(kind, tmp_path):
    """Features are right, and are not called classes."""
    make, named = LEFT_OUT[kind]
    _, file = saved(make, tmp_path)
    with pytest.warns(UserWarning, match=named):
        vit = load_model.load(file)
    assert vit.labels == () and vit.module(torch.randn(1, 3, 32, 32)).shape == (1, WIDE)
    assert any(named in note for note in load_model.inspect(file).notes)


@pytest.mark.parametrize(("name", "shape", "classes", "named"), [
    ("temperature", (1,), 3, True), ("logit_scale", (), 3, True), ("logit_scale", (), 0, False), ("prompts", (1, 5, WIDE), 0, True),
    ("stem.conv.weight", (3, 13, 1, 1), 3, True), ("initted", (), 3, False), ("decoder.0.weight", (9, WIDE), 3, False),
])  # fmt: skip
def test_a_tensor_beside_a_model_with_which_its_code_may_compute_is_named(name, shape, classes, named, tmp_path):
    """Of its answers nothing tells: they are as sure as before."""
    state = {f"model.{key}": w for key, w in of_timm(classes).state_dict().items()} | {name: torch.ones(shape)}
    torch.save(state, tmp_path / "a.pth")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        vit = load_model.load(tmp_path / "a.pth")
    assert any(f"not used here ({name})" in str(one.message) for one in said) == named and len(vit.labels) == classes


def test_heads_of_a_pre_training_are_no_classes(tmp_path):
    """Projections beside a backbone: of DINO, and as lightly names them."""
    state = {f"backbone.{name}": w for name, w in of_timm().state_dict().items()}
    for head in ("head.mlp.0.weight", "head.last_layer.weight_v", "projection_head.layers.0.weight", "predictor.0.weight"):
        torch.save(state | {head: torch.ones(WIDE, WIDE)}, tmp_path / "a.pth")
        assert load_model.load(tmp_path / "a.pth").labels == (), head


def test_layers_over_a_picture_are_no_classifier(tmp_path):
    state = {f"vit.{name}": w for name, w in of_timm().state_dict().items()}
    torch.save(state | {"out.conv.weight": torch.ones(3, 8, 1, 1), "encoder1.weight": torch.ones(8, WIDE)}, tmp_path / "a.pth")
    with pytest.warns(UserWarning, match=r"beside the model are not used here \(out\.conv\.weight"):
        assert load_model.load(tmp_path / "a.pth").labels == ()


def test_layers_of_a_head_are_proven_by_names_and_shapes():
    def layers(**shapes):
        state = {f"head.{name.replace('_', '.')}": torch.empty(shape) for name, shape in shapes.items()}
        head = read_classifier_head(state)
        return head and [kind for kind, *_ in head.layers]

    assert layers(weight=(3, 8)) == layers(fc_weight=(3, 8)) == ["linear"]
    assert layers(**{"10_weight": (3, 4), "2_weight": (4, 8)}) == ["activation", "linear", "activation", "linear"], "not by letters"
    assert layers(out_weight=(3, 4), dense_weight=(4, 8)) == ["linear", "activation", "linear"]
    assert layers(a_weight=(8, 8), b_weight=(8, 8)) is None, "in either order"
    assert layers(weight=(3, 8, 1)) is None and layers(**{"0_weight": (4, 8), "2_weight": (3, 5)}) is None
    assert layers() is None


@pytest.mark.parametrize("activation", HEAD_ACTIVATIONS)
@torch.inference_mode()
def test_every_activation_may_be_told(activation, tmp_path):
    module, file = saved(lambda: with_head(*mlp(WIDE, HEAD_ACTIVATIONS[activation]())), tmp_path)
    x = torch.randn(1, 3, 32, 32)
    assert torch.allclose(load_model.load(file, answers={"head_activation": activation}).module(x), module(x), rtol=0, atol=1e-5)
    with pytest.raises(load_model.ModelError, match=r"relu.*tanh"):
        load_model.load(file, answers={"head_activation": "step"})


@pytest.mark.parametrize("layer", ["pre_logits.fc", "heads"])
def test_the_papers_own_name_proves_its_tanh(layer, tmp_path):
    if layer == "heads":
        hidden = OrderedDict(pre_logits=nn.Linear(NARROW, NARROW), act=nn.Tanh(), head=nn.Linear(NARROW, 3))
        _, file = saved(lambda: of_torchvision(nn.Sequential(hidden)), tmp_path)
    else:
        state = of_timm(3).state_dict() | {f"{layer}.weight": torch.eye(WIDE), f"{layer}.bias": torch.zeros(WIDE)}
        file = tmp_path / "a.pth"
        torch.save(state, file)
    found = load_model.inspect(file)
    assert not any(q.key.startswith("head_") for q in found.questions)
    assert found.card()["architecture"]["mlp_head"] is True


def test_a_logit_lens_reads_through_a_batch_norm(tmp_path):
    _, file = saved(READ["batch norm inside"][0], tmp_path)
    with warnings.catch_warnings(action="ignore"):
        head = load_model.load(file).module.head
    tokens = torch.randn(2, 5, WIDE)
    assert torch.allclose(head(tokens)[1, 3], head(tokens[1, 3:4])[0], atol=1e-6)
