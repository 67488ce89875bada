"""Models damaged as what they say: tensors of other shapes, types, values and names; settings of odd values."""

import contextlib
import copy
import io
import json
import random
import shutil
import warnings
from pathlib import Path

import torch
from safetensors.torch import load_file, save

from tests.hostile.damage_bytes import damage_bytes, damage_safetensors, damage_zip
from tests.hostile.damage_pickles import odd_archive

ODD_NUMBERS = (0, 1, -1, 2, 3, 7, 63, 64, 65, 1000, 10**5, 10**9, 2**31, 2**63, 10**30, 0.5, 1e-300, float("nan"), float("inf"))
ODD_VALUES = (None, True, "", "x", "gelu", [], {}, [0], [1, 2, 3], [None], ["a", 2], {"a": 1}, {"height": -1}, [[]], "0", "224",
              "../../x", "\ud800", "漢\u202e\0", *ODD_NUMBERS)  # fmt: skip
PICKLED = (".pth", ".ckpt")


def damage(base: Path, home: Path, rng: random.Random) -> Path:
    """A damaged copy of a file or a folder, in `home`."""
    path = home / base.name
    if base.is_dir():
        shutil.copytree(base, path)
        texts = sorted(path.rglob("*.json"))
        if texts and rng.random() < 0.7:
            file = rng.choice(texts)
            damage_settings(file, rng) if rng.random() < 0.9 else file.write_bytes(damage_bytes(file.read_bytes(), rng))
            return path
        damage_weights(rng.choice(sorted(path.rglob("*.safetensors"))), rng)
        return path
    shutil.copy(base, path)
    damage_weights(path, rng)
    return path


def damage_weights(file: Path, rng: random.Random) -> None:
    """One of: tensors of other shapes, types and names; bytes of the file; its header; what is inside its ZIP or its pickle."""
    data = file.read_bytes()
    if rng.random() < 0.25:
        data = damage_bytes(data, rng)
    elif data[:2] == b"PK" and (rng.random() < 0.5 or file.suffix not in PICKLED):
        data = damage_zip(data, rng)
    elif file.suffix == ".safetensors" and rng.random() < 0.35:
        data = damage_safetensors(data, rng)
    elif data[:2] == b"PK" and rng.random() < 0.4:
        data = odd_archive(_state(file), rng)
    elif file.suffix in (".safetensors", *PICKLED):
        data = with_other_tensors(file, rng)
    file.write_bytes(data)


def _state(file: Path) -> dict[str, torch.Tensor]:
    if file.suffix not in PICKLED:
        return load_file(file)
    held = torch.load(file, weights_only=False)
    inside = held.get("model", held.get("state_dict", held))
    return {n.removeprefix("module."): w for n, w in inside.items()}


def with_other_tensors(file: Path, rng: random.Random) -> bytes:
    """The file with some tensors of other shapes, types and names."""
    pickled = file.suffix in PICKLED
    old = b"PK" != file.read_bytes()[:2]
    state = _state(file)
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        name = rng.choice(sorted(state))
        made = _other(name, state, rng, pickled)
        if made is not None:
            state[name] = made
    if rng.random() < 0.2:
        state = _other_names(state, rng)
    if not pickled:
        return save({n: w.contiguous().clone() for n, w in state.items()})
    out = io.BytesIO()
    with contextlib.suppress(Exception), warnings.catch_warnings(action="ignore"):
        torch.save(rng.choice(({"model": state}, state, {"a": {"b": {"c": state}}})), out, _use_new_zipfile_serialization=not old)
        return out.getvalue()
    return b"\x80\x02."


def _other_names(state: dict[str, torch.Tensor], rng: random.Random) -> dict[str, torch.Tensor]:
    """Names behind other prefixes, or twice there once the prefixes are left out."""
    before = rng.choice(
        ("a." * 1000, "module.model.", "漢字.", ".", "..", "x" * 10_000 + ".", "blocks.", "model.ema.", "visual.", "\t\x1b[31m.")
    )
    if rng.random() < 0.5:
        return {before + n: w for n, w in state.items()}
    twice = {
        f"{rng.choice(('module.', 'model.', before))}{n}": torch.ones(w.shape if w.numel() < 10**7 else 1)
        for n, w in state.items()
        if rng.random() < 0.9
    }
    return {**state, **twice} if rng.random() < 0.5 else {**twice, **state}


