"""Thousands of damaged and hostile checkpoints by a seed: each opens right or ends in one sentence, quickly and in little memory.

    python -m tests.benchmarks.hostile_files --count 10000 --seed 0

Small files of the layouts that people have are mutated: shapes, dtypes, names, headers, ZIP entries, opcodes of pickles,
configurations. `tests/vitcore/models/test_hostile_files.py` tries a few hundred of them.
"""

import argparse
import collections
import contextlib
import copy
import io
import json
import pickle
import random
import re
import resource
import shutil
import signal
import struct
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save, save_file

from tests.checkpoints import to_google, transformers_model
from tests.conftest import timm_vit
from vitcore.errors import RefusalError
from vitcore.models import load_model

MOST_SECONDS, MOST_BYTES = 5, 500 * 10**6
SHAPE = {"embed_dim": 32, "num_heads": 2, "depth": 2, "patch_size": 8, "img_size": 32, "num_classes": 3}
LEAKS = re.compile(
    r"index out of range|NoneType|object has no|not subscriptable|mistake in Inside ViT|invalid literal|Traceback|"
    r"by zero|has no attribute|not iterable|KeyError|TypeError|ValueError|IndexError|to unpack|math domain|must be .*, not"
)
ODD_NUMBERS = (0, 1, -1, 2, 3, 7, 63, 64, 65, 1000, 10**5, 2**31, 2**63, 10**30, 0.5, float("nan"), float("inf"))
ODD_VALUES = (None, True, "", "x", "gelu", [], {}, [0], [1, 2, 3], {"a": 1}, [[]], "0", "224", *ODD_NUMBERS)


# What is mutated


def base_files(home: Path) -> list[Path]:
    """Small checkpoints, one a layout: files, and folders with their configuration."""
    home.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    state = timm_vit(**SHAPE).state_dict()
    save_file(state, home / "timm.safetensors")
    torch.save({"model": state, "epoch": 3, "args": argparse.Namespace(lr=0.1)}, home / "nested.pth")
    torch.save({"state_dict": {f"module.{n}": w for n, w in state.items()}}, home / "old.pth", _use_new_zipfile_serialization=False)
    to_google(timm_vit(**SHAPE), home / "google.npz")
    registers = timm_vit(**SHAPE, reg_tokens=2, init_values=1.0, qk_norm=True, no_embed_class=True, global_pool="avg", fc_norm=True)
    save_file(registers.state_dict(), home / "registers.safetensors")
    save_file(timm_vit(**SHAPE, class_token=False, global_pool="map").state_dict(), home / "map.safetensors")
    size = {"hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 2}
    for kind in ("ViTForImageClassification", "Dinov2WithRegistersForImageClassification", "SiglipVisionModel", "CLIPVisionModel"):
        folder = home / kind
        changes = size if kind[:4] != "Dino" else {k: v for k, v in size.items() if k != "intermediate_size"}
        transformers_model(kind, 3, **changes).save_pretrained(folder)
        said = {"image_processor_type": "ViTImageProcessor", "size": {"height": 32, "width": 32}, "image_mean": [0.5] * 3,
                "image_std": [0.5] * 3, "do_resize": True, "resample": 2}  # fmt: skip
        (folder / "preprocessor_config.json").write_text(json.dumps(said))
    import timm
    from timm.models import save_for_hf

    args = {"depth": 1, "img_size": 32, "embed_dim": 48}
    save_for_hf(
        timm.create_model("vit_tiny_patch16_224", num_classes=3, **args),
        str(home / "timm_folder"),
        model_args=args,
        safe_serialization=True,
    )
    run = home / "run"
    run.mkdir(exist_ok=True)
    save_file(state, run / "model.safetensors")
    card = {"card": {"title": "a", "params_m": 1, "download_mb": 0, "licence": "", "note": ""}, "architecture": dict(SHAPE),
            "input": {"mean": [0.5] * 3, "std": [0.5] * 3, "interpolation": "bicubic", "crop_pct": 1.0}}  # fmt: skip
    (run / "model.json").write_text(json.dumps(card))
    return sorted(home.iterdir())


# Mutations


def mutate(base: Path, home: Path, rng: random.Random) -> Path:
    """A mutated copy of a file or a folder, in `home`."""
    path = home / base.name
    if base.is_dir():
        shutil.copytree(base, path)
        texts = sorted(path.glob("*.json"))
        if texts and rng.random() < 0.7:
            file = rng.choice(texts)
            mutate_json(file, rng) if rng.random() < 0.9 else file.write_bytes(mutate_bytes(file.read_bytes(), rng))
            return path
        mutate_weights(next(path.glob("*.safetensors")), rng)
        return path
    shutil.copy(base, path)
    mutate_weights(path, rng)
    return path


def mutate_weights(file: Path, rng: random.Random) -> None:
    """One of: tensors of other shapes, dtypes and names; bytes of the file; what is inside its ZIP or its pickle."""
    data = file.read_bytes()
    if rng.random() < 0.35:
        data = mutate_bytes(data, rng)
    elif data[:2] == b"PK" and rng.random() < 0.6:
        data = mutate_zip(data, rng)
    elif file.suffix in (".safetensors", ".pth"):
        data = with_other_tensors(file, rng)
    file.write_bytes(data)


def mutate_bytes(data: bytes, rng: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8, 64))):
        near = rng.choice((16, 200, 2000, len(out), len(out)))
        at = rng.randrange(min(near, len(out)) or 1)
        at = len(out) - 1 - at if rng.random() < 0.3 else at
        kind = rng.randrange(6)
        if kind == 0:
            out[at : at + 1] = bytes([rng.randrange(256)])
        elif kind == 1:
            out[at : at + 4] = rng.choice((b"\0\0\0\0", b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"0000"))
        elif kind == 2:
            del out[at : at + rng.choice((1, 3, 100))]
        elif kind == 3:
            out[at:at] = rng.randbytes(rng.choice((1, 3, 50)))
        elif kind == 4:
            out[at : at + 8] = struct.pack("<Q", rng.choice((0, 1, 2**31, 2**40, 2**63, len(out))))
        elif rng.random() < 0.2:
            del out[at:]
        if not out:
            return b"\0"
    return bytes(out)


