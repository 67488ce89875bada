"""Modules in memory as a `Vit`: of four libraries, wrapped and in any state; and that nothing of them is ever touched."""

import copy
import hashlib
import random
import warnings

import numpy as np
import pytest
import timm
import torch
from torch import nn

import vitcore
from tests.conftest import NORMALISE, timm_vit
from vitcore.forward.logit_lens import logit_lens
from vitcore.forward.recording import to_model_input
from vitcore.forward.relevance import relevance
from vitcore.models.load_model import AssumedAnswersWarning, ModelError

SMALL = {"hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 96,
         "image_size": 32, "patch_size": 8}  # fmt: skip
TEXT = {"hidden_size": 48, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32, "vocab_size": 50,
        "bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 2}  # fmt: skip
TOWER = {"layers": 2, "width": 64, "head_width": 16, "patch_size": 8, "image_size": 32}
OPENCLIP_TEXT = {"context_length": 8, "vocab_size": 50, "width": 32, "heads": 2, "layers": 1}


def noisy(module: nn.Module) -> nn.Module:
    """Random weights that are far enough from those a module begins with."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for p in module.parameters():
            p.add_(0.05 * torch.randn(p.shape, generator=generator))
    return module


def of_transformers(name: str, **more) -> nn.Module:
    T = pytest.importorskip("transformers", reason="the package transformers is not installed (requirements-dev.txt)")
    config, own = name.split()
    if config in ("CLIPConfig", "SiglipConfig"):
        made = getattr(T, config)(vision_config=SMALL, text_config=TEXT, **more)
    else:
        made = getattr(T, config)(**SMALL, **more)
    return noisy(getattr(T, own)(made))


def of_torchvision(**more) -> nn.Module:
    import torchvision

    return noisy(torchvision.models.VisionTransformer(32, 8, 2, 4, 48, 96, num_classes=7, **more))


def of_openclip(kind: str = "CLIP", **more) -> nn.Module:
    model = pytest.importorskip("open_clip", reason="the package open_clip_torch is not installed (requirements-dev.txt)").model
    return noisy(getattr(model, kind)(embed_dim=20, **{"vision_cfg": TOWER, "text_cfg": OPENCLIP_TEXT} | more))


def answer(module: nn.Module, x: torch.Tensor) -> torch.Tensor:
    """What the module itself answers, in evaluation mode."""
    module = copy.deepcopy(module).eval()
    with torch.no_grad():
        if hasattr(module, "encode_image"):
            return module.encode_image(x)
        if hasattr(module, "get_image_features"):
            out = module.get_image_features(pixel_values=x)
        else:
            out = module(x)
    if isinstance(out, torch.Tensor):
        return out
    if hasattr(out, "logits"):
        return out.logits
    return out.image_embeds if hasattr(out, "image_embeds") else out.pooler_output


FOREIGN = {
    "ViT": lambda: of_transformers("ViTConfig ViTForImageClassification", num_labels=5),
    "DeiT": lambda: of_transformers("DeiTConfig DeiTForImageClassification", num_labels=5),
    "DeiT, both heads": lambda: of_transformers("DeiTConfig DeiTForImageClassificationWithTeacher", num_labels=5),
    "DINOv2": lambda: of_transformers("Dinov2Config Dinov2ForImageClassification", num_labels=5),
    "DINOv2, registers": lambda: of_transformers("Dinov2WithRegistersConfig Dinov2WithRegistersForImageClassification"),
    "CLIP, projection": lambda: of_transformers("CLIPVisionConfig CLIPVisionModelWithProjection"),
    "CLIP, both towers": lambda: of_transformers("CLIPConfig CLIPModel"),
    "CLIP, classes": lambda: of_transformers("CLIPConfig CLIPForImageClassification", num_labels=4),
    "SigLIP": lambda: of_transformers("SiglipVisionConfig SiglipVisionModel"),
    "SigLIP, classes": lambda: of_transformers("SiglipConfig SiglipForImageClassification", num_labels=4),
    "torchvision": of_torchvision,
    "torchvision, hidden layer": lambda: of_torchvision(representation_size=30),
    "OpenCLIP": of_openclip,
    "OpenCLIP, its tower": lambda: of_openclip().visual,
    "OpenCLIP, quick GELU": lambda: of_openclip(quick_gelu=True),
    "OpenCLIP, of timm": lambda: of_openclip("CustomTextCLIP", vision_cfg={
        "timm_model_name": "test_vit", "timm_proj": "linear", "timm_pool": "", "image_size": 160}),
}  # fmt: skip


@pytest.mark.parametrize("kind", FOREIGN)
def test_other_libraries_modules_answer_as_they_do_themselves(kind, noise):
    module = FOREIGN[kind]().train()
    vit = vitcore.wrap(module, name=kind, **NORMALISE)
    rec = vitcore.record(vit, noise())
    expected = answer(module, to_model_input(vit, rec.model_input.pixels))
    assert vit.is_global and vit.mean == NORMALISE["mean"] and "normalise" not in vit.assumed and module.training
    np.testing.assert_allclose(rec.logits, expected[0].numpy(), atol=1e-4)
    classifies = kind not in ("CLIP, projection", "CLIP, both towers", "SigLIP") and not kind.startswith("OpenCLIP")
    assert (len(vit.labels) == len(rec.logits)) == classifies and bool(rec.top_classes()) == classifies
    assert vit.output == ("softmax" if classifies else "features")


@pytest.mark.parametrize("head", [lambda wide: nn.Linear(wide, 5), lambda wide: nn.Sequential(nn.Dropout(), nn.Linear(wide, 5))])
@pytest.mark.parametrize("classes", [0, 1000])
def test_a_layer_in_the_place_of_the_classifier_has_its_own_classes(classes, head, noise):
    """timm counts those of the head that it made itself: ImageNet's names are not theirs."""
    module = timm_vit(num_classes=classes)
    module.head = head(module.embed_dim)
    vit = vitcore.wrap(module.eval(), **NORMALISE)
    rec = vitcore.record(vit, noise())
    assert vit.labels == tuple(f"class {i}" for i in range(5)) == rec.labels and "class_names" not in vit.assumed
    assert len(rec.logits) == 5 and rec.probabilities.sum() == pytest.approx(1) and module.num_classes == classes


def test_a_model_without_classes_gives_no_probabilities(noise):
    rec = vitcore.record(vitcore.wrap(timm_vit(num_classes=0), **NORMALISE), noise())
    assert rec.output == "features"
    with pytest.raises(ValueError, match="features"):
        _ = rec.probabilities


def test_what_a_module_says_is_taken_and_what_nobody_says_is_a_guess():
    module = of_transformers("ViTConfig ViTForImageClassification", id2label={0: "cat", 1: "dog"})
    with pytest.warns(AssumedAnswersWarning, match="normalise=half"):
        vit = vitcore.wrap(module, name="mine")
    assert vit.labels == ("cat", "dog") and vit.assumed["normalise"] == "half"
    assert vitcore.wrap(module, labels=["a", "b"], **NORMALISE).labels == ("a", "b")
    clip = of_openclip()
    clip.visual.preprocess_cfg = {"mean": (0.1, 0.2, 0.3), "std": (0.4, 0.5, 0.6), "interpolation": "bilinear"}
    told = vitcore.wrap(clip)
    assert (told.mean, told.std) == ((0.1, 0.2, 0.3), (0.4, 0.5, 0.6)) and not told.assumed
    with pytest.warns(AssumedAnswersWarning, match="normalise=imagenet"):
        vit = vitcore.wrap(timm_vit(num_classes=1000))
    cut = {"crop": "center 0.875", "interpolation": "bicubic"}  # timm's, where nobody says
    assert vit.assumed == {"class_names": "imagenet", "normalise": "imagenet"} | cut
    assert vit.transform.transforms[0].size == 36 and vit.grid.image_px == (32, 32), "what is said is what is done: 32 / 0.875"
    said = timm_vit()
    said.pretrained_cfg = {"mean": (0.5,) * 3, "std": (0.5,) * 3, "crop_pct": 1.0, "interpolation": "bilinear"}
    assert not vitcore.wrap(said, labels=list("abcdefghij")).assumed


@pytest.mark.parametrize(("make", "settings", "said"), [
    (lambda: nn.Linear(3, 4), {}, "grid of features"),
    (lambda: timm_vit(), {"labels": ["a"]}, "10 classes, not 1"),
    (lambda: timm_vit(), {"mean": (0, 0, 0)}, "three numbers each"),
    (lambda: timm_vit(), {"mean": (float("nan"), 0, 0), "std": (1, 1, 1)}, "three numbers each"),
    (lambda: timm_vit(), {"image_px": 33}, "not a whole number of patches"),
    (lambda: timm_vit(), {"device": "no such"}, "not a device of this machine"),
    (lambda: timm_vit(), {"device": "meta"}, "not a device of this machine"),
    (lambda: timm_vit(), {"dtype": "int8"}, "float32, bfloat16 or float16"),
    (lambda: timm_vit().to("meta"), {}, "not in memory"),
    (lambda: torch.jit.trace(timm_vit(), torch.zeros(1, 3, 32, 32)), {}, "TorchScript"),
    (lambda: of_transformers("BertConfig BertModel", vocab_size=50), {}, "not built as a plain Vision Transformer"),
])  # fmt: skip
def test_what_can_not_be_wrapped_is_said_in_a_sentence(make, settings, said):
    with pytest.raises(ModelError, match=said) as caught, warnings.catch_warnings(action="ignore"):
        vitcore.wrap(make(), name="mine", **settings)
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)
    with pytest.raises(TypeError, match="Module"):
        vitcore.wrap("vit")