def _other(name: str, state: dict[str, torch.Tensor], rng: random.Random, pickled: bool) -> torch.Tensor | None:
    w = state[name].float() if not state[name].is_quantized and state[name].layout == torch.strided else torch.zeros(2, 2)
    w = torch.zeros(w.shape) if w.is_meta else w
    kind = rng.randrange(17 if pickled else 14)
    if kind == 0:
        state.pop(name) if len(state) > 1 else None
        return None
    if kind == 1:
        renamed = rng.choice((
            name.replace("blocks.1", "blocks.99999999999"), name.replace("blocks.1", "blocks.390"), name + ".x", "a." + name,
            name.replace("blocks", "stages"), "head.3.weight", "\n" + name, name.replace("1", "-1"), name.replace("1", "١"),
            name.upper(), "rope_embed.periods", "head.fc.weight", "storage_tokens", "visual.proj", "blocks.0.attn.q_bias",
            "blocks.0.gamma_1", "fc.0.weight", "lora_A.weight",
        ))  # fmt: skip
        state[renamed] = w
        return None
    if kind == 2:
        return state[rng.choice(sorted(state))]
    if kind in (3, 4, 5):
        return torch.zeros([rng.choice((0, 1, 2, 3, 5, 31, 32, 33, 96)) for _ in range(rng.randrange(5))])
    if kind == 6:
        return torch.zeros(rng.choice(((1, 10**8, 0), (0, 2**31, 2**20), (0,), (10**6,), (1, 1, 10**6), (10**6, 1), ())))
    if kind == 7:
        return rng.choice((w[None], w.flatten(), w.squeeze(), w.unsqueeze(-1), w.mT if w.ndim > 1 else w))
    if kind == 8:
        return w[: rng.randrange(w.shape[0] + 1)] if w.ndim else w
    if kind == 9:
        odd = rng.choice((float("nan"), float("inf"), -float("inf"), 1e38))
        return torch.full_like(w, odd) if rng.random() < 0.5 else w.clone().index_fill_(0, torch.tensor([0]), odd) if w.ndim else w
    if kind in (10, 11):
        dtypes = (torch.int8, torch.uint8, torch.bool, torch.float16, torch.bfloat16, torch.float64, torch.int64)
        return w.to(rng.choice((*dtypes, torch.complex64, torch.float8_e4m3fn)))
    if kind == 12:
        return torch.cat([w, w]) if w.ndim else w
    if kind == 13:  # one side longer or shorter by one
        sides = list(w.shape) or [1]
        at = rng.randrange(len(sides))
        sides[at] = max(0, sides[at] + rng.choice((-1, 1)))
        return torch.zeros(sides)
    if kind == 14:
        return torch.quantize_per_tensor(w, 0.1, 0, torch.qint8)
    if kind == 15:
        return rng.choice((torch.empty(w.shape, device="meta"), w.to_sparse()))
    return torch.zeros(1).expand(rng.choice(((10**9,), (1, 10**9, 32), (2**30, 2**30))))


def damage_settings(file: Path, rng: random.Random) -> None:
    """Fields of a configuration left out, of odd values, or there though they should not be."""
    said = json.loads(file.read_text())
    for _ in range(rng.choice((1, 1, 2, 4))):
        inside = said
        while isinstance(inside, dict) and inside:
            key = rng.choice(sorted(inside))
            if isinstance(inside[key], dict) and inside[key] and rng.random() < 0.7:
                inside = inside[key]
                continue
            if rng.random() < 0.15:
                del inside[key]
            elif rng.random() < 0.15:
                inside[rng.choice(EXTRA_FIELDS)] = _odd_value(rng)
            else:
                inside[key] = rng.choice((inside[key], [inside[key]], [inside[key]] * 3)) if rng.random() < 0.1 else _odd_value(rng)
            break
    text = json.dumps(said)
    file.write_text(text if rng.random() < 0.98 else rng.choice(("[" * 10**5, "NaN", "3", "null", text + text, "\ufeff" + text)))


EXTRA_FIELDS = (
    "vision_config", "pretrained_cfg", "model_args", "label_names", "id2label", "problem_type", "architectures",
    "architecture", "model_type", "size", "crop_size", "do_pad", "patch_size", "image_size", "rescale_factor", "labels",
    "output", "assumed", "auto_map", "num_labels", "rank_pattern", "timm", "depth", "weight_map", "in_chans",
)  # fmt: skip


def _odd_value(rng: random.Random) -> object:
    if rng.random() < 0.02:
        return json.loads("[" * 900 + "]" * 900)
    if rng.random() < 0.01:
        return "x" * 10**7
    return copy.deepcopy(rng.choice(ODD_VALUES))
