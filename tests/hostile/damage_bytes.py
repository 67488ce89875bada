"""Files damaged as bytes: flipped, cut, lengthened; entries of ZIPs, headers of safetensors and of NumPy's arrays."""

import io
import json
import random
import struct
import warnings
import zipfile
from typing import Any

import numpy as np

from tests.hostile.damage_pickles import damage_pickle

HUGE = (0, 1, -1, 2**31, 2**40, 2**62, 2**63, 10**30)


def damage_bytes(data: bytes, rng: random.Random) -> bytes:
    """Bytes changed, put in, left out; most near the beginning or the end."""
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


def damage_zip(data: bytes, rng: random.Random) -> bytes:
    """An entry dropped, twice there, of other bytes, name or packing; a wrong CRC; sizes in the directory that are not so."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new, warnings.catch_warnings(action="ignore"):
        entries = old.infolist()
        chosen = rng.choice([e for e in entries if e.filename.endswith(("data.pkl", ".npy"))] if rng.random() < 0.7 else entries)
        method = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
        kind = rng.randrange(9)
        for entry in entries:
            inside, name = old.read(entry), entry.filename
            if entry is chosen and kind == 0:
                continue
            if entry is chosen and kind in (1, 2, 3):
                inside = _damage_entry(name, inside, rng)
            if entry is chosen and kind == 6:
                stem = name.rpartition("/")[2]
                name = rng.choice(
                    (f"/{name}", f"../{name}", f"../../{stem}", f"C:\\{stem}", "a" * 60_000, "\u202e" + name, stem, name + "/")
                )
            if name.endswith("byteorder") and kind == 7:
                inside = rng.choice((b"big", b"", b"\xff" * 9, b"little\n"))
            new.writestr(name, inside, method)
            if entry is chosen and kind == 4:
                new.writestr(name, inside[::-1])
    packed = bytearray(out.getvalue())
    if kind == 5:  # one byte of the values: the CRC tells
        with zipfile.ZipFile(io.BytesIO(packed)) as again:
            entry = max(again.infolist(), key=lambda e: e.compress_size)
        packed[entry.header_offset + 30 + len(entry.filename) + rng.randrange(max(1, entry.compress_size))] ^= 0x5A
    if kind == 8:  # CRC, sizes, offset of one entry of the directory
        found = [i for i in range(len(packed) - 46) if packed[i : i + 4] == b"PK\x01\x02"]
        at = rng.choice(found) + rng.choice((8, 10, 16, 20, 24, 28, 42))
        packed[at : at + 4] = struct.pack("<I", rng.choice((0, 1, 9, 2**31, 2**32 - 1, rng.randrange(2**20))))
    return bytes(packed)


def _damage_entry(name: str, inside: bytes, rng: random.Random) -> bytes:
    if name.endswith(".pkl"):
        return damage_pickle(inside, rng)
    return damage_npy(inside, rng) if name.endswith(".npy") and rng.random() < 0.8 else damage_bytes(inside, rng)


def damage_npy(data: bytes, rng: random.Random) -> bytes:
    """An array with another header: type, order, shape; or of objects, records, texts and nothing."""
    array = np.load(io.BytesIO(data))
    out = io.BytesIO()
    if rng.random() < 0.4:
        records = np.zeros(array.shape, [("a", "<f4"), ("b", "V3")])
        other = rng.choice((
            array.astype(object), records, array.astype("U5"), np.asfortranarray(array), array.view("V4"), array[..., :0],
            array.astype(">f4"), array.astype("datetime64[s]"), array.astype("c8"), array.astype("f2"), array.view("V2"),
            np.zeros((), array.dtype), array[None] if array.ndim < 20 else array,
        ))  # fmt: skip
        np.lib.format.write_array(out, other, allow_pickle=True)
        return out.getvalue()
    shape = rng.choice((
        str(tuple(rng.choice(HUGE) for _ in range(rng.randrange(5)))), "(1, None)", "('a',)", "[3]", "(3.0,)", "()", "(True,)",
        "(" * 200 + ")" * 200, str((1,) * 70), "(0, 1000000000000)", str(array.shape),
    ))  # fmt: skip
    kind = rng.choice((
        "'<f4'", "'<f4'", "'|O'", "'<f8'", "'V1000000000'", "'V0'", "'S0'", "[('a', '<f4')]", "'<f4", "None", "'<c16'",
        "'<M8[s]'", "[('a', '<f4', (1000000000,))]", "'<U1000000'",
    ))  # fmt: skip
    header = f"{{'descr': {kind}, 'fortran_order': {rng.choice(('False', 'True', '3', 'None'))}, 'shape': {shape}, }}"
    header = rng.choice((header, header, header, header[:-2], "__import__('os').getcwd()", "{" * 9999))
    version = rng.choice(((1, 0), (1, 0), (2, 0), (3, 0), (9, 9)))
    length = struct.pack(
        "<H" if version == (1, 0) else "<I", rng.choice((len(header) + 1, len(header) + 1, len(header) + 1, 0, 65535))
    )
    return b"\x93NUMPY" + bytes(version) + length + header.encode() + b"\n" + array.tobytes()


def damage_safetensors(data: bytes, rng: random.Random) -> bytes:
    """A header with other lengths, offsets, types, metadata and names, or names that are there twice."""
    length = struct.unpack("<Q", data[:8])[0]
    said: dict[str, Any] = json.loads(data[8 : 8 + length])
    body = data[8 + length :]
    names = [name for name in said if name != "__metadata__"]
    for _ in range(rng.choice((1, 1, 2, 5))):
        one = said.get(rng.choice(names)) or {}
        term = rng.choice(("dtype", "shape", "data_offsets", "shape", "more", "metadata", "name"))
        if term == "dtype":
            one["dtype"] = rng.choice(
                ("F64", "F16", "BF16", "I8", "BOOL", "F8_E4M3", "F8_E8M0", "F4", "F6_E2M3", "U64", "C64", "", 3, None, "I64")
            )
        elif term == "shape":
            shape = list(one.get("shape") or [])
            change = rng.choice(("flat", "odd", "add", "swap", "none"))
            size = int(np.prod(shape)) if shape else 1
            one["shape"] = {"flat": [size], "add": [*shape, 1], "swap": shape[::-1], "none": rng.choice((None, 3, "3", {}))}.get(
                change, [*shape[1:], rng.choice((*HUGE, 0.5, "1", None, True))]
            )
        elif term == "data_offsets":
            one[term] = rng.choice(
                ([0, 0], [0], [0, len(body)], [len(body), 0], [-1, 4], [0, 2**63], None, "0", [0, 4, 8], [1.5, 3])
            )
        elif term == "more":
            one["x"] = 1
        elif term == "metadata":
            said["__metadata__"] = rng.choice(
                ({"a": 1}, [], 3, None, {"format": "pt", "x": "y" * 10**6}, {"format": "tf"}, {"a": {}}, "")
            )
        elif (name := rng.choice(names)) in said:
            said[rng.choice(("", "a" * 10_000, "\ud800", name + "\0", "é漢字\u202e", "blocks." * 1000 + "x", " "))] = said.pop(name)
    header = json.dumps(said).encode()
    how = rng.randrange(8)
    if how == 0:
        header = header[:-1] + b"," + header[1:]  # every name twice
    elif how == 1:
        header = header.replace(b'"F32"', rng.choice((b"NaN", b"1e999", b'"F32","dtype":"F64"', b"[" * 5000 + b"]" * 5000)), 1)
    elif how == 2:
        header = b'{"a":' * 20_000 + b"1" + b"}" * 20_000
    header += b" " * (-len(header) % 8)
    length = rng.choice((len(header),) * 8 + (0, len(header) - 1, len(header) + 8, 2**40))
    return struct.pack("<Q", length) + header + body
