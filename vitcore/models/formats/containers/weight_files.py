"""Which files are meant: a weights file, or a directory of timm's, transformers' or OpenCLIP's, in one piece or in shards."""

import re
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from vitcore.models.formats import SUFFIXES
from vitcore.models.formats.containers.file_errors import MOST_NAMED, deepspeed_error
from vitcore.models.formats.containers.json_file import read_json_object
from vitcore.models.formats.containers.lazy_tensor import LazyTensor
from vitcore.models.formats.containers.read_weights import read_weights
from vitcore.models.model_cards import ModelError, missing_file_error
from vitcore.translation import say

ADAPTER_FILES = ("adapter_model.safetensors", "adapter_model.bin")  # PEFT's, beside which a base may lie
PREFERRED_FILES = (  # as timm
    "model.safetensors", "pytorch_model.bin", "open_clip_model.safetensors", "open_clip_pytorch_model.bin", "model.pth",
    "pytorch_adapter.bin",
)  # fmt: skip
OTHER_FOLDERS = {  # by a file that such a folder holds
    "*.msgpack": "Flax", "tf_model.h5": "Keras (HDF5)", "*.keras": "Keras (.keras)", "saved_model.pb": "TensorFlow",
    "_METADATA": "Orbax", "_CHECKPOINT_METADATA": "Orbax", "*.onnx": "ONNX", "*.gguf": "GGUF",
    "data.pkl": "unpacked .pth", "*/data.pkl": "unpacked .pth",
    "*.data-?????-of-?????": "TensorFlow", "Data/com.apple.CoreML/*.mlmodel": "Core ML",
}  # fmt: skip
MOST_LOOKED_AT, OF_MODELS = 1000, {".safetensors", ".pth", ".pt", ".ckpt"}  # in the folders of a folder
MOST_SHARDS = 1000  # of one model: a name alone may promise any number
SHARD_INDEXES = ("model.safetensors.index.json", "pytorch_model.bin.index.json")


def _find_weights_file(folder: Path, adapters: bool = True) -> Path | None:
    """The one weights file of a folder, or the index of its shards; None where there is none. adapters: PEFT's come first.

    Raises: ModelError, where there are several and none has the name that such folders give it.
    """
    for name in (*(ADAPTER_FILES if adapters else ()), *PREFERRED_FILES, *SHARD_INDEXES):
        if (folder / name).is_file():
            return folder / name
    files = sorted(file for file in folder.iterdir() if file.suffix in SUFFIXES and file.is_file() and file.name[0] != ".")
    if len(files) > 1 and not {file.name for file in files} <= set(_shards_of(files[0].name)):
        raise ModelError("{folder} holds several models: name one of {files}.", folder=folder.name or str(folder),
                         files=", ".join(file.name for file in files[:MOST_NAMED]))  # fmt: skip
    return files[0] if files else None


def require_weights_file(path: Path, adapters: bool = True) -> Path:
    """The weights file that a path means: itself, or that of a folder. Raises: ModelError, where there is none."""
    file = _find_weights_file(path, adapters) if path.is_dir() else path
    if file is None:
        name = path.name or str(path)
        raise ModelError(unread_folder_sentence(path, name) or say("{folder} holds no weights.", folder=name))
    if not file.is_file():
        raise missing_file_error(path)
    return file


def unread_folder_sentence(folder: Path, name: str) -> str:
    """What is in a folder without weights that can be read, and what to do, in the reader's language; "" for any other folder."""
    if any(folder.glob("*.distcp")) or any(folder.glob("*/*.distcp")):
        return say("{name} is a checkpoint in parts, of torch.distributed.checkpoint: make one file of it with "
                   "format_utils.dcp_to_torch_save.", name=name)  # fmt: skip
    if any(folder.glob("*mp_rank_*_model_states.pt")) or any(folder.glob("global_step*/*mp_rank_*_model_states.pt")):
        return deepspeed_error(name).args[0]
    for pattern, kind in OTHER_FOLDERS.items():
        if file := next(folder.glob(pattern), None):
            return say("{name} holds its weights in {kind} format ({file}), which can't be opened here: save them as .safetensors.",
                       name=name, kind=kind, file=file.name)  # fmt: skip
    if lost := next((file.name for file in folder.iterdir() if file.suffix in SUFFIXES and not file.exists()), None):
        return say("{name} holds a link {file} to a file that is not there: download it again.", name=name, file=lost)
    deeper = (file for pattern in ("*/*", "*/*/*") for file in islice(folder.glob(pattern), MOST_LOOKED_AT))
    held = (file.relative_to(folder) for file in deeper if file.name in PREFERRED_FILES or file.suffix in OF_MODELS)
    inner = sorted({file.parent.as_posix() for file in held if file.as_posix()[0] != "."})
    if inner:
        return say("{folder} holds no weights itself: open one of its folders, {folders}.",
                   folder=name, folders=", ".join(inner[:MOST_NAMED]))  # fmt: skip
    return ""


def _shards_of(name: str) -> list[str]:
    """The files of a model that one of this name is a shard of ("model-00001-of-00002.safetensors"); none of another name."""
    shard = re.fullmatch(r"(.+)-\d{5}-of-(\d{5})(\.\w+)", name)
    count = min(int(shard[2]), MOST_SHARDS) if shard else 0
    return [f"{shard[1]}-{n + 1:05}-of-{shard[2]}{shard[3]}" for n in range(count)] if shard and count > 1 else []


def read_weights_tree(file: Path) -> Mapping[str, Any]:
    """What a weights file holds, or all the shards of an index, or of a model that it is one of, together. Raises: ModelError."""
    shards = _shards_of(file.name)
    if file.name.endswith(".index.json"):
        where = read_json_object(file).get("weight_map")
        if not isinstance(where, dict) or not all(isinstance(v, str) and Path(v).name == v for v in where.values()):
            raise ModelError("{name} does not say what such a file says: {reason}.", name=file.name, reason="weight_map")
        shards = sorted(set(where.values()))
    if not shards:
        return read_weights(file)
    weights: dict[str, LazyTensor] = {}
    for shard in shards:
        if not (file.parent / shard).is_file():
            raise ModelError("{name} is missing: it is one of the files of this model.", name=shard)
        weights |= {name: w for name, w in read_weights(file.parent / shard).items() if isinstance(w, LazyTensor)}
    return weights
