"""A recording as a file, and back: NPZ with every array as it is, and JSON for the rest; nothing in it is run, nothing pickled.

Its entry `about` is JSON with the format's name and version. The whole photo is in it, as the bytes of a PNG.
"""

import dataclasses
import io
import json
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from vitcore.errors import RefusalError
from vitcore.forward.query_key import QueryKey
from vitcore.grid import Grid
from vitcore.images import MAX_JPEG_PIXELS, Crop, Photo
from vitcore.images.photo_formats_and_limits import without_pillow_warnings
from vitcore.probabilities import OUTPUTS

if TYPE_CHECKING:
    from vitcore.forward.recording import Recording

FORMAT, VERSION = "vitcore recording", 1
# What numpy, zipfile, JSON and Pillow raise for files that are none of theirs.
DAMAGE = (ValueError, LookupError, TypeError, AttributeError, EOFError, OSError, zipfile.BadZipFile, zlib.error)
ARRAYS = (
    "logits", "distance_px", "distance_renormalised_px", "prefix_attention_share", "pooling_weights", "norms",
)  # fmt: skip


class RecordingFileError(RefusalError):
    """A file that holds no recording; the message is one sentence."""


def save_recording(rec: "Recording", file: str | Path) -> Path:
    """Write all of it, the whole photo too, into an NPZ file, and give the file's path; `Recording.load` reads it again.

    A file that is there is replaced once the new one is whole. Raises: OSError, where it can't be written.
    """
    file, photo = Path(file), io.BytesIO()
    rec.photo.image.save(photo, "PNG", compress_level=1)
    arrays = {name: getattr(rec, name) for name in ARRAYS}
    arrays |= {f"fused/{name}": values for name, values in rec.fused.items()}
    arrays |= {f"maps/{block}": values for block, values in rec.maps.items()}
    for block, one in enumerate(rec.query_key):
        arrays |= {f"queries/{block}": one.queries.numpy(), f"keys/{block}": one.keys.numpy()}
    arrays |= {"model_input": rec.model_input.pixels, "photo": np.frombuffer(photo.getvalue(), np.uint8)}
    if rec.photo.bands is not None and rec.model_input.bands is not None:
        arrays |= {"photo_bands": rec.photo.bands, "model_input_bands": rec.model_input.bands}
    about = {
        "format": FORMAT, "version": VERSION, "model": rec.model, "grid": dataclasses.asdict(rec.grid), "output": rec.output,
        "labels": rec.labels, "masked": rec.masked, "box": rec.model_input.box, "factors": [one.factor for one in rec.query_key],
        "photo": {"name": rec.photo.name, "digest": rec.photo.digest, "notes": rec.photo.notes, "whose": rec.photo.whose},
    }  # fmt: skip
    growing = file.with_name(f"{file.name}.part")
    try:
        with growing.open("wb") as out:
            np.savez_compressed(out, about=np.array(json.dumps(about)), **arrays)
        growing.replace(file)
    except OSError as error:
        error.filename = str(file)  # not of its unfinished copy
        raise
    finally:
        growing.unlink(missing_ok=True)
    return file


def load_recording(file: str | Path) -> "Recording":
    """The recording that `Recording.save` wrote; no model is needed, and nothing in the file is run.

    Every array, name and setting in it is equal to what was saved, and so is its `key`; `==` is of one and the same object alone.

    Raises: RecordingFileError, for a file that holds none, is damaged or of a newer version; OSError, where there is no file.
    """
    file = Path(file)
    with file.open("rb") as data:
        try:
            with np.load(data, allow_pickle=False) as stored:
                about = _about(stored, file)
                return _recording(about, {name: stored[name] for name in stored.files if name != "about"})
        except RecordingFileError:
            raise
        except DAMAGE as error:
            raise RecordingFileError("{name} is no recording, or it is damaged.", name=file.name) from error


def _about(stored: Any, file: Path) -> dict[str, Any]:
    about: dict[str, Any] = json.loads(str(stored["about"]))
    if about["format"] != FORMAT:
        raise KeyError("format")
    if about["version"] > VERSION:
        raise RecordingFileError("{name} was saved by a newer Inside ViT (version {version} of the file; {known} is known here).",
                                 name=file.name, version=about["version"], known=VERSION)  # fmt: skip
    return about


def _recording(about: dict[str, Any], arrays: dict[str, NDArray]) -> "Recording":
    """Raises: ValueError and its like, for what is no recording."""
    from vitcore.forward.recording import Recording

    for array in arrays.values():
        array.flags.writeable = False
    grid, told = Grid(**about["grid"]), about["photo"]
    with without_pillow_warnings():
        image = Image.open(io.BytesIO(arrays["photo"].tobytes()), formats=("PNG",))
        if image.width * image.height > MAX_JPEG_PIXELS:
            raise ValueError("photo")
        image.load()
    queries, keys = (_numbered(arrays, kind) for kind in ("queries", "keys"))
    whole, cut = arrays.get("photo_bands"), arrays.get("model_input_bands")
    rec = Recording(
        model=about["model"], grid=grid, output=about["output"], labels=tuple(about["labels"]), masked=about["masked"],
        photo=Photo(image.convert("RGB"), told["name"], told["digest"], tuple(told["notes"]), whole, told["whose"]),
        model_input=Crop(arrays["model_input"], tuple(about["box"]), cut), maps=_numbered(arrays, "maps"),
        fused={name.partition("/")[2]: values for name, values in arrays.items() if name.startswith("fused/")},
        query_key=tuple(
            QueryKey(torch.tensor(queries[block]), torch.tensor(keys[block]), factor)
            for block, factor in enumerate(about["factors"])
        ),
        **{name: arrays[name] for name in ARRAYS},
    )  # fmt: skip
    square = (grid.tokens, grid.tokens)
    shapes = {one.shape[-2:] for one in rec.fused.values()} | {one.shape[-2:] for one in rec.maps.values()}
    if (
        rec.model_input.pixels.shape != (*grid.image_px, 3)
        or rec.model_input.numbers.shape[:-1] != grid.image_px
        or shapes - {square}
        or rec.output not in OUTPUTS
    ):
        raise ValueError("shapes")
    return rec


def _numbered(arrays: dict[str, NDArray], kind: str) -> dict[int, NDArray]:
    """Arrays by block: those whose names are `kind`/0, `kind`/1, …"""
    return {int(name.partition("/")[2]): values for name, values in arrays.items() if name.startswith(f"{kind}/")}
