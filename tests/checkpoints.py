"""Checkpoints for tests as other libraries write them: their own modules with random weights, and Google's `.npz` from timm's."""

import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch

import vitcore
from tests.conftest import lively

PHOTO = torch.Generator().manual_seed(5)


def load_quietly(path: Path, **more) -> vitcore.Vit:
    """As `vitcore.load`, with no word of what is worth a warning."""
    with warnings.catch_warnings(action="ignore"):
        return vitcore.load(path, **more)


def same_answers(vit: vitcore.Vit, module: torch.nn.Module) -> None:
    x = torch.randn(2, 3, *vit.grid.image_px)
    with torch.inference_mode():
        assert torch.allclose(vit.module(x), module(x), rtol=0, atol=1e-5)


def smooth(table: torch.Tensor, rows: int, cols: int) -> None:
    """Fill the last rows·cols positions (…, T, D) as training leaves them: neighbours are alike, in both directions."""
    wide = table.shape[-1]
    made = torch.Generator().manual_seed(3)
    way = torch.randn(wide, 2, generator=made)
    place = torch.stack(torch.meshgrid(torch.arange(rows), torch.arange(cols), indexing="ij"), -1).reshape(-1, 2).float()
    with torch.no_grad():
        table[..., -rows * cols :, :] = torch.sin(place @ (0.4 * way.T) + torch.randn(wide, generator=made))


def to_google(module: torch.nn.Module, file: Path, scan: bool = False) -> None:
    """Write a timm ViT or hybrid as Google's JAX code saves it; `scan`: as big_vision does, all blocks in one array."""
    arrays = dict(_google(module, scan))
    if scan:
        inside = sorted({name.split("encoderblock_0/")[1] for name in arrays if "encoderblock_0/" in name})
        for part in inside:
            stacked = np.stack([arrays.pop(f"Transformer/encoderblock_{i}/{part}") for i in range(len(module.blocks))])
            arrays[f"Transformer/encoderblock/{part}"] = stacked
    np.savez(file, **{("params/" if scan else "") + name: array for name, array in arrays.items()})


def _google(module: torch.nn.Module, scan: bool) -> Iterator[tuple[str, np.ndarray]]:
    embed = module.patch_embed
    if hasattr(embed, "backbone"):
        yield from _resnet(embed.backbone)
    yield "embedding/kernel", _kernel(embed.proj.weight)
    yield "embedding/bias", _np(embed.proj.bias)
    if module.cls_token is not None:
        yield "cls", _np(module.cls_token)
    yield ("pos_embedding" if scan else "Transformer/posembed_input/pos_embedding"), _np(module.pos_embed)
    yield from _norm("Transformer/encoder_norm", module.norm)
    for i, block in enumerate(module.blocks):
        here = f"Transformer/encoderblock_{i}"
        yield from _norm(f"{here}/LayerNorm_0", block.norm1)
        yield from _norm(f"{here}/LayerNorm_{1 if scan else 2}", block.norm2)
        heads, wide = block.attn.num_heads, block.attn.head_dim
        attention = f"{here}/MultiHeadDotProductAttention_{0 if scan else 1}"
        weights, biases = block.attn.qkv.weight.chunk(3), block.attn.qkv.bias.chunk(3)
        for name, w, b in zip(("query", "key", "value"), weights, biases, strict=True):
            yield f"{attention}/{name}/kernel", _np(w.T).reshape(-1, heads, wide)
            yield f"{attention}/{name}/bias", _np(b).reshape(heads, wide)
        yield f"{attention}/out/kernel", _np(block.attn.proj.weight.T).reshape(heads, wide, -1)
        yield f"{attention}/out/bias", _np(block.attn.proj.bias)
        for r in range(2):
            yield from _dense(f"{here}/MlpBlock_{0 if scan else 3}/Dense_{r}", getattr(block.mlp, f"fc{r + 1}"))
    if isinstance(module.head, torch.nn.Sequential):  # the paper's pre-training head
        yield from _dense("pre_logits", module.head[0])
        yield from _dense("head", module.head[2])
    elif isinstance(module.head, torch.nn.Linear):
        yield from _dense("head", module.head)


def _resnet(backbone: torch.nn.Module) -> Iterator[tuple[str, np.ndarray]]:
    stem = getattr(backbone, "stem", backbone)
    yield "conv_root/kernel", _kernel(stem.conv.weight)
    yield from _norm("gn_root", stem.norm)
    for i, stage in enumerate(getattr(backbone, "stages", ())):
        for j, unit in enumerate(stage.blocks):
            here = f"block{i + 1}/unit{j + 1}"
            for r in (1, 2, 3):
                yield f"{here}/conv{r}/kernel", _kernel(getattr(unit, f"conv{r}").weight)
                yield from _norm(f"{here}/gn{r}", getattr(unit, f"norm{r}"), flat=False)
            if unit.downsample is not None:
                yield f"{here}/conv_proj/kernel", _kernel(unit.downsample.conv.weight)
                yield from _norm(f"{here}/gn_proj", unit.downsample.norm, flat=False)


def _norm(name: str, norm: torch.nn.Module, flat: bool = True) -> Iterator[tuple[str, np.ndarray]]:
    """Scale and bias; those inside a ResNet are (1, 1, 1, channels) in Google's files."""
    for ours, theirs in (("weight", "scale"), ("bias", "bias")):
        array = _np(getattr(norm, ours))
        yield f"{name}/{theirs}", array if flat else array.reshape(1, 1, 1, -1)


def _dense(name: str, layer: torch.nn.Module) -> Iterator[tuple[str, np.ndarray]]:
    yield f"{name}/kernel", _np(layer.weight.T)
    yield f"{name}/bias", _np(layer.bias)


def _kernel(w: torch.Tensor) -> np.ndarray:
    return _np(w.permute(2, 3, 1, 0))


def _np(w: torch.Tensor) -> np.ndarray:
    return np.ascontiguousarray(w.detach().numpy())


def transformers_model(kind: str, labels: int = 5, **changes):
    """A small model of transformers' with random weights; `kind` is the class's name."""
    import transformers

    size = {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 512, "image_size": 32,
            "patch_size": 8} | changes  # fmt: skip
    config = getattr(transformers, kind.replace("ForImageClassificationWithTeacher", "").replace("ForImageClassification", "")
                     .replace("WithProjection", "").removesuffix("Model") + "Config")  # fmt: skip
    if kind == "SiglipForImageClassification":
        text = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32, "vocab_size": 30}
        made = config(vision_config=size, text_config=text, num_labels=labels)
    else:
        made = config(**size, num_labels=labels)
    module = lively(getattr(transformers, kind)(made))
    for name, table in module.named_parameters():
        if "position" in name:
            high, wide = (size["image_size"],) * 2 if isinstance(size["image_size"], int) else size["image_size"]
            smooth(table, high // size["patch_size"], wide // size["patch_size"])
    return module
