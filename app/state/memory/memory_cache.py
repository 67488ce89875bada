"""One budget of memory for all that is kept to be quick: models, photos, recordings, films, pictures; the oldest go first.

`@kept` remembers what a function made by its arguments (those whose names begin with `_` don't count), for all visitors,
counted in bytes and not in entries. What somebody uses at this moment is not thrown away. Two who ask for the same thing
at once wait for one computation. INSIDE_VIT_MEMORY_GB sets the budget; a quarter of the machine's memory without it. The
process may take 1 GB beside: what it takes beyond the usual, visits that have just ended say, is taken off the budget.
"""

import contextlib
import ctypes
import functools
import gc
import inspect
import os
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, ParamSpec, TypeVar

import psutil

from app.state.memory.cached_value_size import bytes_by_buffer
from vitcore.train.processor_and_memory import machine_memory_bytes

P = ParamSpec("P")
T = TypeVar("T")
Key = tuple[Any, ...]
GB = 2**30
PINNED_SHARE = 0.5  # of the budget, at most, for what must stay: visitors' own photos, work in progress
SWEEP_S = 2  # between two collections, each a third of a second
WAIT_S = 20  # for room that others use now
ENTRY_BYTES = 500  # bytes of a key and its place
USUAL_PROCESS_BYTES = int(0.5 * GB)  # that the process takes beside what is kept; the rest is for work in progress
TRIM_BYTES = 64 * 2**20  # after so many bytes thrown away the allocator is asked to give memory back


class MemoryBudgetError(RuntimeError):
    """A value that does not fit into the memory budget, whatever else is thrown away."""


def _is_out_of_device_memory(error: RuntimeError) -> bool:
    """Whether torch says that its accelerator has no room: CUDA by an error of its own, MPS in words."""
    return type(error).__name__ == "OutOfMemoryError" or "backend out of memory" in str(error)


def memory_budget_bytes() -> int:
    try:
        return int(float(os.environ["INSIDE_VIT_MEMORY_GB"]) * GB)
    except (KeyError, ValueError):
        return machine_memory_bytes() // 4


def process_memory_bytes() -> int:
    return int(psutil.Process().memory_info().rss)


class _Entry:
    __slots__ = ("parts", "pinned", "value")

    def __init__(self, value: Any, parts: dict[int, int], pinned: bool) -> None:
        self.value, self.parts, self.pinned = value, parts, pinned

    def is_idle(self) -> bool:
        """Whether nobody but the store has it (the store's reference, and the one that counting makes)."""
        return not self.pinned and (len(self.parts) == 1 or sys.getrefcount(self.value) <= 2)


