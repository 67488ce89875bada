"""The table of files that people have: library · class · shape, each as that library saves it, opened and equal to its own output.

A row saves a small model of random weights and gives the library's forward pass; the answers are what its file does not say.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import timm
import torch
from safetensors.torch import save_file
from timm.layers import RmsNorm
from timm.models import save_for_hf
from timm.models.vision_transformer import ResPostBlock
from torch import Tensor

from tests.checkpoints import smooth, to_google, transformers_model
from tests.conftest import lively, timm_vit
from vitcore.models import load_model, local_files

Forward = Callable[[Tensor], Tensor]
SMALL = {"embed_dim": 128, "num_heads": 2, "depth": 2}


class Row(NamedTuple):
    """save: into a folder, gives what is opened and the library's own pass; facts: attributes of the `Vit`."""

    save: Callable[[Path], tuple[Path, Forward]]
    px: tuple[int, int] = (32, 32)
    answers: Mapping[str, Any] = {}
    facts: Mapping[str, Any] = {}
    asks: tuple[str, ...] = ()  # questions that must be there
    says_size: bool = True  # else the size of its input is told: rotary positions leave no trace of it


def placed(module: torch.nn.Module) -> torch.nn.Module:
    """Neighbours' positions alike, as training leaves them, so that they tell their grid."""
    smooth(module.pos_embed, *module.patch_embed.grid_size)
    return module


# timm: states, and its folders

KINDS: dict[str, dict[str, Any]] = {
    "class token": {},
    "registers": {"reg_tokens": 4, "no_embed_class": True},
    "positions of patches only": {"no_embed_class": True, "init_values": 1e-5},
    "mean of patches": {"class_token": False, "global_pool": "avg"},
    "mean, normed before": {"class_token": False, "global_pool": "avg", "fc_norm": False},
    "mean beside a class token": {"global_pool": "avg"},
    "attention pool": {"class_token": False, "global_pool": "map", "num_classes": 0},
    "norm before and QK norm": {"pre_norm": True, "qk_norm": True, "norm_eps": 1e-5},
    "no biases": {"qkv_bias": False, "proj_bias": False, "norm": "rms"},
    "SwiGLU": {"mlp": "swiglu packed", "mlp_ratio": 5.34375},
    "SwiGLU of three matrices": {"mlp": "swiglu", "mlp_ratio": 2.671875},
    "DeiT distilled": {"distilled": True},
    "tanh head": {"mlp_head": True},
    "no head": {"num_classes": 0},
    "DINOv2's classifier": {"reads_class_and_mean": True, "init_values": 1.0},
}
UNTOLD: dict[str, tuple[Callable[[], torch.nn.Module], dict[str, Any]]] = {  # what no tensor tells, and its answer
    "LayerNorm without a bias": (lambda: timm_vit(**SMALL, qk_norm=True, norm_layer=unbiased_norm), {"norm": "layer"}),
    "RMSNorm": (lambda: timm_vit(**SMALL, norm_layer=RmsNorm), {"norm": "rms"}),
    "res-post-norm": (lambda: timm_vit(**SMALL, block_fn=ResPostBlock, qkv_bias=False, class_token=False, global_pool="avg"),
                      {"norm_place": "after"}),
    "res-post-norm behind a class token": (lambda: timm_vit(**SMALL, block_fn=ResPostBlock), {"norm_place": "after"}),
}  # fmt: skip
FOLDERS: dict[str, dict[str, Any]] = {
    "vit_small_patch16_dinov3": {"depth": 1, "img_size": 64}, "vit_small_patch16_rope_224": {"depth": 1, "img_size": 64},
    "beit_base_patch16_224": {"depth": 1}, "eva02_tiny_patch14_224": {"depth": 1}, "cait_xxs24_224": {"depth": 1},
    "xcit_nano_12_p16_224": {"depth": 1}, "resnet10t": {}, "convnext_atto": {"depths": (1, 1, 1, 1)}, "mobilevit_xxs": {},
    "test_vit": {},
}  # fmt: skip
ROTARY: dict[str, dict[str, Any]] = {
    "vit_small_patch16_dinov3": {"img_size": 64}, "vit_tiny_patch16_dinov3_qkvb": {}, "vit_small_patch16_rope_224": {},
    "vit_small_patch16_rope_mixed_224": {"img_size": 64}, "vit_mediumd_patch16_rope_reg1_gap_256": {"img_size": 64, "depth": 1},
    "eva02_tiny_patch14_224": {}, "vit_pe_core_tiny_patch16_384": {"img_size": 64}, "beit_base_patch16_224": {"depth": 1},
    "vit_small_patch16_18x2_224": {"img_size": 64, "depth": 3},
}  # fmt: skip
SIZES = [(8, (32, 32)), (14, (28, 42)), (16, (64, 32)), (32, (64, 128))]  # patch and input, px


