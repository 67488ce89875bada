"""Where a bundle's files are put: a folder, or one ZIP file that is whole after every photo."""

import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Protocol

from vitcore.errors import RefusalError

PACKED = {".png", ".webp", ".gif", ".npz"}  # compressed already


class FullError(RefusalError):
    """The file would grow larger than it may; the message says so."""


class Shelf(Protocol):
    """Where files are put, by their path within it."""

    def check(self, size: int) -> None:
        """Raise FullError where so many bytes more would not fit."""

    def put(self, files: Mapping[str, bytes]) -> None:
        """Put files there, by their path."""


class Folder:
    """Files in a folder, which is made when needed; files of the same name are replaced."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def check(self, size: int) -> None:
        """There is no limit."""

    def put(self, files: Mapping[str, bytes]) -> None:
        """Write files."""
        for name, data in files.items():
            file = self.home / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)


class Zip:
    """Files in one ZIP file, open for reading and writing and whole after every `put`; `check` minds `most_bytes`."""

    def __init__(self, file: IO[bytes], most_bytes: int | None = None) -> None:
        self.file, self.most_bytes = file, most_bytes

    def check(self, size: int) -> None:
        """Raise FullError where so many bytes more, not compressed, would make the file larger than it may be."""
        if self.most_bytes is not None and self.file.seek(0, os.SEEK_END) + size > self.most_bytes:
            raise FullError("The ZIP would be larger than {most} MB.", most=self.most_bytes // 2**20)

    def put(self, files: Mapping[str, bytes]) -> None:
        """Add files, and the table of contents anew."""
        with zipfile.ZipFile(self.file, "a", zipfile.ZIP_DEFLATED) as archive:
            for name, data in files.items():
                how = zipfile.ZIP_STORED if Path(name).suffix in PACKED else zipfile.ZIP_DEFLATED
                archive.writestr(name, data, how)
