"""`python -m vitcore.train.teach`: lessons, what two teachers say about one seeded crop of every photo, kept in files.

Asking a teacher costs more than a training step of a small student, so each photo gets one inception crop, and the
crop, the label teacher's probabilities and the token teacher's tokens and class attention are stored side by side
(after Shen & Xing, "A Fast Knowledge Distillation Framework for Visual Recognition", arXiv 2112.01528).
"""

import argparse
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import timm
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from safetensors.torch import load_file
from timm.models.vision_transformer import checkpoint_filter_fn
from torch import Tensor
from tqdm import tqdm

from vitcore.tape import Call, Softmax, Tape
from vitcore.train.crops import crop, random_box
from vitcore.train.optimisers import fast_bf16
from vitcore.train.parquet import decode, rows

LOOKER = "vit_small_patch14_dinov2"
FIRST_HEADS = 4, 1, 5  # of DINOv2-S/14: they reach 9, 33 and 53 % of the image width
TOP = 20  # classes kept per photo
COMPONENTS = 64  # principal components kept of a teacher token
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"  # of the teachers
TOKEN_STEP = 6 / 127  # int8 quantum of a standardised component


@dataclass(frozen=True)
class Lessons:
    """Memory-mapped arrays over N photos; `tokens` and `attention` are zero where `dense` is False."""

    pixels: NDArray[np.uint8]  # (N, px, px, 3)
    classes: NDArray[np.int16]  # (N, TOP)
    probabilities: NDArray[np.float16]  # (N, TOP)
    tokens: NDArray[np.int8]  # (N, patches, COMPONENTS)
    attention: NDArray[np.float16]  # (N, patches)
    dense: NDArray[np.bool_]  # (N,)


def open_lessons(folder: Path, photos: int = 0, px: int = 0, patches: int = 0) -> Lessons:
    """Open the arrays of `folder`; with `photos`, create those that are missing."""
    shapes = {
        "pixels": ((photos, px, px, 3), np.uint8), "classes": ((photos, TOP), np.int16),
        "probabilities": ((photos, TOP), np.float16), "tokens": ((photos, patches, COMPONENTS), np.int8),
        "attention": ((photos, patches), np.float16), "dense": ((photos,), np.bool_),
    }  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    arrays = {}
    for name, (shape, dtype) in shapes.items():
        file = folder / f"{name}.npy"
        if photos and not file.exists():
            np.lib.format.open_memmap(file, "w+", dtype, shape).flush()
        arrays[name] = np.load(file, mmap_mode="r+" if photos else "r")
    return Lessons(**arrays)


def load_teacher(name: str, weights: Path, **kwargs: Any) -> Any:
    """A frozen timm model with weights from a safetensors file, positions resampled to fit."""
    model: Any = timm.create_model(name, **kwargs)
    state = {k: v.float() for k, v in load_file(weights).items()}
    model.load_state_dict(checkpoint_filter_fn(state, model))
    return model.to(DEVICE).eval().requires_grad_(False)


@torch.inference_mode()
def token_lesson(teacher: Any, pixels: Tensor) -> tuple[Tensor, Tensor]:
    """Normalised tokens (B, patches, D) and the last block's class-token attention over patches, mean of heads."""
    rows: list[Tensor] = []
    prefix = teacher.num_prefix_tokens
    with (
        torch.autocast(DEVICE, torch.bfloat16, enabled=fast_bf16()),
        Tape(lambda call: rows.append(call.weights(slice(0, 1)))),
    ):
        tokens = teacher.forward_features(pixels.to(DEVICE))
    attention = rows[-1].float().mean(1)[:, 0, prefix:]
    return tokens[:, prefix:].float().cpu(), (attention / attention.sum(-1, keepdim=True)).cpu()


@torch.no_grad()
def first_attention(teacher: Any, pixels: Tensor, kept: Tensor, heads: tuple[int, ...] = FIRST_HEADS) -> Tensor:
    """Attention of a few heads of the teacher's first block, (B, heads, 1 + kept, 1 + kept), among the kept patches.

    `pixels` (B, 3, px, px) are normalised with mean and deviation 0.5, `kept` (B, n) are patch indices. One block is a
    twelfth of a teacher, so this is asked on the spot, crop and mirror included.
    """
    mean, std = (torch.tensor(teacher.pretrained_cfg[n], device=pixels.device).view(3, 1, 1) for n in ("mean", "std"))
    large = F.interpolate(pixels, size=teacher.patch_embed.img_size, mode="bilinear")
    x = teacher.norm_pre(teacher._pos_embed(teacher.patch_embed((large * 0.5 + 0.5 - mean) / std)))
    rows = torch.cat([torch.zeros_like(kept[:, :1]), kept + 1], 1).unsqueeze(-1).expand(-1, -1, x.shape[-1])
    found: list[Tensor] = []

    def look(call: Call | Softmax) -> None:
        found.append(Call(0, call.q[:, heads], call.k[:, heads], call.v[:, heads]).weights())  # type: ignore[union-attr]

    block = teacher.blocks[0]
    with Tape(look):
        block.attn(block.norm1(x.gather(1, rows)))
    return found[0]


