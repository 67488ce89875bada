"""A model's file on its way in: from Streamlit's memory to a folder on disk, piece by piece; a ZIP of a directory unpacked.

Streamlit keeps what was dropped in memory until the page is left. Here it is copied out and let go of at once, so that the
file is in memory once, and not at all when the model is read from disk.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import weakref
import zipfile
import zlib
from pathlib import Path, PurePosixPath
from typing import Any

from streamlit.runtime.scriptrunner import get_script_run_ctx

from app import texts
from vitcore.errors import first_line
from vitcore.models.formats import SUFFIXES
from vitcore.models.model_cards import ModelError

PIECE = 2**20
SPARE_BYTES = 2**30  # of the disk stay free
SYMLINK = 0o120000
ZIPPED = (".npy", "/data.pkl")  # NumPy's and torch's own files are ZIP archives, too


class Folder:
    """A folder for one visitor's file; it is gone when it is removed, when nobody has this object, or the server ends."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="inside-vit-model-"))
        self.remove = weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


def take(upload: Any, most_mb: int) -> tuple[Folder, Path]:
    """Put an uploaded file (Streamlit's) into a folder of its own; the upload is let go of, whatever happens.

    Returns the folder, and the file in it or the directory it was unpacked to. Raises: ModelError, one sentence.
    """
    words, name, folder = texts.prose("bring"), safe(upload.name), None
    try:
        if upload.size > most_mb * 2**20:
            raise ModelError(words["too large"].format(name=name, size=upload.size / 2**20, most=most_mb))
        if shutil.disk_usage(tempfile.gettempdir()).free < 2 * upload.size + SPARE_BYTES:
            raise ModelError(words["disk full"].format(name=name))
        folder = Folder()
        path = folder.path / name
        with path.open("xb") as out:
            shutil.copyfileobj(upload, out, PIECE)
        let_go(upload)
        return folder, unpacked(path, most_mb * 2**20)
    except OSError as error:
        _remove(folder)
        raise ModelError(words["disk error"].format(name=name, reason=error.strerror or first_line(error))) from None
    except ModelError:
        _remove(folder)
        raise
    finally:
        let_go(upload)


def _remove(folder: Folder | None) -> None:
    if folder is not None:
        folder.remove()


def let_go(upload: Any) -> None:
    """Take an upload out of Streamlit's memory: its manager's record, and the copy that the page was given."""
    context = get_script_run_ctx()
    if context is not None and hasattr(context.uploaded_file_mgr, "remove_file"):
        context.uploaded_file_mgr.remove_file(context.session_id, upload.file_id)
    upload.close()


def safe(name: str) -> str:
    """A name for the disk, and to show: letters, digits and few signs, the end of what the visitor's file is called."""
    last = re.split(r"[/\\]", name)[-1]
    stem, dot, suffix = last.rpartition(".")
    kept = re.sub(r"[^\w.+ -]", "_", stem or last).strip(". ")[:60] or "model"
    return kept + (f".{re.sub(r'[^A-Za-z0-9]', '', suffix)[:12]}" if stem and dot else "")


def unpacked(path: Path, most_bytes: int) -> Path:
    """The directory that a ZIP file holds, unpacked beside it; any other file as it is. Raises: ModelError.

    Only weights and JSON files of one directory are taken, by their last names: nothing is written elsewhere.
    """
    with path.open("rb") as file:
        if file.read(4) != b"PK\x03\x04":
            return path
    words = texts.prose("bring")
    try:
        with zipfile.ZipFile(path) as archive:
            wanted = _wanted(archive)
            if not wanted:
                return path
            size = sum(entry.file_size for entry in wanted)
            if size > most_bytes:
                raise ModelError(
                    words["zip too large"].format(name=path.name, size=size / 2**20, most=most_bytes // 2**20)
                )
            into = path.parent / f"{path.stem} directory"
            into.mkdir()
            for entry in wanted:
                with archive.open(entry) as source, (into / PurePosixPath(entry.filename).name).open("xb") as out:
                    shutil.copyfileobj(source, out, PIECE)
    except FileExistsError:
        raise ModelError(words["zip twice"].format(name=path.name)) from None
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError, zlib.error) as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(words["zip damaged"].format(name=path.name, reason=first_line(error))) from None
    path.unlink()
    return into


def _wanted(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """What to take out: weights and JSON files of the directory that holds weights; nothing where it is another kind of ZIP."""
    entries = [e for e in archive.infolist() if not e.is_dir() and (e.external_attr >> 16) & 0o170000 != SYMLINK]
    if any(e.filename.endswith(ZIPPED) for e in entries):
        return []
    places = [(PurePosixPath(e.filename), e) for e in entries]
    kept = [(place, e) for place, e in places if "__MACOSX" not in place.parts and not place.name.startswith(".")]
    weights = sorted((len(place.parts), place.as_posix()) for place, _ in kept if place.suffix in SUFFIXES)
    if not weights:
        return []
    home = PurePosixPath(weights[0][1]).parent
    return [e for place, e in kept if place.parent == home and place.suffix in (*SUFFIXES, ".json")]
