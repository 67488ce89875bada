"""One budget in bytes: what is shared counts once, the oldest goes first, what is in use or held stays, nothing is made twice."""

import threading
import time
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from PIL import Image

from app.state.memory import memory_cache
from app.state.memory.cached_value_size import bytes_by_buffer
from vitcore.forward.mask_outliers import mask_outlier_tokens

KB = 1000


def block(kilobytes: int = 100) -> np.ndarray:
    return np.zeros(kilobytes * KB, np.uint8)


def weight(held: object) -> int:
    return sum(bytes_by_buffer(held).values())


@pytest.fixture
def store() -> memory_cache.MemoryCache:
    return memory_cache.MemoryCache(lambda: 1000 * KB)


def fill(store: memory_cache.MemoryCache, *names: str) -> None:
    for name in names:
        store.get((name,), block)


def names(store: memory_cache.MemoryCache) -> str:
    return "".join(key[0] for key in store.keys())


# What things weigh


@dataclass
class Pair:
    one: object
    other: object


def test_what_things_weigh(rec):
    array, module = np.zeros((100, 100), np.float32), torch.nn.Linear(100, 50)
    assert weight(array) == weight(array[:10]) == 40_000, "a part keeps the whole alive"
    assert weight(Pair(array, array.T)) == 40_000, "once"
    assert weight(module) == 4 * (100 * 50 + 50)
    assert weight([module, module.weight]) == pytest.approx(20_200, abs=100)
    assert weight(Image.new("RGB", (100, 50))) == 4 * 100 * 50
    assert weight({"a": b"x" * 5000, "b": [b"y" * 5000]}) == pytest.approx(10_000, rel=0.05)
    assert weight(None) == weight(3.5) == 0
    arrays = sum(a.nbytes for a in [*rec.fused.values(), *rec.maps.values()])
    assert arrays < weight(rec) < 1.5 * arrays


# The store


def test_the_oldest_goes_first(store):
    fill(store, *"abcdefghi")
    assert (names(store), store.bytes > 900 * KB) == ("abcdefghi", True)
    store.get(("a",), block)  # asked for again
    fill(store, "j", "k")
    assert names(store) == "defghiajk" and store.bytes < 1000 * KB


def test_what_is_in_use_stays_and_is_counted(store):
    used = store.get(("a",), block)
    fill(store, *"bcdefghijk")
    assert names(store)[0] == "a"
    used = store.get(("a",), lambda: pytest.fail("it was here")) is used
    fill(store, *"lmnopqrstu")
    assert "a" not in names(store), "nobody uses it any more"


def test_what_two_values_share_is_counted_once(store):
    shared = block(400)
    store.put(("a",), [shared])
    store.put(("b",), [shared])
    assert 400 * KB < store.bytes < 410 * KB
    store.drop(lambda key: key == ("a",))
    assert 400 * KB < store.bytes < 410 * KB
    store.clear()
    assert (store.bytes, len(store)) == (0, 0)


def test_nothings_are_bounded_too():
    small = memory_cache.MemoryCache(lambda: 100 * KB)
    for number in range(10_000):
        small.get((number,), lambda: None)
    assert len(small) <= 100 * KB / memory_cache.ENTRY_BYTES and small.get((9_999,), lambda: 1) is None


def test_two_who_ask_at_once_wait_for_one_computation(store):
    made, found, asked, go = [], [], threading.Event(), threading.Event()

    def make() -> np.ndarray:
        made.append(1)
        asked.set()
        assert go.wait(60), "who asks for something else does not wait"
        return block()

    asking = [threading.Thread(target=lambda: found.append(store.get(("slow",), make))) for _ in range(8)]
    for thread in asking:
        thread.start()
    assert asked.wait(60)
    store.get(("other",), block)  # would wait for what is made, which waits for this
    go.set()
    for thread in asking:
        thread.join()
    assert made == [1] and len(found) == 8 and all(one is found[0] for one in found)


def test_what_fails_is_made_again(store):
    with pytest.raises(ZeroDivisionError):
        store.get(("a",), lambda: 1 / 0)
    assert store.get(("a",), lambda: 5) == 5


def test_what_is_held_stays_and_has_a_limit(store):
    store.put(("own",), block(400), pinned=True)
    fill(store, *"abcdefghijkl")
    assert store.peek(("own",)) is not None and store.bytes < 1000 * KB
    with pytest.raises(memory_cache.MemoryBudgetError):
        store.put(("more",), block(200), pinned=True)
    store.put(("own",), block(450), pinned=True)  # in its place
    assert store.peek(("more",)) is None


