"""A model's file on its way in: from Streamlit's memory to a folder on disk, piece by piece; a ZIP of a directory unpacked.

Streamlit keeps what was dropped in memory until the page is left. Here it is copied out and let go of at once, so that the
file is in memory once, and not at all when the model is read from disk.
"""

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
from vitcore.errors import first_error_line, system_error_reason
from vitcore.models.formats import SUFFIXES
from vitcore.models.model_cards import ModelError

CHUNK_BYTES = 2**20
SPARE_DISK_BYTES = 2**30  # of the disk stay free
SYMLINK = 0o120000
ZIP_BASED_FORMATS = (".npy", "/data.pkl")  # NumPy's and torch's own files are ZIP archives, too


class TemporaryFolder:
    """A folder for one visitor's file; it is gone when it is removed, when nobody has this object, or the server ends."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="inside-vit-model-"))
        self.remove = weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


def save_upload_to_folder(upload: Any, limit_mb: int) -> tuple[TemporaryFolder, Path]:
    """Put an uploaded file (Streamlit's) into a folder of its own; the upload is let go of, whatever happens.

    Returns the folder, and the file in it or the directory it was unpacked to. Raises: ModelError, one sentence.
    """
    words, name, folder = texts.prose("bring"), safe_file_name(upload.name), None
    try:
        if upload.size > limit_mb * 2**20:
            raise ModelError(words["too large"].format(name=name, size=upload.size / 2**20, most=limit_mb))
        if shutil.disk_usage(tempfile.gettempdir()).free < 2 * upload.size + SPARE_DISK_BYTES:
            raise ModelError(words["disk full"].format(name=name))
        folder = TemporaryFolder()
        path = folder.path / name
        with path.open("xb") as out:
            shutil.copyfileobj(upload, out, CHUNK_BYTES)
        _release_upload(upload)
        return folder, _unzip_if_archive(path, limit_mb * 2**20)
    except OSError as error:
        _remove_folder(folder)
        raise ModelError(words["disk error"].format(name=name, reason=system_error_reason(error))) from None
    except ModelError:
        _remove_folder(folder)
        raise
    finally:
        _release_upload(upload)


def _remove_folder(folder: TemporaryFolder | None) -> None:
    if folder is not None:
        folder.remove()


def _release_upload(upload: Any) -> None:
    """Take an upload out of Streamlit's memory: its manager's record, and the copy that the page was given."""
    context = get_script_run_ctx()
    if context is not None and hasattr(context.uploaded_file_mgr, "remove_file"):
        context.uploaded_file_mgr.remove_file(context.session_id, upload.file_id)
    upload.close()


def safe_file_name(name: str) -> str:
    """A name for the disk, and to show: letters, digits and few signs, the end of what the visitor's file is called."""
    last = re.split(r"[/\\]", name)[-1]
    stem, dot, suffix = last.rpartition(".")
    kept = re.sub(r"[^\w.+ -]", "_", stem or last).strip(". ")[:60] or "model"
    return kept + (f".{re.sub(r'[^A-Za-z0-9]', '', suffix)[:12]}" if stem and dot else "")


def _unzip_if_archive(path: Path, limit_bytes: int) -> Path:
    """The directory that a ZIP file holds, unpacked beside it; any other file as it is. Raises: ModelError.

    Only weights and JSON files of one directory are taken, by their last names: nothing is written elsewhere.
    """
    with path.open("rb") as file:
        if file.read(4) != b"PK\x03\x04":
            return path
    words = texts.prose("bring")
    try:
        with zipfile.ZipFile(path) as archive:
            entries = _weight_entries(archive)
            if not entries:
                return path
            size = sum(entry.file_size for entry in entries)
            if size > limit_bytes:
                raise ModelError(words["zip too large"].format(name=path.name, size=size / 2**20, most=limit_bytes // 2**20))
            folder = path.parent / f"{path.stem} directory"
            folder.mkdir()
            for entry in entries:
                with archive.open(entry) as source, (folder / PurePosixPath(entry.filename).name).open("xb") as out:
                    shutil.copyfileobj(source, out, CHUNK_BYTES)
    except FileExistsError:
        raise ModelError(words["zip twice"].format(name=path.name)) from None
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError, zlib.error) as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(words["zip damaged"].format(name=path.name, reason=first_error_line(error))) from None
    path.unlink()
    return folder


def _weight_entries(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """What to take out: weights and JSON files of the directory that holds weights; nothing where it is another kind of ZIP."""
    entries = [e for e in archive.infolist() if not e.is_dir() and (e.external_attr >> 16) & 0o170000 != SYMLINK]
    if any(e.filename.endswith(ZIP_BASED_FORMATS) for e in entries):
        return []
    places = [(PurePosixPath(e.filename), e) for e in entries]
    kept = [(place, e) for place, e in places if "__MACOSX" not in place.parts and not place.name.startswith(".")]
    weights = sorted((len(place.parts), place.as_posix()) for place, _ in kept if place.suffix in SUFFIXES)
    if not weights:
        return []
    home = PurePosixPath(weights[0][1]).parent
    return [e for place, e in kept if place.parent == home and place.suffix in (*SUFFIXES, ".json")]
