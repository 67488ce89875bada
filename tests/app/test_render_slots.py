"""Turns: no more at one time than there is room for, in the order of asking, and nobody waits for one who takes long."""

import threading
import time

import pytest

from app.server.render_slots import RenderSlots


def visit(turns: RenderSlots, name: str, order: list[str], go: threading.Event, first: bool = False) -> threading.Thread:
    """A visitor who notes when its turn begins and holds it until told to go; it is in the line when this returns."""

    def held() -> None:
        with turns.acquire(priority=first):
            order.append(name)
            go.wait(120)

    before = turns.waiting_count + len(order)
    thread = threading.Thread(target=held, daemon=True)
    thread.start()
    for _ in range(1000):
        if turns.waiting_count + len(order) > before:
            return thread
        time.sleep(0.005)
    raise AssertionError("nobody came")


@pytest.mark.parametrize(("capacity", "at_once", "order"), [(1, ["a"], ["a", "click", "b", "c"]), (2, ["a", "b"], None)])
def test_first_come_first_served_and_clicks_before_pages(capacity, at_once, order):
    turns, came, go = RenderSlots(capacity=capacity, long_s=60), [], threading.Event()
    threads = [visit(turns, name, came, go) for name in ("a", "b", "c")] + [visit(turns, "click", came, go, first=True)]
    assert sorted(came) == at_once and turns.waiting_count == 4 - capacity
    go.set()
    for thread in threads:
        thread.join(10)
    assert came == (order or came) and len(came) == 4 and turns.waiting_count == 0


def test_who_takes_long_holds_nobody_up():
    turns, order, go = RenderSlots(capacity=1, long_s=0.05), [], threading.Event()
    slow = visit(turns, "a download", order, go)
    with turns.acquire():
        assert slow.is_alive() and order == ["a download"]
    go.set()
    slow.join(10)


def test_a_turn_ends_with_its_page_even_if_that_fails():
    turns = RenderSlots(capacity=1, long_s=60)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), turns.acquire():
            raise ZeroDivisionError
