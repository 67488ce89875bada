"""Pickles damaged: other opcodes, what costs much, what would be run, and tensors that describe the impossible."""

import argparse
import collections
import datetime
import io
import pickle
import random
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import torch

OPCODES = b"().012NIJKLMUT{}[]aesuhjqrcQRbptdlGFBCXViogPS" + bytes([0x80, 0x81, *range(0x85, 0x99)])
ODD_SIZES = (0, 1, -1, 3, 2**31, 2**62, -(2**62), 2**63, 10**30, 1.5, None, "3", (), True)


class Call:
    """What a pickle would call."""

    def __init__(self, *call: Any) -> None:
        self.call = call

    def __reduce__(self) -> Any:
        return self.call


def damage_pickle(data: bytes, rng: random.Random) -> bytes:
    """Another pickle in the place of a good one."""
    from tests.hostile.damage_bytes import damage_bytes

    return rng.choice((_other_opcodes, _bomb, damage_bytes))(data, rng)


def _other_opcodes(data: bytes, rng: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(rng.choice((1, 2, 10))):
        out[rng.randrange(len(out))] = rng.choice(OPCODES)
    return bytes(out)


def _bomb(data: bytes, rng: random.Random) -> bytes:
    """Pickles that cost much where they are believed, and some that would run something."""
    nested: tuple = ()
    for _ in range(rng.choice((5, 40))):
        nested = (nested, nested)
    shared: dict = {}
    for _ in range(12):
        shared = {str(i): shared for i in range(30)}
    deep: dict = {}
    for i in range(rng.choice((4, 90))):
        deep = {str(i): deep}
    zeros = torch.zeros(1)
    made = rng.choice(
        (
            lambda: b"\x80\x02}" + pickle.dumps(nested, 2)[2:-1] + b"K\x01s.",
            lambda: pickle.dumps(shared, 2),
            lambda: pickle.dumps(deep, 2),
            lambda: pickle.dumps({"model": Call(bytearray, (3 * 10**9,))}, 2),
            lambda: pickle.dumps({"a": Call(exec, ("open('ran','w')",))}, 2),
            lambda: pickle.dumps(np.void(9), 2),
            lambda: pickle.dumps({"a": Call(Path.touch, (Path("ran"),))}, 4),
            lambda: pickle.dumps({"a": Call(torch._utils._rebuild_tensor_v2, (1, 2, 3, 4))}, 2),
            lambda: pickle.dumps({"a": Call(collections.OrderedDict, ([(1, 2), 3],))}, 2),
            lambda: pickle.dumps({"a": Call(datetime.datetime, (1,)), "b": argparse.Namespace(x=1)}, 2),
            lambda: b"\x80\x02" + b"(" * rng.choice((10, 10**5)) + b"}" * 9 + b".",
            lambda: b"\x80\x02" + b"]" * 10**6 + b".",
            lambda: b"\x80\x02" + b"}q\x00" + b"(h\x00h\x00u" * 50 + b".",
            lambda: b"\x80\x02]q\x00" + b"h\x00a" * 1000 + b".",
            lambda: b"\x80\x02}q\x00X\x01\x00\x00\x00ah\x00s.",
            lambda: b"\x80\x04\x8e" + struct.pack("<Q", 3 * 10**9) + b".",
            lambda: b"\x80\x02L" + b"9" * 10**6 + b"L\n.",
            lambda: b"\x80\x02\x8b" + struct.pack("<i", 10**6) + b"\x7f" * 10**6 + b".",
            lambda: b"\x80\x05\x96" + struct.pack("<Q", 3 * 10**9) + b".",
            lambda: b"\x80\x02r\xff\xff\xff\x7f.",
            lambda: b"\x80\x02}r\xff\xff\xff\x7f.",
            lambda: pickle.dumps({"a" * 10**6: zeros.shape, 10**300: 3, -1: None}, 2),
        )
    )
    return made()


class _Place:
    """Where a pickle says that a tensor's values lie."""

    def __init__(self, reference: Any) -> None:
        self.reference = reference


class _Pickler(pickle.Pickler):
    def persistent_id(self, value: Any) -> Any:
        return value.reference if isinstance(value, _Place) else None


def odd_archive(state: dict[str, torch.Tensor], rng: random.Random) -> bytes:
    """An archive as torch.save's whose pickle describes some tensors oddly: strides, offsets, storages shared or missing."""
    odd = set(rng.sample(sorted(state), k=rng.choice((1, 1, 3))))
    values = {str(i): w.contiguous().numpy().tobytes() for i, w in enumerate(state.values())}
    held = {name: Call(*_rebuilt(w, str(i), rng if name in odd else None)) for i, (name, w) in enumerate(state.items())}
    whole: Any = rng.choice((held, {"model": held}, {"model": collections.OrderedDict(held)}))
    pickled, out = io.BytesIO(), io.BytesIO()
    _Pickler(pickled, 2).dump(whole)
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a/data.pkl", pickled.getvalue())
        for key, stored in values.items():
            archive.writestr(f"a/data/{key}", stored)
        archive.writestr("a/version", "3\n")
    return out.getvalue()


def _rebuilt(w: torch.Tensor, key: str, rng: random.Random | None) -> tuple[Any, tuple[Any, ...]]:
    shape, strides = tuple(w.shape), tuple(w.contiguous().stride())
    reference: Any = ("storage", torch.FloatStorage, key, "cpu", w.numel())
    args: list[Any] = [None, 0, shape, strides, False, collections.OrderedDict()]
    function: Any = torch._utils._rebuild_tensor_v2
    kind = rng.randrange(10) if rng else -1
    if rng and kind == 0:
        args[1] = rng.choice(ODD_SIZES)
    if rng and kind == 1:
        args[2] = rng.choice(
            (tuple(rng.choice(ODD_SIZES) for _ in range(rng.randrange(4))), list(shape), None, (), shape * 20, shape[::-1])
        )
    if rng and kind == 2:
        args[3] = rng.choice(
            (tuple(rng.choice(ODD_SIZES) for _ in shape), (0,) * len(shape), (-1,) * len(shape), strides[1:], None)
        )
    if rng and kind == 3:
        reference = (*reference[:4], rng.choice(ODD_SIZES))
    if rng and kind == 4:
        reference = (*reference[:2], rng.choice(("0", "1", "999", "../version", 0, None, b"0", "")), *reference[3:])
    if rng and kind == 5:
        reference = rng.choice((
            ("storage",), "storage", 3, None, (), ("module", torch.nn.Linear, "x", "y"), (*reference, ("k", 0, 1)), reference[:4],
            ("storage", torch.IntStorage, *reference[2:]), ("storage", dict, *reference[2:]),
        ))  # fmt: skip
    if rng and kind == 6:
        args = rng.choice((args[:3], [], [*args, 1, 2, 3], [args[0]], [None] * 6))
    if rng and kind == 7:
        function = rng.choice((
            torch._utils._rebuild_parameter, torch._utils._rebuild_qtensor, torch._utils._rebuild_sparse_tensor,
            torch._utils._rebuild_meta_tensor_no_storage, torch._utils._rebuild_tensor, torch.zeros, dict,
        ))  # fmt: skip
    if rng and kind == 8:
        reference = (
            "storage",
            rng.choice((torch.HalfStorage, torch.DoubleStorage, torch.BoolStorage, torch.ComplexFloatStorage)),
            *reference[2:],
        )
    if rng and kind == 9:
        args[5] = rng.choice((None, {"a": Call(exec, ("open('ran','w')",))}, 3))
    if args and args[0] is None:
        args[0] = _Place(reference) if reference is not None else None
    return function, tuple(args)
