"""The landing page's figures, cached by recording or model, theme and language."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from app.state.memory import memory_cache

if TYPE_CHECKING:
    from vitcore.forward.recording import Recording


@memory_cache.cached
def cached_figures(part: str, source: Recording | str, mode: str, lang: str, _make: Callable[[], Any]) -> Any:
    """What `_make` made for this part of the landing page, recording or model, theme and language; nobody writes to it."""
    return _make()