def mutate_zip(data: bytes, rng: random.Random) -> bytes:
    """An entry dropped, twice there, emptied, of other bytes or packed in another way; a wrong CRC."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        entries = old.infolist()
        chosen = rng.choice([e for e in entries if e.filename.endswith(("data.pkl", ".npy"))] if rng.random() < 0.7 else entries)
        method = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
        kind = rng.randrange(6)
        for entry in entries:
            inside = old.read(entry)
            if entry is chosen and kind == 0:
                continue
            if entry is chosen and kind in (1, 2, 3):
                inside = mutate_pickle(inside, rng) if entry.filename.endswith(".pkl") else mutate_bytes(inside, rng)
            new.writestr(entry.filename, inside, method)
            if entry is chosen and kind == 4:
                new.writestr(entry.filename, inside[::-1])
    packed = out.getvalue()
    if kind == 5:  # one byte of the values: the CRC tells
        with zipfile.ZipFile(io.BytesIO(packed)) as again:
            entry = max(again.infolist(), key=lambda e: e.compress_size)
        at = entry.header_offset + 30 + len(entry.filename) + rng.randrange(max(1, entry.compress_size))
        packed = packed[:at] + bytes([packed[at] ^ 0x5A]) + packed[at + 1 :]
    return packed


OPCODES = b"().012NIJKLMUT{}[]aesuhjqrcQRbptdlGFBCXViogPS" + bytes([0x80, 0x81, *range(0x85, 0x99)])


def mutate_pickle(data: bytes, rng: random.Random) -> bytes:
    return rng.choice((_other_opcodes, _bomb, lambda data, rng: mutate_bytes(data, rng)))(data, rng)


def _other_opcodes(data: bytes, rng: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(rng.choice((1, 2, 10))):
        out[rng.randrange(len(out))] = rng.choice(OPCODES)
    return bytes(out)


class Bomb:
    """What a pickle would call."""

    def __init__(self, *call) -> None:
        self.call = call

    def __reduce__(self):
        return self.call


def _bomb(data: bytes, rng: random.Random) -> bytes:
    """Pickles that cost much where they are believed, and some that would run something."""
    nested: tuple = ()
    for _ in range(rng.choice((5, 40))):
        nested = (nested, nested)
    shared: dict = {}
    for _ in range(12):
        shared = {str(i): shared for i in range(30)}
    zeros = torch.zeros(1)
    made = rng.choice((
        lambda: b"\x80\x02}" + pickle.dumps(nested, 2)[2:-1] + b"K\x01s.",
        lambda: pickle.dumps(shared, 2), lambda: pickle.dumps({"model": Bomb(bytearray, (3 * 10**9,))}, 2),
        lambda: pickle.dumps({"a": Bomb(exec, ("open('/tmp/ran','w')",))}, 2), lambda: pickle.dumps(np.void(9), 2),
        lambda: pickle.dumps({"a": Bomb(Path.touch, (Path("/tmp/ran"),))}, 4),
        lambda: pickle.dumps({"a": Bomb(torch._utils._rebuild_tensor_v2, (1, 2, 3, 4))}, 2),
        lambda: b"\x80\x02" + b"(" * rng.choice((10, 10**5)) + b"}" * 9 + b".", lambda: b"\x80\x02" + b"]" * 10**6 + b".",
        lambda: b"\x80\x02" + b"}q\x00" + b"(h\x00h\x00u" * 50 + b".",
        lambda: b"\x80\x04\x8e" + struct.pack("<Q", 3 * 10**9) + b".",
        lambda: b"\x80\x05\x96" + struct.pack("<Q", 3 * 10**9) + b".", lambda: b"\x80\x02r\xff\xff\xff\x7f.",
        lambda: b"\x80\x02}r\xff\xff\xff\x7f.", lambda: pickle.dumps({"a" * 10**6: zeros.shape, 10**300: 3, -1: None}, 2),
    ))  # fmt: skip
    return made()


def with_other_tensors(file: Path, rng: random.Random) -> bytes:
    """The file with some tensors of other shapes, dtypes and names."""
    pickled = file.suffix == ".pth"
    old = b"PK" != file.read_bytes()[:2]
    state = dict(_flat(torch.load(file, weights_only=False)) if pickled else load_file(file))
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        name = rng.choice(sorted(state))
        made = _other(name, state, rng, pickled)
        if made is not None:
            state[name] = made
    if not pickled:
        whole = {n: w.contiguous().clone() for n, w in state.items()}
        return save(whole)
    out = io.BytesIO()
    with contextlib.suppress(Exception), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.save(rng.choice(({"model": state}, state, {"a": {"b": {"c": state}}})), out, _use_new_zipfile_serialization=not old)
        return out.getvalue()
    return b"\x80\x02."


def _flat(held: dict) -> dict[str, torch.Tensor]:
    inside = held.get("model", held.get("state_dict", held))
    return {n.removeprefix("module."): w for n, w in inside.items()}


def _other(name: str, state: dict[str, torch.Tensor], rng: random.Random, pickled: bool) -> torch.Tensor | None:
    w = state[name].float() if not state[name].is_quantized and state[name].layout == torch.strided else torch.zeros(2, 2)
    w = torch.zeros(w.shape) if w.is_meta else w
    kind = rng.randrange(16 if pickled else 13)
    if kind == 0:
        state.pop(name) if len(state) > 1 else None
        return None
    if kind == 1:
        state[rng.choice((name.replace("blocks.1", "blocks.99999999999"), name.replace("blocks.1", "blocks.390"), name + ".x",
                          "a." + name, name.replace("blocks", "stages"), "head.3.weight", "\n" + name))] = w  # fmt: skip
        return None
    if kind == 2:
        return state[rng.choice(sorted(state))]
    if kind in (3, 4, 5):
        sides = [rng.choice((0, 1, 2, 3, 5, 31, 32, 33, 96)) for _ in range(rng.randrange(5))]
        return torch.zeros(sides)
    if kind == 6:
        return torch.zeros(rng.choice(((1, 10**8, 0), (0, 2**31, 2**20), (0,), (10**6,), (1, 1, 10**6), (10**6, 1), ())))
    if kind == 7:
        return rng.choice((w[None], w.flatten(), w.squeeze(), w.unsqueeze(-1), w.mT if w.ndim > 1 else w))
    if kind == 8:
        return w[: rng.randrange(w.shape[0] + 1)] if w.ndim else w
    if kind == 9:
        return torch.full_like(w, rng.choice((float("nan"), float("inf"), 1e38)))
    if kind in (10, 11):
        dtypes = (torch.int8, torch.uint8, torch.bool, torch.float16, torch.bfloat16, torch.float64, torch.int64)
        return w.to(rng.choice((*dtypes, torch.complex64, torch.float8_e4m3fn)))
    if kind == 12:
        return torch.cat([w, w]) if w.ndim else w
    if kind == 13:
        return torch.quantize_per_tensor(w, 0.1, 0, torch.qint8)
    if kind == 14:
        return rng.choice((torch.empty(w.shape, device="meta"), w.to_sparse()))
    return torch.zeros(1).expand(rng.choice(((10**9,), (1, 10**9, 32), (2**30, 2**30))))


def mutate_json(file: Path, rng: random.Random) -> None:
    """Fields of a configuration left out, or of odd values."""
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
            else:
                inside[key] = copy.deepcopy(rng.choice(ODD_VALUES))
                if rng.random() < 0.02:
                    inside[key] = json.loads("[" * 900 + "]" * 900)
            break
    text = json.dumps(said)
    file.write_text(text if rng.random() < 0.98 else "[" * 10**5)


# Trying


class TooLong(Exception):
    """The time is over."""


@contextlib.contextmanager
def within(seconds: float) -> Iterator[None]:
    def end(*_):
        raise TooLong

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def fault(path: Path) -> str:
    """What is wrong with how a file opens; empty where it opens, or ends in a sentence."""
    size = sum(f.stat().st_size for f in path.rglob("*")) if path.is_dir() else path.stat().st_size
    before, began = _memory(reset=True), time.process_time()
    said = ""
    try:
        with within(60), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            vit = load_model.load(path)
            with torch.inference_mode():
                vit.module(torch.zeros(1, 3, *vit.grid.image_px))
    except RefusalError as error:
        text = str(error)
        if LEAKS.search(text) or not text.isprintable() or not 10 < len(text) < 500:
            said = f"no sentence: {text[:300]}"
    except TooLong:
        said = "60 s: " + traceback.format_exc()[-1500:]
    except BaseException:
        said = traceback.format_exc()
    seconds, grown = time.process_time() - began, _memory() - before
    if not said and seconds > MOST_SECONDS:
        said = f"{seconds:.1f} s"
    if not said and grown > MOST_BYTES + size:
        said = f"{grown / 1e6:.0f} MB"
    if not said and Path("/tmp/ran").exists():
        Path("/tmp/ran").unlink()
        said = "something was run"
    return said


def _memory(reset: bool = False) -> int:
    """The peak of this process's memory in bytes, since it was reset where that can be."""
    if reset:
        with contextlib.suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")
    with contextlib.suppress(OSError, StopIteration):
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def faults(seeds: range, bases: list[Path]) -> Iterator[tuple[int, Path, str]]:
    """The seeds whose files open in no good way: with what was mutated and what happened."""
    for seed in seeds:
        rng = random.Random(seed)
        with tempfile.TemporaryDirectory() as home:
            base = rng.choice(bases)
            path = mutate(base, Path(home), rng)
            kept = sorted(p.name for p in Path(home).rglob("*"))
            if said := fault(path):
                yield seed, base, said
            elif sorted(p.name for p in Path(home).rglob("*")) != kept:
                yield seed, base, "something was left behind"


def main() -> int:
    """Try so many, and list the kinds of faults."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    kinds: dict[str, list[str]] = collections.defaultdict(list)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as home:
        bases = base_files(Path(home) / "bases")
        for seed, base, said in faults(range(asked.seed, asked.seed + asked.count), bases):
            places = re.findall(r'File ".*?(vitcore/\S+|\w+\.py)", line (\d+)', said)
            last = said.strip().splitlines()[-1][:200]
            kinds[f"{last.split(':')[0] if not said.startswith('no') else last} at {places[-1:]}"].append(f"{seed} {base.name}")
    for kind, seeds in sorted(kinds.items(), key=lambda item: -len(item[1])):
        print(f"{len(seeds):4}  {kind}  ({', '.join(seeds[:3])})")
    print(f"{asked.count} files, {sum(map(len, kinds.values()))} faults, {time.monotonic() - began:.0f} s")
    return 1 if kinds else 0


if __name__ == "__main__":
    sys.exit(main())
