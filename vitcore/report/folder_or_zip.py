"""Where a bundle's files are put: a folder, or one ZIP file that is whole after every photo."""

import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from vitcore.errors import RefusalError

COMPRESSED_SUFFIXES = {".png", ".webp", ".gif", ".npz"}  # compressed already


class OutputTooLargeError(RefusalError):
    """The error of a ZIP file that would grow larger than it may."""


class FolderWriter:
    """Files in a folder, which is made when needed, put there by their path within it; those of the same name are replaced."""

    def __init__(self, folder: Path) -> None:
        self.home = folder

    def require_space(self, size: int) -> None:
        """There is no limit."""

    def write_files(self, files: Mapping[str, bytes]) -> None:
        """Write files."""
        for name, data in files.items():
            file = self.home / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)


class ZipWriter:
    """Files in one ZIP file, open for reading and writing and whole after every `write_files`; at most `max_bytes`."""

    def __init__(self, file: IO[bytes], max_bytes: int | None = None) -> None:
        self.file, self.most_bytes = file, max_bytes

    def require_space(self, size: int) -> None:
        """Raise FullError where so many bytes more, not compressed, would make the file larger than it may be."""
        if self.most_bytes is not None and self.file.seek(0, os.SEEK_END) + size > self.most_bytes:
            raise OutputTooLargeError("The ZIP would be larger than {most} MB.", most=self.most_bytes // 2**20)

    def write_files(self, files: Mapping[str, bytes]) -> None:
        """Add files, and the table of contents anew."""
        with zipfile.ZipFile(self.file, "a", zipfile.ZIP_DEFLATED) as archive:
            for name, data in files.items():
                how = zipfile.ZIP_STORED if Path(name).suffix in COMPRESSED_SUFFIXES else zipfile.ZIP_DEFLATED
                archive.writestr(name, data, how)


OutputFolder = FolderWriter | ZipWriter
