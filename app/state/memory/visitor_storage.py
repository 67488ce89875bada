"""Visitors: each has a name nobody else knows, and what they bring lives with them, gone when they leave.

A photo that somebody brought is kept in `app.state.memory.memory_cache`, and whatever is made of it under keys that hold the
visitor's name. A watchman looks round: two minutes after a visitor's page is closed (a laptop may have blinked), or
after half an hour without a sign of life where Streamlit can't say, all of it is thrown away.

A page that is loaded again is another visit to Streamlit, and the same visitor's here: the tab keeps a ticket
(`components/light_or_dark`), shows it as a cookie when it comes (`static/head.html`), and is given the name that goes with it.
"""

import contextlib
import re
import secrets
import threading
import time
from collections.abc import Callable
from typing import Any

import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from app.state.memory import memory_cache

GRACE_S = 120  # Streamlit lets a page that lost its connection come back to the same visit for as long
SILENCE_S = 30 * 60
CHECK_INTERVAL_S = 20

COOKIE = "inside_vit_visit"
TAB_NAME = re.compile("[0-9a-f]{32}")  # the end of a ticket

_last_visits: dict[str, tuple[set[str], float]] = {}  # visitor -> Streamlit's sessions, and when one was last there
_tickets: dict[str, str] = {}  # ticket -> visitor; 256 random bits that nobody can guess
ON_DEPARTURE: list[Callable[[str], None]] = []  # told who has left, before what they brought is thrown away
_watch = threading.Lock()
_watchman: threading.Thread | None = None


def visitor_id() -> str:
    name: str = st.session_state.get("_visitor") or _returning_visitor() or secrets.token_hex(8)
    st.session_state["_visitor"] = name
    sessions = _last_visits.get(name, (set(), 0))[0] | {session_id()}
    _last_visits[name] = sessions, time.monotonic()
    _start_watchman()
    return name


def session_id() -> str:
    """The name that Streamlit gives this visit: of a page that is loaded again it is another."""
    context = get_script_run_ctx()
    return context.session_id if context else ""


def reload_ticket() -> str:
    """What this visitor's tab shows when its page is loaded again."""
    name = visitor_id()
    mine: str = st.session_state.setdefault("_ticket", f"{secrets.token_urlsafe(32)}.{tab_name()}")
    _tickets[mine] = name
    return mine


def tab_name() -> str:
    """A name of this visitor's tab, 32 random hexadecimal digits, that opens nothing: the same after a reload, on any process."""
    shown = str(st.context.cookies.get(COOKIE, "")).rpartition(".")[2]
    name: str = st.session_state.setdefault("_tab", shown if TAB_NAME.fullmatch(shown) else secrets.token_hex(16))
    return name


def _returning_visitor() -> str | None:
    """Who shows a ticket, if it is still good."""
    shown = st.context.cookies.get(COOKIE, "")
    name = _tickets.get(shown)
    if name not in _last_visits:
        return None
    st.session_state["_ticket"] = shown
    return name


def keep_for_visitor(kind: str, value: Any) -> None:
    """Keep something of this visitor's until they leave; it takes the place of what was there. Raises: MemoryBudgetError."""
    memory_cache.CACHE.put((kind, visitor_id()), value, pinned=True)


def kept_for_visitor(kind: str) -> Any:
    name = st.session_state.get("_visitor")
    return memory_cache.CACHE.peek((kind, name)) if name else None


def discard_for_visitor(kind: str) -> None:
    cache_key = (kind, st.session_state.get("_visitor"))
    memory_cache.CACHE.drop(lambda key: key == cache_key)


def forget_visitor(name: str) -> None:
    _last_visits.pop(name, None)
    for one in [one for one, whose in list(_tickets.items()) if whose == name]:
        _tickets.pop(one, None)
    for callback in ON_DEPARTURE:
        callback(name)
    memory_cache.CACHE.drop(lambda key: any(isinstance(part, str) and name in part for part in key))


def departed_visitors(now: float) -> list[str]:
    left = []
    for name, (sessions, last) in list(_last_visits.items()):
        active = {one for one in sessions if one and runtime.exists() and runtime.get_instance().is_active_session(one)}
        if active:
            _last_visits[name] = active, now
        elif now - last > (GRACE_S if runtime.exists() else SILENCE_S):
            left.append(name)
    return left


def _start_watchman() -> None:
    global _watchman
    with _watch:
        if _watchman is None or not _watchman.is_alive():
            _watchman = threading.Thread(target=_watch_visitors, name="visitors", daemon=True)
            _watchman.start()


def _watch_visitors() -> None:
    while _last_visits:
        time.sleep(CHECK_INTERVAL_S)
        for name in departed_visitors(time.monotonic()):
            forget_visitor(name)
        _expire_sessions()


def _expire_sessions() -> None:
    """Streamlit drops a closed page's session, its uploads among it, when the next page opens; a quiet server is asked to.

    The names are Streamlit's own and not promised; without them it drops them later.
    """
    with contextlib.suppress(AttributeError, RuntimeError):
        server: Any = runtime.get_instance()
        stored = server._session_mgr._session_storage._cache
        server._async_objs.eventloop.call_soon_threadsafe(stored.expire)