def test_a_class_that_computes_in_another_way_is_found_out():
    T = pytest.importorskip("transformers", reason="the package transformers is not installed (requirements-dev.txt)")

    class Doubled(T.ViTForImageClassification):
        def forward(self, *given, **more):
            out = super().forward(*given, **more)
            out.logits = 2 * out.logits
            return out

    with pytest.raises(ModelError, match="Doubled computes in its own way"):
        vitcore.wrap(noisy(Doubled(T.ViTConfig(**SMALL))), name="mine", **NORMALISE)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("make", [timm_vit, of_torchvision])
def test_halves_stay_halves_and_can_be_made_whole(make, dtype, noise):
    module = make()
    half, whole = (vitcore.wrap(copy.deepcopy(module).to(dtype), dtype=asked, **NORMALISE) for asked in (None, "float32"))
    assert (half.dtype, whole.dtype) == (dtype, torch.float32)
    near, exact = vitcore.record(half, noise()), vitcore.record(vitcore.wrap(module, **NORMALISE), noise())
    assert np.abs(near.distance_px - exact.distance_px).max() < 0.5
    assert np.abs(vitcore.record(whole, noise()).logits - exact.logits).max() < 0.1 * np.abs(exact.logits).max()
    moved = whole.to(dtype=dtype)
    assert moved.dtype == dtype and whole.dtype == torch.float32 and moved.labels == whole.labels