def fit_components(tokens: Tensor) -> dict[str, Tensor]:
    """Principal components of tokens (…, D): mean (D,), basis (D, COMPONENTS), scale (): the largest spread."""
    flat = tokens.reshape(-1, tokens.shape[-1])
    mean = flat.mean(0)
    _, vectors = torch.linalg.eigh((flat - mean).T @ (flat - mean))
    basis = vectors.flip(-1)[:, :COMPONENTS]
    return {"mean": mean, "basis": basis, "scale": ((flat - mean) @ basis).std()}


def normalise(pixels: NDArray[np.uint8], config: Mapping[str, Any]) -> Tensor:
    """(B, px, px, 3) bytes to (B, 3, px, px), with a timm config's mean and standard deviation."""
    x = torch.from_numpy(np.ascontiguousarray(pixels)).permute(0, 3, 1, 2).float() / 255
    return (x - torch.tensor(config["mean"]).view(3, 1, 1)) / torch.tensor(config["std"]).view(3, 1, 1)


def teach(
    folder: Path, photos: list[tuple[bytes, bool]], labeller: Any, looker: Any, px: int, patches: int,
    seed: int = 0, chunk: int = 64,
) -> Iterator[int]:  # fmt: skip
    """Fill `folder` with lessons for (encoded photo, ask the token teacher?) pairs; yields photos done; resumes."""
    out = open_lessons(folder, len(photos), px, patches)
    progress = folder / "done.json"
    start = json.loads(progress.read_text()) if progress.exists() else 0
    for first in range(start, len(photos), chunk):
        part = photos[first : first + chunk]
        s = slice(first, first + len(part))
        images = list(decode(p for p, _ in part))
        boxes = [random_box(im.size, np.random.default_rng((seed, first + i))) for i, im in enumerate(images)]
        out.pixels[s] = np.stack([crop(im, box, px) for im, box in zip(images, boxes, strict=True)])
        large = np.stack([crop(im, box, 224) for im, box in zip(images, boxes, strict=True)])
        _label(out, s, labeller, large)
        _look(out, s, looker, large, np.array([dense for _, dense in part]), folder / "components.pt")
        progress.write_text(json.dumps(first + len(part)))
        yield first + len(part)


@torch.inference_mode()
def _label(out: Lessons, s: slice, teacher: Any, large: NDArray[np.uint8]) -> None:
    with torch.autocast(DEVICE, torch.bfloat16, enabled=fast_bf16()):
        logits = teacher(normalise(large, teacher.pretrained_cfg).to(DEVICE)).float().cpu()
    top = logits.softmax(-1).topk(TOP)
    out.classes[s], out.probabilities[s] = top.indices.short().numpy(), top.values.half().numpy()


def _look(out: Lessons, s: slice, teacher: Any, large: NDArray[np.uint8], ask: NDArray[np.bool_], file: Path) -> None:
    out.dense[s] = ask
    if not ask.any():
        return
    tokens, attention = token_lesson(teacher, normalise(large[ask], teacher.pretrained_cfg))
    if not file.exists():
        torch.save(fit_components(tokens), file)
    fit = torch.load(file)
    small = ((tokens - fit["mean"]) @ fit["basis"]) / fit["scale"]
    where = np.flatnonzero(ask) + s.start
    out.tokens[where] = (small / TOKEN_STEP).round().clamp(-127, 127).to(torch.int8).numpy()
    out.attention[where] = attention.half().numpy()


def looker_of(folder: Path) -> Any:
    """The token teacher a lessons folder was made with (lessons.json names its weights), for its first block."""
    named = json.loads((folder / "lessons.json").read_text())
    return load_teacher(named["looker"], Path(named["tokens_from"]), img_size=224, num_classes=0)


def main() -> None:
    """Make a lessons folder; broken off and started again, it goes on."""
    parser = argparse.ArgumentParser("python -m vitcore.train.teach", description=__doc__)
    parser.add_argument("--dense", nargs="+", type=Path, required=True, help="Parquet files both teachers look at")
    parser.add_argument("--extra", nargs="*", type=Path, default=[], help="Parquet files only labelled")
    parser.add_argument(
        "--most-dense", type=int, default=10**9, help="the token teacher looks at no more than these photos"
    )
    parser.add_argument("--labels-from", type=Path, required=True, help="safetensors of vit_tiny_patch16_224")
    parser.add_argument("--tokens-from", type=Path, required=True, help="safetensors of vit_small_patch14_dinov2")
    parser.add_argument("--out", type=Path, required=True, help="lessons folder")
    parser.add_argument("--image-px", type=int, default=128, help="side of the student's picture, in 16 × 16 patches")
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    first, second = rows(args.dense), rows(args.extra)
    photos = [(first[i][0], place < args.most_dense) for place, i in enumerate(rng.permutation(len(first)))]
    photos += [(photo, False) for photo, _ in second]
    labeller = load_teacher("vit_tiny_patch16_224", args.labels_from)
    looker = load_teacher(LOOKER, args.tokens_from, img_size=224, num_classes=0)
    args.out.mkdir(parents=True, exist_ok=True)
    named = {"looker": LOOKER, "tokens_from": str(args.tokens_from.resolve())}
    (args.out / "lessons.json").write_text(json.dumps(named))
    order = rng.permutation(len(photos))
    for _ in tqdm(
        teach(args.out, [photos[i] for i in order], labeller, looker, args.image_px, 256), total=-(-len(photos) // 64)
    ):
        pass


if __name__ == "__main__":
    main()