def test_room_is_made_before_it_is_needed_and_who_needs_it_waits_for_others(store):
    fill(store, *"abcdefgh")
    with store.reserve(500 * KB):
        assert store.bytes <= 500 * KB
        with pytest.raises(memory_cache.MemoryBudgetError), store.reserve(600 * KB, wait_s=0.2):
            pass
    with store.reserve(900 * KB):
        assert store.bytes <= 100 * KB
    with pytest.raises(memory_cache.MemoryBudgetError), store.reserve(2000 * KB):
        pass
    assert store.reserved == 0
    used = [store.get(("used",), lambda: block(700))]
    threading.Timer(0.3, used.clear).start()
    with store.reserve(600 * KB, wait_s=5):
        assert store.peek(("used",)) is None


def test_what_the_process_takes_beyond_the_usual_is_taken_off(store, monkeypatch):
    fill(store, *"abcdefghi")
    for more, left in ((-1, "abcdefghi"), (0, "abcdefghi"), (300 * KB, "defghi"), (memory_cache.GB, "fghi")):
        taken = store.bytes + memory_cache.USUAL_PROCESS_BYTES + more
        monkeypatch.setattr(memory_cache, "process_memory_bytes", lambda taken=taken: taken)
        store.measure_process()
        assert names(store) == left
    monkeypatch.setattr(memory_cache, "process_memory_bytes", lambda: 0)
    store.measure_process()
    fill(store, *"klmno")
    assert names(store) == "fghiklmno"


def test_what_the_process_takes_is_what_the_system_says():
    held = np.ones(50 * KB * KB, np.uint8)
    with_it = memory_cache.process_memory_bytes()
    del held
    assert with_it > 50 * KB * KB


def test_a_hit_costs_microseconds_and_arguments_with_an_underscore_are_no_part_of_the_key(monkeypatch):
    monkeypatch.setattr(memory_cache, "CACHE", memory_cache.MemoryCache(lambda: 100 * KB * KB))
    asked = []

    @memory_cache.cached
    def made(name: str, side: int = 3, _photo: object = None) -> list:
        asked.append((name, side))
        return [name]

    assert made("a") is made("a", 3) is made("a", side=3, _photo=object()) is not made("a", 4)
    assert asked == [("a", 3), ("a", 4)]

    def cost(count: int = 2000) -> float:
        begun = time.thread_time()  # whatever else the machine does
        for _ in range(count):
            made("a", 3, None)
        return (time.thread_time() - begun) / count

    assert min(cost() for _ in range(10)) < 50e-6


def test_a_model_that_cannot_fit_is_refused_before_it_is_loaded(monkeypatch):
    from app.state.models import loaded_models
    from vitcore.models import load_model

    monkeypatch.setenv("INSIDE_VIT_MEMORY_GB", "0.5")
    monkeypatch.setattr(load_model, "fetch_weights", lambda name, progress=None: None)
    monkeypatch.setattr(load_model, "load", lambda name: pytest.fail(f"{name} was loaded"))
    with pytest.raises(load_model.ModelError, match=r"needs 1\.2 GB of memory, and this server keeps 0\.5 GB"):
        loaded_models.load_or_download("vit_large_patch16_224.augreg_in21k_ft_in1k", False, lambda *_: None)


def test_gradients_that_cannot_fit_are_refused_in_a_sentence(monkeypatch):
    from visitor import App

    from app import texts

    monkeypatch.setenv("INSIDE_VIT_MEMORY_GB", "0.01")
    monkeypatch.setattr(memory_cache, "WAIT_S", 0.1)
    memory_cache.CACHE.drop(lambda key: key[0].endswith(".relevance"))
    app = App("rollout", method="gradient_rollout").fine()
    assert texts.prose("common", "en")["no room now"] in app.sentences("warning")


@pytest.mark.parametrize(("said", "bytes_"), [("2", 2 * 2**30), ("0.5", 2**29), (None, None), ("much", None)])
def test_the_budget_is_a_setting(monkeypatch, said, bytes_):
    monkeypatch.delenv("INSIDE_VIT_MEMORY_GB", raising=False)
    if said:
        monkeypatch.setenv("INSIDE_VIT_MEMORY_GB", said)
    assert memory_cache.memory_budget_bytes() == (bytes_ or memory_cache.machine_memory_bytes() // 4) > 2**28


def test_what_has_a_key_of_its_own_is_known_by_that(rec):
    made = []

    @memory_cache.cached
    def again(one, place: int, _photo=None) -> np.ndarray:
        made.append(one)
        return block(1)

    other = replace(rec, photo=replace(rec.photo, whose="somebody"))
    masked = mask_outlier_tokens(rec)
    for one in (rec, replace(rec, maps={}), other, masked, rec):
        again(one, 1)
    assert made == [rec, other, masked], "the same model and photo once; masked, another"
    assert again.__wrapped__ and len({rec.key, other.key, masked.key}) == 3
    (key,) = [key for key in memory_cache.CACHE.keys() if "again" in key[0] and key[1:4] == (*other.key, 1)]
    assert all(isinstance(part, str | int) for part in key), "flat: what is a visitor's own is found and thrown away by its name"
    again("a name", 2, rec)
    again("a name", 2, other)
    assert len(made) == 4, "what begins with _ counts as little as ever"