def test_another_input_size(noise):
    vit = vitcore.wrap(timm_vit(), image_px=(64, 48), **NORMALISE)
    assert vit.grid.image_px == (64, 48) and vitcore.record(vit, noise()).logits.shape == (10,)
    assert vitcore.wrap(of_torchvision(), image_px=64, **NORMALISE).grid.image_px == (64, 64)


@pytest.fixture
def one_process(tmp_path):
    spread = torch.distributed
    spread.init_process_group("gloo", store=spread.FileStore(str(tmp_path / "store"), 1), rank=0, world_size=1)
    yield
    spread.destroy_process_group()


def fully_sharded(module: nn.Module) -> nn.Module:
    from torch.distributed.fsdp import fully_shard

    mesh = torch.distributed.init_device_mesh("cpu", (1,))
    for block in module.blocks:
        fully_shard(block, mesh=mesh)
    return fully_shard(module, mesh=mesh)


def checkpointed(module: nn.Module) -> nn.Module:
    from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import apply_activation_checkpointing

    apply_activation_checkpointing(module, check_fn=lambda part: part in set(module.blocks))
    return module


def reparametrised(module: nn.Module) -> nn.Module:
    from torch.nn.utils import parametrizations, prune

    parametrizations.weight_norm(module.blocks[0].mlp.fc1)
    prune.l1_unstructured(module.blocks[1].mlp.fc1, "weight", 0.5)
    return module


WRAPPERS = {
    "DDP": nn.parallel.DistributedDataParallel, "DataParallel": nn.DataParallel, "FSDP2": fully_sharded,
    "FSDP": lambda module: torch.distributed.fsdp.FullyShardedDataParallel(module, device_id=torch.device("cpu")),
    "compiled": lambda module: torch.compile(module, backend="eager"),
    "compiled in DDP": lambda module: nn.parallel.DistributedDataParallel(torch.compile(module, backend="eager")),
    "average": torch.optim.swa_utils.AveragedModel, "activation checkpoints": checkpointed, "reparametrised": reparametrised,
}  # fmt: skip


@pytest.mark.parametrize("kind", WRAPPERS)
def test_the_model_inside_a_wrapper_is_taken(kind, one_process, noise):
    plain = timm_vit(reg_tokens=2)
    wrapped = WRAPPERS[kind](copy.deepcopy(plain).train())
    if kind == "reparametrised":
        plain = wrapped
    vit, expected = vitcore.wrap(wrapped, **NORMALISE), vitcore.wrap(plain.eval(), **NORMALISE)
    one, other = (vitcore.record(v, noise(), maps="all") for v in (vit, expected))
    np.testing.assert_allclose(one.logits, other.logits, atol=1e-5)
    np.testing.assert_allclose(one.distance_px, other.distance_px, atol=1e-4)
    x = to_model_input(vit, one.model_input.pixels)
    np.testing.assert_allclose(one.logits, plain.eval()(x)[0].detach().numpy(), atol=1e-4)


