"""One weights file, opened without running anything in it: names and shapes first, values only when they are asked for.

What a file is, its first bytes say, not its name; what is in it, `containers` reads.
"""

import re
import struct
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from vitcore.images.file_formats import OTHER_FORMATS, PICTURES, UNREAD_PICTURES, first_words, format_by_first_bytes
from vitcore.models.formats import SUFFIXES
from vitcore.models.formats.containers.file_errors import check_is_downloaded, damaged_file_error
from vitcore.models.formats.containers.lazy_tensor import LazyTensor
from vitcore.models.formats.containers.npz import read_npz
from vitcore.models.formats.containers.torch_file import read_legacy_torch_file, read_torch_archive
from vitcore.models.model_cards import ModelError
from vitcore.translation import say

MAX_HEADER_BYTES = 100 * 10**6  # as safetensors itself has it
HEADER = "__metadata__"  # under which the texts of a safetensors header lie beside its tensors, as in the header itself
MAX_GROWTH = 12  # a zip may unpack to so many times its size: weights hardly compress at all
SPARE_BYTES = 64 * 10**6  # and to so much more, whatever its size
UNREAD_WEIGHTS = {(0, b"\x89HDF"): "Keras (HDF5)", (0, b"GGUF"): "GGUF", (4, b"TFL3"): "TensorFlow Lite"}
ARCHIVES = {
    (0, b"\x1f\x8b"): "gzip", (0, b"7z\xbc\xaf"): "7-Zip", (0, b"Rar!"): "RAR", (0, b"\xfd7zXZ"): "xz", (0, b"BZh"): "bzip2",
    (0, b"\x28\xb5\x2f\xfd"): "Zstandard", (257, b"ustar"): "tar",
}  # fmt: skip
OTHER_SUFFIXES = {  # of formats whose first bytes are those of others, too: the ending comes first
    ".msgpack": "Flax (msgpack)", ".mlmodel": "Core ML", ".pb": "TensorFlow", ".distcp": "torch.distributed.checkpoint",
    ".xml": "OpenVINO", ".pte": "ExecuTorch", ".engine": "TensorRT",
}  # fmt: skip
PACKED_FILES = {"model.weights.h5": "Keras (.keras)", "archive_format": "torch.export"}  # entries of ZIP archives that tell
FIRST_OF_BLOCK = re.compile(r"\.\d+\.(\w+\.)*(qkv|q_proj|query|fc1)\.weight$")  # which no training begins with as zeros
ON_EVERY_PATH = re.compile(  # outside the blocks: without these weights every photo is the same
    r"(?!.*(\.\d+\.|pool))(.*\.)?(patch_embed\w*\.proj\w*|norm|norm_pre|fc_norm|layernorm|pre_layrnorm|post_layernorm)\.weight$"
)
SAFETENSORS_TYPES = {
    "F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "I64": torch.int64,
    "I32": torch.int32, "I16": torch.int16, "I8": torch.int8, "U8": torch.uint8, "BOOL": torch.bool, "F8_E4M3": torch.float8_e4m3fn,
    "F8_E5M2": torch.float8_e5m2, "C64": torch.complex64,
}  # fmt: skip


def read_weights(file: Path) -> Mapping[str, Any]:
    """What a file holds: `LazyTensor`s by name, of torch's pickles nested as they were saved.

    Raises: ModelError, one sentence: what the file is instead, or what is wrong with it.
    """
    try:
        size = file.stat().st_size
        with file.open("rb") as stream:
            start = stream.read(512)
    except OSError as error:
        raise ModelError("{name} can't be read: {reason}.", name=file.name, reason=error.strerror) from None
    if not size:
        raise ModelError("{name} is empty.", name=file.name)
    if start.startswith(b"PK\x03\x04") and file.suffix != ".distcp":  # that is many archives in a row
        return _zip(file, size)
    check_is_downloaded(file, start)
    photo = format_by_first_bytes(start, PICTURES, UNREAD_PICTURES)
    other = OTHER_SUFFIXES.get(file.suffix) or format_by_first_bytes(start, UNREAD_WEIGHTS, OTHER_FORMATS)
    if (text := first_words(start)) and not photo and not other:
        raise ModelError("{name} is text that begins with {start}, and not the file itself: download that.",
                         name=file.name, start=repr(text))  # fmt: skip
    if start[8:9] == b"{":  # whatever the length of its header reads like
        return _safetensors(file, start, size)
    if b"joblib.numpy_pickle" in start:  # its arrays lie between the parts of a pickle
        raise _other_format_error(file, "joblib")
    if file.name == "data.pkl" and (file.parent / "data").is_dir():  # the values of its tensors lie there
        raise _other_format_error(file, "unpacked .pth")
    if start[:1] == b"\x80":  # the pickle of torch.save before torch 1.6
        return read_legacy_torch_file(file)
    if archive := format_by_first_bytes(start, ARCHIVES):
        raise ModelError("{name} is an archive ({kind}): unpack it, and open the model's file.", name=file.name, kind=archive)
    if photo:
        raise ModelError(
            "{name} is a photo ({kind}), and not a model: choose it where photos are chosen.", name=file.name, kind=photo
        )
    if not other and start[:1] == b"\x08" and start[2:3] in (b"\x12", b"\x3a"):
        other = "ONNX"
    if not other and file.suffix == ".bin" and file.with_suffix(".xml").is_file():
        other = "OpenVINO"
    if not other and not start.strip(b"\0"):
        raise ModelError("{name} begins with zeros alone, as a download that was broken off leaves it: download it again.",
                         name=file.name)  # fmt: skip
    if file.suffix == ".safetensors" and not other:
        return _safetensors(file, start, size)
    if other:
        raise _other_format_error(file, other)
    raise ModelError("{name} is in no format that can be opened here, whatever its name. Those are safetensors, torch.save's "
                     "(.pth, .pt, .bin, .ckpt) and NumPy's .npz.", name=file.name)  # fmt: skip