def timm_state(shape: dict[str, Any], px: tuple[int, int]) -> Callable[[Path], tuple[Path, Forward]]:
    def save(folder: Path) -> tuple[Path, Forward]:
        module = placed(lively(local_files.build_module({"num_classes": 7, "patch_size": 8, **SMALL, **shape}, px)))
        save_file(module.state_dict(), folder / "a.safetensors")
        return folder / "a.safetensors", module

    return save


def untold(make: Callable[[], torch.nn.Module]) -> Callable[[Path], tuple[Path, Forward]]:
    def save(folder: Path) -> tuple[Path, Forward]:
        module = placed(make())
        torch.save(module.state_dict(), folder / "a.pth")
        return folder / "a.pth", module

    return save


def unbiased_norm(width: int, **more: Any) -> torch.nn.Module:
    return torch.nn.LayerNorm(width, **{"eps": 1e-6, **more, "bias": False})


def timm_model(name: str, made: dict[str, Any], in_folder: bool) -> Callable[[Path], tuple[Path, Forward]]:
    def save(folder: Path) -> tuple[Path, Forward]:
        module = lively(timm.create_model(name, num_classes=3, **made))
        if in_folder:
            save_for_hf(module, str(folder), model_args=made, safe_serialization=True)
            return folder, module
        torch.save(module.state_dict(), folder / "bare.pth")
        return folder / "bare.pth", module

    return save


