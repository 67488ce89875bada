"""A bar on standard error while a model is downloaded."""

import sys
from collections.abc import Callable
from typing import Any


class DownloadBar:
    """A download bar on standard error that appears only when something is downloaded."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.bar: Any = None

    def __enter__(self) -> Callable[[int, int], None]:
        return self.show

    def show(self, done: int, total: int) -> None:
        from tqdm import tqdm

        self.bar = self.bar or tqdm(total=total, desc=self.title, unit="B", unit_scale=True, file=sys.stderr)
        self.bar.update(done - self.bar.n)

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.close()