def check_weights_are_finite_and_not_all_zero(module: Any, name: str) -> None:
    """Raises: ModelError, naming the first tensor of a module that holds NaN or infinite values, or zeros alone on every path."""
    for tensor, w in module.state_dict().items():  # a sum is no number where any value is none, and needs no memory
        total = w.sum(dtype=torch.float32 if w.is_floating_point() else None)
        if not bool(total.isfinite()) and not bool(w.isfinite().all()):  # a large one is looked at again
            raise ModelError("{name} holds weights that are no numbers (NaN or infinite) in {tensor}.", name=name, tensor=tensor)
        if not bool(total) and ON_EVERY_PATH.match(tensor) and not bool(w.any()):
            raise ModelError("{name} holds zeros alone in {tensor}, as a download that was broken off leaves it: download it "
                             "again.", name=name, tensor=tensor)  # fmt: skip


def first_weights_of_zeros(module: Any) -> list[str]:
    """The first weights of blocks' parts that are zeros alone: a block was switched off, or a download was broken off."""
    parts = [(name, w) for name, w in module.named_parameters() if FIRST_OF_BLOCK.search(name)]
    return [name for name, w in parts if not bool(w[:1].any()) and not bool(w.any())]  # one row tells of nearly all


def _other_format_error(file: Path, kind: str) -> ModelError:
    return ModelError("{name} is in {kind} format, which can't be opened here: save the weights as .safetensors.",
                      name=file.name, kind=kind)  # fmt: skip


def _safetensors(file: Path, start: bytes, size: int) -> dict[str, Any]:
    from safetensors import SafetensorError, safe_open

    header = struct.unpack("<Q", start[:8])[0] if len(start) >= 8 else 0
    if header > min(MAX_HEADER_BYTES, size - 8) or header < 2:
        raise damaged_file_error(file, say("its header says that it is {header} bytes long, the file has {size}",
                                header=f"{header:,}", size=f"{size:,}"))  # fmt: skip

    def values(name: str) -> Callable[[], Tensor]:
        def load() -> Tensor:
            with safe_open(file, framework="pt", backend="pread") as again:  # into memory once, nothing mapped
                return again.get_tensor(name)

        return load

    try:
        with safe_open(file, framework="pt") as opened:
            slices = {n: opened.get_slice(n) for n in opened.keys()}
            told = {name: text for name, text in (opened.metadata() or {}).items() if name != "format"}
            tensors = {n: LazyTensor(tuple(s.get_shape()), values(n), file, SAFETENSORS_TYPES.get(str(s.get_dtype())))
                       for n, s in slices.items()}  # fmt: skip
            shared = {name: tensors[kept] for name, kept in told.items() if kept in tensors and name not in tensors}  # save_model's
            return tensors | shared | ({HEADER: told} if told else {})
    except (SafetensorError, OSError, ValueError, KeyError) as error:
        raise damaged_file_error(file, error) from None


def _zip(file: Path, size: int) -> Mapping[str, Any]:
    try:
        with zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
    except Exception as error:  # a damaged one makes zipfile raise a dozen kinds
        said = isinstance(error, (zipfile.BadZipFile, OSError, NotImplementedError))
        raise damaged_file_error(file, error if said else "zip") from None
    names = [entry.filename for entry in entries]
    unpacked = sum(entry.file_size for entry in entries)
    if unpacked > MAX_GROWTH * size + SPARE_BYTES:
        raise ModelError("{name} would grow from {size:.1f} MB to {unpacked:.1f} GB when it is unpacked, which no weights do.",
                         name=file.name, size=size / 1e6, unpacked=unpacked / 1e9)  # fmt: skip
    if twice := next((name for name, count in Counter(names).items() if count > 1), None):
        raise ModelError("{name} holds two entries named {entry}.", name=file.name, entry=repr(twice[:60]))
    if any(e.flag_bits & 1 or e.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for e in entries):
        raise ModelError("{name} is encrypted, or packed in a way that no weights are.", name=file.name)
    if any(name.endswith("/data.pkl") for name in names):
        return read_torch_archive(file, entries)
    if any(name.endswith(".npy") for name in names):
        return read_npz(file, entries)
    if kind := next((kind for name, kind in PACKED_FILES.items() if any(n.rpartition("/")[2] == name for n in names)), None):
        raise _other_format_error(file, kind)
    if any(name.endswith(SUFFIXES) for name in names):
        raise ModelError("{name} is an archive ({kind}): unpack it, and open the model's file.", name=file.name, kind="ZIP")
    raise ModelError("{name} is a ZIP archive without weights in it: unpack it, and open the model's file.", name=file.name)