def of_timm() -> Iterator[tuple[str, Row]]:
    for kind, shape in KINDS.items():
        answers = {"head_activation": "tanh"} if kind == "tanh head" else {}
        prefix = int(shape.get("class_token", True)) + shape.get("reg_tokens", 0) + bool(shape.get("distilled"))
        yield f"timm · ViT · {kind}", Row(timm_state(shape, (32, 48)), (32, 48), answers, {"heads": 2, "prefix": prefix})
    for kind, (make, answers) in UNTOLD.items():
        yield f"timm · ViT · {kind}", Row(untold(make), answers=answers, asks=tuple(answers))
    for (patch, px), width in zip(SIZES, (768, 192, 384, 192), strict=True):
        shape = {"embed_dim": width, "num_heads": width // 64, "depth": 1, "patch_size": patch}
        yield f"timm · ViT {width}/{patch} · {px}", Row(timm_state(shape, px), px, facts={"heads": width // 64})
    for name, made in FOLDERS.items():
        side = made.get("img_size") or timm.get_pretrained_cfg(name).input_size[-1]
        facts = {"labels": ("class 0", "class 1", "class 2")}
        yield f"timm · {name} · folder", Row(timm_model(name, made, True), (side, side), facts=facts)
    for name, made in ROTARY.items():
        side = made.get("img_size") or timm.get_pretrained_cfg(name).input_size[-1]
        yield f"timm · {name} · state", Row(timm_model(name, {"depth": 2, **made}, False), (side, side), says_size=False)


# Training checkpoints


def apart(name: str, w: Tensor, *parts: str) -> Iterator[tuple[str, Tensor]]:
    """What makes queries, keys and values in tensors of their own; any other as it is."""
    sizes = [len(part) * len(w) // 3 for part in parts]
    yield from zip((name.replace("qkv", part) for part in parts), w.split(sizes), strict=True) if ".qkv." in name else [(name, w)]


NESTED: dict[str, Callable[[dict[str, Tensor]], Any]] = {
    "flat": lambda s: s,
    "model": lambda s: {"model": s, "optimizer": {"state": {0: {"exp_avg": torch.zeros(2)}}}, "epoch": 3},
    "state_dict": lambda s: {"state_dict": {f"module.{k}": v for k, v in s.items()}, "args": None},
    "compiled and parallel": lambda s: {f"module._orig_mod.{k}": v for k, v in s.items()},
    "Lightning": lambda s: {"state_dict": {f"model.{k}": v for k, v in s.items()} | {"loss.weight": torch.ones(3)}},
    "blocks compiled and checkpointed": lambda s: {
        f"_fsdp_wrapped_module.{k}".replace("s.0.", "s.0._orig_mod.").replace("s.1.", "s.1._checkpoint_wrapped_module."): v
        for k, v in s.items()
    },
    "weight norm and pruning": lambda s: {k: v for k, v in s.items() if not k.endswith("fc1.weight")}
    | {k + "_v": 2 * v for k, v in s.items() if k.endswith("0.mlp.fc1.weight")}
    | {k + "_g": v.norm(dim=1, keepdim=True) for k, v in s.items() if k.endswith("0.mlp.fc1.weight")}
    | {k + "_orig": v for k, v in s.items() if k.endswith("1.mlp.fc1.weight")}
    | {k + "_mask": torch.ones_like(v) for k, v in s.items() if k.endswith("1.mlp.fc1.weight")},
    "arrays of NumPy": lambda s: {"params": {k: v.numpy().astype(">f8") for k, v in s.items()}, "epoch": np.int64(3)},
    "queries, keys and values apart": lambda s: {name: w for k, v in s.items() for name, w in apart(k, v, "q", "k", "v")},
    "queries apart from keys and values": lambda s: {name: w for k, v in s.items() for name, w in apart(k, v, "q", "kv")},
    "torch's attention": lambda s: {
        k.replace("attn.qkv.", "attn.in_proj_").replace("attn.proj", "attn.out_proj"): v for k, v in s.items()
    },
    "a tuple": lambda s: (s, {"epoch": 3}),
    "best and last": lambda s: {"last_state": {k: v + 1 for k, v in s.items()}, "best_state": s},
    "moments of Adam": lambda s: {"exp_avg": {k: v + 1 for k, v in s.items()}, "weights": s},
    "average": lambda s: {"model": {k: v + 1 for k, v in s.items()}, "model_ema": s},
    "timm's average": lambda s: {"state_dict": {k: v + 1 for k, v in s.items()}, "state_dict_ema": s},
    "average without names": lambda s: {"model": {k: v + 1 for k, v in s.items()}, "ema": {"shadow_params": list(s.values())}},
    "moments in lists": lambda s: {"model": s, "m": [v + 1 for v in s.values()], "v": [v + 2 for v in s.values()]},
    "Paddle": lambda s: {k: (v.T if v.ndim == 2 else v).numpy() for k, v in s.items()},
    "DINO": lambda s: {
        "student": {f"module.backbone.{k}": v + 1 for k, v in s.items()} | {"module.head.mlp.0.weight": torch.ones(2, 2)},
        "teacher": {f"backbone.{k}": v for k, v in s.items()} | {"head.last_layer.weight_g": torch.ones(2, 1)},
    },
    "teacher in one": lambda s: {f"student.backbone.{k}": v + 1 for k, v in s.items()}
    | {f"teacher.backbone.{k}": v for k, v in s.items()},
    "iBOT": lambda s: {"state_dict": s | {"masked_embed": torch.ones(1, 128)}},
    "MAE": lambda s: {"model": s | {"mask_token": torch.zeros(1, 1, 8), "decoder_pos_embed": torch.zeros(1, 17, 8)}},
}  # fmt: skip


def in_shards(folder: Path) -> tuple[Path, Forward]:
    module = timm_vit(**SMALL, num_classes=0)
    whole = list(module.state_dict().items())
    for n, part in enumerate((whole[:9], whole[9:])):
        save_file(dict(part), folder / f"model-0000{n + 1}-of-00002.safetensors")
    return folder / "model-00001-of-00002.safetensors", module


def scripted(folder: Path) -> tuple[Path, Forward]:
    module = timm_vit(**SMALL, num_classes=0)
    torch.jit.save(torch.jit.script(module), folder / "a.pt")
    return folder / "a.pt", module


def checkpoint(nest: Callable[[dict[str, Tensor]], Any]) -> Callable[[Path], tuple[Path, Forward]]:
    def save(folder: Path) -> tuple[Path, Forward]:
        module = timm_vit(**SMALL, num_classes=0)
        torch.save(nest(module.state_dict()), folder / "a.pth")
        return folder / "a.pth", module

    return save


# Google

GOOGLE = {"plain": {}, "pooled": {"class_token": False, "global_pool": "avg", "fc_norm": False}, "tanh head": {"mlp_head": True},
          "features": {"num_classes": 0}}  # fmt: skip


def google(
    shape: dict[str, Any], px: tuple[int, int], scan: bool, in_timms_names: bool = False
) -> Callable[[Path], tuple[Path, Forward]]:
    def save(folder: Path) -> tuple[Path, Forward]:
        module = lively(local_files.build_module({"num_classes": 7, "patch_size": 16, **SMALL, **shape}, px))
        module = module if "backbone" in shape else placed(module)
        if in_timms_names:
            save_file(module.state_dict(), folder / "b.safetensors")
            return folder / "b.safetensors", module
        to_google(module, folder / "a.npz", scan)
        return folder / "a.npz", module

    return save


def of_google() -> Iterator[tuple[str, Row]]:
    for kind, shape in GOOGLE.items():
        for scan in (False, True):
            facts = {"heads": 2, "mean": (0.5,) * 3}
            yield (
                f"{'big_vision' if scan else 'vision_transformer'} · ViT · {kind}",
                Row(google(shape, (32, 64), scan), (32, 64), facts=facts),
            )
    for kind, layers in (("R+Ti", []), ("R50+B", [1, 1, 1])):
        shape = {"patch_size": 1 if layers else 8, "backbone": layers}
        for library in ("vision_transformer", "timm"):
            row = Row(
                google(shape, (64, 64), False, library == "timm"), (64, 64), facts={"hybrid": True, "patch": 16 if layers else 32}
            )
            yield f"{library} · hybrid · {kind}", row


# transformers, with its configuration and without

OF_TRANSFORMERS: list[tuple[str, dict[str, Any]]] = [
    ("ViTForImageClassification", {}), ("ViTForImageClassification", {"image_size": (48, 32), "patch_size": 16, "qkv_bias": False}),
    ("ViTForImageClassification", {"hidden_act": "gelu_new", "num_attention_heads": 4}),
    ("DeiTForImageClassificationWithTeacher", {}), ("DeiTForImageClassification", {}),
    ("Dinov2ForImageClassification", {"patch_size": 14, "image_size": 42}),
    ("Dinov2ForImageClassification", {"use_swiglu_ffn": True}),
    ("Dinov2WithRegistersForImageClassification", {"patch_size": 14, "image_size": 42}), ("SiglipForImageClassification", {}),
    ("ViTModel", {}), ("Dinov2Model", {}), ("SiglipVisionModel", {}), ("CLIPVisionModel", {}),
    ("CLIPVisionModelWithProjection", {}),
]  # fmt: skip


def transformers_folder(kind: str, changes: dict[str, Any], with_config: bool) -> Callable[[Path], tuple[Path, Forward]]:
    def save(folder: Path) -> tuple[Path, Forward]:
        module = transformers_model(kind, **changes)
        module.save_pretrained(folder)
        if not with_config:
            (folder / "config.json").unlink()
        return folder, lambda x: _answer(kind, module(x))

    return save


def _answer(kind: str, said: Any) -> Tensor:
    if kind == "ViTModel":
        return said.last_hidden_state[:, 0]
    return said.logits if "Classification" in kind else said.image_embeds if "Projection" in kind else said.pooler_output


def of_transformers() -> Iterator[tuple[str, Row]]:
    for kind, changes in OF_TRANSFORMERS:
        size = changes.get("image_size", 32)
        px = size if isinstance(size, tuple) else (size, size)
        named = f"transformers · {kind} · {json.dumps(changes)}"
        yield f"{named} · folder", Row(transformers_folder(kind, changes, True), px)
        if "Classification" in kind:  # what its configuration says, a person can answer
            answers = {"heads": changes.get("num_attention_heads", 2), "eps": 1e-12 if kind[0:3] in ("ViT", "Dei") else 1e-6}
            answers |= {"activation": "gelu_tanh"} if changes.get("hidden_act") == "gelu_new" else {}
            yield f"{named} · weights alone", Row(transformers_folder(kind, changes, False), px, answers)


# torchvision, OpenCLIP


def torchvisions(hidden: int | None) -> Callable[[Path], tuple[Path, Forward]]:
    def save(folder: Path) -> tuple[Path, Forward]:
        from torchvision.models.vision_transformer import VisionTransformer

        module = lively(VisionTransformer(32, 8, 2, 2, 128, 256, num_classes=7, representation_size=hidden))
        torch.nn.init.normal_(module.heads.head.weight)
        torch.save(module.state_dict(), folder / "a.pth")
        return folder / "a.pth", module

    return save


def openclips(changes: dict[str, Any], prefix: str) -> Callable[[Path], tuple[Path, Forward]]:
    def save(folder: Path) -> tuple[Path, Forward]:
        transformer = pytest.importorskip("open_clip.transformer")
        module = lively(transformer.VisionTransformer((32, 64), 8, 128, 2, 2, 4.0, output_dim=24, **changes))
        smooth(module.positional_embedding, 4, 8)
        text = {"transformer.resblocks.0.ln_1.weight": torch.ones(4), "logit_scale": torch.ones(())} if prefix else {}
        save_file({prefix + k: v for k, v in module.state_dict().items()} | text, folder / "a.safetensors")
        return folder / "a.safetensors", module

    return save


def trunk(folder: Path) -> tuple[Path, Forward]:
    module = timm_vit(**SMALL, class_token=False, global_pool="map", num_classes=0)
    state = {f"visual.trunk.{k}": v for k, v in module.state_dict().items()}
    save_file(state | {"text.x": torch.ones(2)}, folder / "a.safetensors")
    return folder / "a.safetensors", module


CLIPA = {"norm_kwargs": {"eps": 1e-3}, "act_kwargs": {"approximate": "tanh"}, "pool_type": "avg", "final_ln_after_pool": True}
TRUNK = {"timm_model_name": "vit_tiny_patch16_224", "timm_pool": "avg", "timm_proj": "linear"}


def openclip_folder(vision: dict[str, Any], size: int) -> Callable[[Path], tuple[Path, Forward]]:
    def save(folder: Path) -> tuple[Path, Forward]:
        model = pytest.importorskip("open_clip").model
        tower = {"image_size": size, "layers": 2, "width": 128, "patch_size": 8} | vision
        told = {"embed_dim": 24, "vision_cfg": tower, "text_cfg": {"context_length": 8, "vocab_size": 50, "width": 32, "heads": 2}}
        module = model.CLIP(**told, output_dict=False).eval()
        lively(module.visual)
        torch.save(module.state_dict(), folder / "open_clip_pytorch_model.bin")
        colours = {"mean": [0.5] * 3, "std": [0.25] * 3, "resize_mode": "squash"}
        (folder / "open_clip_config.json").write_text(json.dumps({"model_cfg": told, "preprocess_cfg": colours}))
        return folder, module.encode_image

    return save


def timm_wrapper(problem: str) -> Callable[[Path], tuple[Path, Forward]]:
    def save(folder: Path) -> tuple[Path, Forward]:
        import transformers as T

        made = {"model_args": {"depth": 1, "img_size": 32}}
        told = T.TimmWrapperConfig(architecture="test_vit", **made, id2label=dict(enumerate("abc")), problem_type=problem)
        module = lively(T.TimmWrapperForImageClassification(told))
        module.save_pretrained(folder)
        return folder, lambda x: module(x).logits

    return save


def of_others() -> Iterator[tuple[str, Row]]:
    for kind, nest in NESTED.items():
        yield f"timm · checkpoint of a training · {kind}", Row(checkpoint(nest))
    yield "timm · shards without an index", Row(in_shards)
    yield "timm · TorchScript", Row(scripted)
    for kind, hidden in (("linear head", None), ("tanh head", 128)):
        yield f"torchvision · VisionTransformer · {kind}", Row(torchvisions(hidden))
    for changes in ({}, {"ls_init_value": 0.5}, {"no_ln_pre": True}):
        for prefix in ("", "visual."):
            answers = {"eps": 1e-5} if "no_ln_pre" in changes else {}
            yield f"OpenCLIP · tower · {json.dumps(changes)} {prefix}", Row(openclips(changes, prefix), (32, 64), answers)
    yield "OpenCLIP · timm's trunk · attention pool", Row(trunk)
    for kind, vision, size in (("plain", {}, 32), ("CLIPA", CLIPA, 32), ("timm's trunk, mean", TRUNK, 224)):
        yield f"OpenCLIP · folder · {kind}", Row(openclip_folder(vision, size), (size, size), facts={"resize": (size, size)})
    for problem, output in (("single_label_classification", "softmax"), ("multi_label_classification", "sigmoid")):
        yield (
            f"transformers · TimmWrapper · {problem}",
            Row(timm_wrapper(problem), facts={"labels": tuple("abc"), "output": output}),
        )


ROWS = dict(row for rows in (of_timm(), of_others(), of_google(), of_transformers()) for row in rows)


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    monkeypatch.setenv("HF_HUB_DISABLE_PROGRESS_BARS", "1")


@pytest.mark.parametrize("row", ROWS)
@torch.inference_mode()
def test_it_answers_as_its_own_library_does(row, tmp_path):
    made = ROWS[row]
    torch.manual_seed(0)
    path, theirs = made.save(tmp_path)
    assert not made.asks or set(made.asks) <= {q.key for q in load_model.inspect(path).unproven_questions}
    vit = load_model.load(path, image_px=None if made.says_size else made.px, answers=made.answers)
    x = torch.randn(2, 3, *made.px)
    wanted = theirs(x)
    assert wanted.std() > 1e-3, "every answer is the same: nothing is compared"
    torch.testing.assert_close(vit.module(x), wanted, rtol=0, atol=1e-5)
    found = {"heads": vit.heads, "prefix": vit.grid.prefix, "mean": vit.mean, "labels": vit.labels, "hybrid": vit.hybrid,
             "patch": vit.grid.patch_px, "output": vit.output,
             "resize": getattr(vit.transform.transforms[0], "size", None)}  # fmt: skip
    assert vit.grid.image_px == made.px and made.facts.items() <= found.items()


def test_the_table_is_long_enough():
    libraries = {row.split(" · ")[0] for row in ROWS}
    assert len(ROWS) >= 60 and libraries >= {"timm", "transformers", "torchvision", "OpenCLIP", "big_vision"}
