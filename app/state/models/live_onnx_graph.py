"""A model as a browser runs it: an ONNX graph, and the file on disk that holds its weights; compared with PyTorch once.

The weights are those of the file that the model was loaded from. Where that is no safetensors file, or names its tensors otherwise,
a copy of a visitor's own model lies beside their upload, and goes with it.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

import vitcore
from app import texts
from app.state.memory import memory_cache
from app.state.model_ref import ModelRef
from app.state.models import save_and_unzip_upload, uploaded_model
from app.state.training import run_status
from vitcore.errors import RefusalError, first_error_line, system_error_reason
from vitcore.models.model_cards import ModelError
from vitcore.models.vit import Vit

MOST_MB = 120  # of weights in 32-bit floats: ViT-S has 88; with them a browser takes 400 MB
AGREES = 1e-4  # of logits, relative to the largest where that is above 1, and of attention
FILTERS = ("bicubic", "bilinear")  # of Pillow's, that the browser has


class LiveModelError(RefusalError):
    """A model that no browser is given; the message says why, in one sentence."""


@dataclass(frozen=True, eq=False)
class LiveGraph:
    """What a browser is given. `size_and_mtime` tells the file that was compared from another that takes its place."""

    graph: bytes
    weights: Path
    size_and_mtime: tuple[int, int]
    difference: float  # of its logits from PyTorch's, the largest
    folder: save_and_unzip_upload.TemporaryFolder | None = None  # of a copy that lies nowhere else

    def is_unchanged_since_comparison(self) -> bool:
        return run_status.file_size_and_time(self.weights) == self.size_and_mtime != run_status.VANISHED


def make_live_graph(vit: Vit) -> LiveGraph:
    """The graph of a model that is here, made and compared if it is not yet.

    Raises: LiveModelError, OnnxGraphError, one sentence each; MemoryBudgetError.
    """
    text, size = texts.prose("live"), 4 * sum(p.numel() for p in vit.module.parameters())
    file = _unchanged_weights_file(vit)
    size = max(size, run_status.file_size_and_time(file)[0] if file else 0)
    if size > MOST_MB * 1e6:
        raise LiveModelError(text.fill("too large", name=vit.display_name, size=round(size / 1e6), most=MOST_MB))
    if vit.bands != 3 or resize_and_crop_settings(vit) is None:
        raise LiveModelError(text.fill("other cut", name=vit.display_name))
    return _live_graph(vit.name, vit, file)


@memory_cache.cached
def _live_graph(version: str, _vit: Vit, _file: Path | None) -> LiveGraph:
    """The first of the files that hold the weights whose graph says what PyTorch does."""
    from vitcore.onnx_graph.check_exportable import OnnxGraphError, check_onnx_exportable
    from vitcore.onnx_graph.export_onnx import make_onnx_graph

    check_onnx_exportable(_vit)
    refused: RefusalError = LiveModelError(texts.prose("live").fill("no copy", name=_vit.display_name))
    with memory_cache.CACHE.reserve(int(4 * MOST_MB * 1e6)):
        for find in (lambda: (_file, None), lambda: _copy(_vit)):
            try:
                file, folder = find()
                if file is None:
                    continue
                graph = make_onnx_graph(_vit, file)
                difference = _compare(_vit, graph, file)
                return LiveGraph(graph, file, run_status.file_size_and_time(file), difference, folder)
            except (OnnxGraphError, LiveModelError) as error:
                refused = error
            except OSError as error:
                sentence = texts.prose("live").fill("not copied", name=_vit.display_name, reason=system_error_reason(error))
                refused = LiveModelError(sentence)
    raise refused


def _unchanged_weights_file(vit: Vit) -> Path | None:
    """The file on disk that a model was loaded from; None of one that was changed since."""
    from vitcore.models.formats.containers import weight_files
    from vitcore.models.hub_ids_and_weights import fetch_weights
    from vitcore.models.local_files import SHIPPED_MODELS

    ref = ModelRef.parse(vit.name)
    if ref.variant:
        return None
    if ref.name == uploaded_model.MODEL_ID:
        model = uploaded_model.current_uploaded_model()
        return weight_files.require_weights_file(model.path) if model else None
    if folder := run_status.run_model_folder(ref.name):
        return folder / "model.safetensors"
    shipped = SHIPPED_MODELS / f"{ref.name}.safetensors"
    try:
        return shipped if shipped.is_file() else fetch_weights(ref.name)
    except ModelError:
        return None


def _copy(vit: Vit) -> tuple[Path | None, save_and_unzip_upload.TemporaryFolder | None]:
    """The tensors of a visitor's own model by its own names, and their folder where it is not the upload's; None of other models.

    Raises: OSError, LiveModelError where the disk has no room.
    """
    if ModelRef.parse(vit.name).name != uploaded_model.MODEL_ID or not (model := uploaded_model.current_uploaded_model()):
        return None, None
    folder = None if model.folder else save_and_unzip_upload.TemporaryFolder()
    file = (model.folder or folder).path / f"live {model.version.rpartition('.')[2]}.safetensors"  # type: ignore[union-attr]
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    size = 4 * sum(p.numel() for p in vit.module.parameters())
    if shutil.disk_usage(file.parent).free < 2 * size + save_and_unzip_upload.SPARE_DISK_BYTES:
        raise LiveModelError(texts.prose("bring")["disk full"].format(name=vit.display_name))
    try:
        save_file({name: tensor.cpu().float().contiguous() for name, tensor in vit.module.state_dict().items()}, file)
    except SafetensorError as error:  # its I/O errors, too
        raise OSError(first_error_line(error)) from None
    return file, folder


def _compare(vit: Vit, graph: bytes, file: Path) -> float:
    """The largest difference of the graph's logits from PyTorch's, on noise. Raises: LiveModelError, where they are not equal."""
    from vitcore.onnx_graph.run_graph import run_onnx_graph

    high, wide = vit.grid.image_px
    noise = np.random.default_rng(0).integers(0, 256, (high, wide, 3), np.uint8)
    rec = vitcore.record(vit, Image.fromarray(noise))
    mean, std = np.array(vit.mean, np.float32), np.array(vit.std, np.float32)
    pixels = (rec.model_input.pixels / np.float32(255) - mean) / std
    found = run_onnx_graph(graph, file, np.ascontiguousarray(pixels.transpose(2, 0, 1)[None], np.float32))
    difference = _largest(found["logits"].ravel() - rec.logits)
    if not difference <= AGREES * max(1.0, _largest(rec.logits)) or not _largest(found["attention"] - rec.fused["mean"]) <= AGREES:
        sentence = texts.prose("live").fill("graph differs", name=vit.display_name, difference=f"{difference:.2g}")
        raise LiveModelError(sentence)
    return difference


def _largest(values: NDArray[np.float32]) -> float:
    return float(abs(values).max())


def resize_and_crop_settings(vit: Vit) -> dict[str, Any] | None:
    """The shorter side after resizing, by which filter, and the crop's height and width; None of other transforms.

    It has what most models have: the shorter side resized by a filter of Pillow's, then the centre cut out.
    """
    steps = {type(step).__name__: step for step in vit.transform.transforms[:2]}  # type: ignore[attr-defined]
    resize, crop = steps.get("Resize"), steps.get("CenterCrop")
    if not (resize and crop and isinstance(resize.size, int) and resize.interpolation.value in FILTERS):
        return None
    high, wide = crop.size
    return {"short": resize.size, "high": high, "wide": wide, "filter": resize.interpolation.value}
