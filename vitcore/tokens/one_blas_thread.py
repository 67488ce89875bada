"""Small matrices on one thread of BLAS: on several, threads that wait for each other took 50 times as long on a busy machine."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_inside: list[object] = []  # who is inside, one entry each; the limit, while there is one, comes first


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """While anybody is inside, in whatever thread, BLAS and OpenMP have one thread each; who leaves last gives the others back."""
    from threadpoolctl import threadpool_limits

    with _lock:
        if not _inside:
            _inside.append(threadpool_limits(1))
        _inside.append(None)
    try:
        yield
    finally:
        with _lock:
            _inside.pop()
            if len(_inside) == 1:
                _inside.pop().restore_original_limits()  # type: ignore[attr-defined]