class MemoryCache:
    """Values by key, in the order they were last asked for; what two values share is counted once."""

    def __init__(self, limit: Callable[[], int] = memory_budget_bytes) -> None:
        self.limit, self.bytes, self.reserved = limit, 0, 0
        self._process_excess = 0  # what the process takes beyond the usual, as last looked at
        self._lock = threading.RLock()
        self._room_freed = threading.Condition(self._lock)
        self._entries: OrderedDict[Key, _Entry] = OrderedDict()
        self._parts: dict[int, tuple[int, int]] = {}  # id of a buffer -> its bytes, and in how many values it is
        self._making: dict[Key, list[Any]] = {}  # a lock for each key that is being computed, and how many want it
        self._freed_bytes, self._last_collection = 0, 0.0

    def capacity(self) -> int:
        """What may be kept, in bytes: the budget, less what the process takes beyond the usual; half of it at the least."""
        whole = self.limit()
        return max(whole // 2, whole - self._process_excess)

    def measure_process(self) -> None:
        """See what the process takes, once the system has what was freed: now and then, and before large work."""
        with self._lock:
            if trim := _malloc_trim():
                trim(0)
            self._process_excess = max(0, process_memory_bytes() - self.bytes - self.reserved - USUAL_PROCESS_BYTES)
            self._make_room(0)

    def __len__(self) -> int:
        return len(self._entries)

    def keys(self) -> list[Key]:
        """What is kept, the oldest first."""
        with self._lock:
            return list(self._entries)

    def get(self, key: Key, make: Callable[[], Any]) -> Any:
        """What is kept under the key, made if it isn't there."""
        entry = self._find(key)
        if entry is not None:
            return entry.value
        with self._one_at_a_time(key):
            entry = self._find(key)
            if entry is not None:
                return entry.value
            try:
                value = make()
            except RuntimeError as error:
                if _is_out_of_device_memory(error):
                    raise MemoryBudgetError from error
                raise
            self.put(key, value)
            return value

    def peek(self, key: Key) -> Any:
        entry = self._find(key)
        return None if entry is None else entry.value

    def _find(self, key: Key) -> _Entry | None:
        with self._lock:
            entry = self._entries.get(key)
            if entry is not None:
                self._entries.move_to_end(key)
            return entry

    @contextlib.contextmanager
    def _one_at_a_time(self, key: Key) -> Iterator[None]:
        with self._lock:
            waiting = self._making.setdefault(key, [threading.RLock(), 0])
            waiting[1] += 1
        try:
            with waiting[0]:
                yield
        finally:
            with self._lock:
                waiting[1] -= 1
                if not waiting[1]:
                    self._making.pop(key, None)

    def put(self, key: Key, value: Any, pinned: bool = False) -> None:
        """Keep a value; one that is `pinned` stays until it is dropped. Raises: MemoryBudgetError, when too much is held."""
        entry = _Entry(value, bytes_by_buffer(value), pinned)
        entry.parts[id(entry)] = ENTRY_BYTES  # small things in great numbers count, too
        with self._lock:
            if pinned:
                pinned_bytes = sum(sum(e.parts.values()) for k, e in self._entries.items() if e.pinned and k != key)
                if pinned_bytes + sum(entry.parts.values()) > PINNED_SHARE * self.capacity():
                    raise MemoryBudgetError
            self._drop(key)
            self._entries[key] = entry
            for part, size in entry.parts.items():
                _, count = self._parts.get(part, (0, 0))
                self._parts[part] = size, count + 1
                self.bytes += 0 if count else size
            self._make_room(0, spare=key)

    def _make_room(self, need: int, spare: Key | None = None) -> bool:
        """Throw away what nobody uses, the oldest first, until `need` more bytes fit."""
        most = self.capacity()
        while self.bytes + self.reserved + need > most:
            idle = next((k for k, entry in self._entries.items() if k != spare and entry.is_idle()), None)
            if idle is None and self._collected():
                continue
            if idle is None:
                return False
            self._drop(idle)
        return True

    def _collected(self) -> bool:
        """Whether what only waits for Python's collector (a page that has ended) was collected just now."""
        if time.monotonic() - self._last_collection < SWEEP_S:
            return False
        gc.collect()
        self._last_collection = time.monotonic()
        return True

    def _drop(self, key: Key) -> None:
        entry = self._entries.pop(key, None)
        if entry is None:
            return
        for part, size in entry.parts.items():
            _, count = self._parts[part]
            if count > 1:
                self._parts[part] = size, count - 1
            else:
                del self._parts[part]
                self.bytes -= size
                self._freed_bytes += size
        del entry
        self._room_freed.notify_all()
        if self._freed_bytes >= TRIM_BYTES:
            self._freed_bytes = 0
            _return_freed_memory()

    @contextlib.contextmanager
    def reserve(self, need: int, wait_s: float | None = None) -> Iterator[None]:
        """Work that takes `need` bytes while it lasts; it waits for others'. Raises: MemoryBudgetError, when it does not fit."""
        until = time.monotonic() + (WAIT_S if wait_s is None else wait_s)
        if need >= TRIM_BYTES:
            self.measure_process()
        with self._lock:
            while need > self.capacity() or not self._make_room(need):
                if need > self.capacity() or time.monotonic() > until:
                    raise MemoryBudgetError
                self._room_freed.wait(0.1)  # nobody tells when a value is no longer used
            self.reserved += need
        try:
            yield
        finally:
            self.release(need)

    def hold(self, size: int, force: bool = False) -> bool:
        """Count bytes that lie elsewhere, if there is room for them now, or they are there anyway (`force`)."""
        with self._lock:
            if not self._make_room(size) and not force:
                return False
            self.reserved += size
            return True

    def release(self, size: int) -> None:
        """Bytes that were held or reserved are taken no more."""
        with self._lock:
            self.reserved -= size
            self._room_freed.notify_all()
        if size >= TRIM_BYTES:
            _return_freed_memory()

    def drop(self, key_matches: Callable[[Key], bool]) -> None:
        """Throw away what is kept under keys that are meant, used or not."""
        with self._lock:
            for key in [key for key in self._entries if key_matches(key)]:
                self._drop(key)

    def drop_unpinned(self) -> None:
        """Throw away what can be computed again; visitors' own photos and files, and work in progress, stay."""
        with self._lock:
            self.drop(lambda key: not self._entries[key].pinned)

    def clear(self) -> None:
        self.drop(lambda key: True)


CACHE = MemoryCache()


def cached(function: Callable[P, T]) -> Callable[P, T]:
    """Remember what a function makes by its arguments; those whose names begin with `_` are no part of the key.

    What has a `key` of its own (a recording, a photo) is known by that.
    """
    signature = inspect.signature(function)
    names = list(signature.parameters)
    counted = [place for place, name in enumerate(names) if not name.startswith("_")]
    whole = f"{function.__module__}.{function.__qualname__}"

    @functools.wraps(function)
    def remembered(*args: P.args, **kwargs: P.kwargs) -> T:
        given: tuple[Any, ...] = args
        if kwargs or len(given) < len(names):
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            given = tuple(bound.arguments[name] for name in names)
        value: T = CACHE.get((whole, *_argument_keys(given[place] for place in counted)), lambda: function(*given))  # type: ignore[call-arg]
        return value

    return remembered


def cached_value_or_none(function: Callable[..., T], *arguments: Hashable) -> T | None:
    """What a function that is `cached` has made of these arguments, those that count, and still keeps; None where nothing."""
    made = inspect.unwrap(function)
    value: T | None = CACHE.peek((f"{made.__module__}.{made.__qualname__}", *_argument_keys(arguments)))
    return value


def _argument_keys(arguments: Iterable[Any]) -> Iterator[Hashable]:
    for one in arguments:
        key = getattr(one, "key", one)
        yield from key if isinstance(key, tuple) and key is not one else (key,)


@functools.lru_cache(maxsize=1)
def _malloc_trim() -> Callable[[int], int] | None:
    """glibc's way to give freed memory back; other systems do so by themselves."""
    try:
        return ctypes.CDLL("libc.so.6").malloc_trim
    except (OSError, AttributeError):
        return None


def _return_freed_memory() -> None:
    """Let the system have what was freed; else it stays with this process, in pieces."""
    if trim := _malloc_trim():
        threading.Thread(target=trim, args=(0,), daemon=True).start()