# Nothing is touched


def everything(module: nn.Module) -> dict[str, object]:
    """All that a module is, and the random states: storage, values, gradients, modes, hooks, attributes."""
    found: dict[str, object] = {}
    for name, part in module.named_modules():
        held = vars(part)
        found |= {f"{name}|{key}": (id(value), copy.copy(value) if isinstance(value, dict | list | set | bool) else None)
                  for key, value in held.items()}  # fmt: skip
        found[f"{name}|class"] = type(part)
    for kind in ("named_parameters", "named_buffers"):
        for name, value in getattr(module, kind)():
            bits = value.detach().contiguous().flatten().view(torch.uint8).numpy().tobytes()
            found[f"{name}|value"] = (
                id(value), value.data_ptr(), value._version, value.dtype, value.requires_grad, id(value.grad),
                hashlib.sha256(bits).hexdigest(),
            )  # fmt: skip
    return found | random_states()


def random_states() -> dict[str, object]:
    kind, keys, *rest = np.random.get_state()  # noqa: NPY002
    return {"python": random.getstate(), "numpy": (kind, keys.tobytes(), *rest), "torch": torch.get_rng_state().numpy().tobytes()}


def in_training() -> nn.Module:
    """A module as training leaves it: some of it frozen, in either mode, with gradients and hooks."""
    module = timm_vit(drop_rate=0.1)
    module.train()
    module.blocks[1].eval()
    module.patch_embed.requires_grad_(False)
    module.seen = []
    module.register_forward_hook(lambda part, given, out: part.seen.append(1))
    module.blocks[2].attn.register_forward_pre_hook(lambda part, given: pytest.fail("a hook of the caller's ran"))
    module.head.weight.grad = torch.ones_like(module.head.weight)
    module.set_grad_checkpointing()
    module.register_buffer("counts", torch.zeros(2))
    return module


@pytest.mark.parametrize("make", [in_training, lambda: FOREIGN["ViT"]().train(), of_torchvision, of_openclip],
                         ids=["timm", "transformers", "torchvision", "OpenCLIP"])  # fmt: skip
def test_nothing_of_the_callers_is_touched(make, noise):
    module = make()
    before = everything(module)
    vit = vitcore.wrap(module, **NORMALISE)
    rec = vitcore.record(vit, noise(), maps=[0], fusions=("mean", "max"))
    vitcore.record(vit, noise(), exact=True, store="query_key")
    if vit.labels:
        for method in ("rollout", "gradient_rollout", "chefer", "grad_cam"):
            relevance(vit, rec.model_input, method)
        logit_lens(vit, rec.model_input)
    vit.to(dtype="bfloat16")
    after = everything(module)
    assert [key for key in before if before[key] != after.get(key)] == [] and before.keys() == after.keys()
    theirs = {p.untyped_storage().data_ptr() for p in [*module.parameters(), *module.buffers()]}
    assert not theirs & {p.untyped_storage().data_ptr() for p in [*vit.module.parameters(), *vit.module.buffers()]}
    assert not vit.module.training and not any(p.requires_grad for p in vit.module.parameters())


def test_a_wrapped_model_does_not_learn_on(noise):
    module = timm_vit()
    vit = vitcore.wrap(module, **NORMALISE)
    before = vitcore.record(vit, noise()).logits
    with torch.no_grad():
        module.head.weight.mul_(2)
    assert np.array_equal(vitcore.record(vit, noise()).logits, before)


def test_opening_a_model_draws_no_random_number(tmp_path):
    module = timm.create_model("vit_tiny_patch16_224", depth=1, img_size=32)
    torch.save(module.state_dict(), tmp_path / "bare.pth")
    (tmp_path / "named").mkdir()
    torch.save(module.state_dict(), tmp_path / "named" / "pytorch_model.bin")
    said = '{"architecture": "vit_tiny_patch16_224", "model_args": {"depth": 1, "img_size": 32}, "num_classes": 1000}'
    (tmp_path / "named" / "config.json").write_text(said)
    before = random_states()
    with warnings.catch_warnings(action="ignore"):
        vitcore.load(tmp_path / "bare.pth"), vitcore.load(tmp_path / "named"), vitcore.load()
    assert random_states() == before
