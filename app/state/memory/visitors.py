"""Visitors: each has a name nobody else knows, and what they bring lives with them, gone when they leave.

A photo that somebody brought is kept in the one store of `app.state.memory.budget`, and whatever is made of it under keys that hold
the visitor's name. A watchman looks round: two minutes after a visitor's page is closed (a laptop may have blinked), or
after half an hour without a sign of life where Streamlit can't say, all of it is thrown away.

A page that is loaded again is another visit to Streamlit, and the same visitor's here: the tab keeps a ticket
(`components/theme`), shows it as a cookie when it comes (`static/head.html`), and is given the name that goes with it.
"""

from __future__ import annotations

import contextlib
import secrets
import threading
import time
from collections.abc import Callable
from typing import Any

import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from app.state.memory import budget

GRACE_S = 120  # Streamlit lets a page that lost its connection come back to the same visit for as long
SILENT_S = 30 * 60
ROUND_S = 20

COOKIE = "inside_vit_visit"

_last_visits: dict[str, tuple[set[str], float]] = {}  # visitor -> Streamlit's sessions, and when one was last there
_tickets: dict[str, str] = {}  # ticket -> visitor; 256 random bits that nobody can guess
let_go: list[Callable[[str], None]] = []  # told who has left, before what they brought is thrown away
_watch = threading.Lock()
_watchman: threading.Thread | None = None


def me() -> str:
    """This visitor's name."""
    name: str = st.session_state.get("_visitor") or _came_back() or secrets.token_hex(8)
    st.session_state["_visitor"] = name
    context = get_script_run_ctx()
    sessions = _last_visits.get(name, (set(), 0))[0] | {context.session_id if context else ""}
    _last_visits[name] = sessions, time.monotonic()
    _look_round()
    return name


def ticket() -> str:
    """What this visitor's tab shows when its page is loaded again."""
    name = me()
    mine: str = st.session_state.setdefault("_ticket", secrets.token_urlsafe(32))
    _tickets[mine] = name
    return mine


def _came_back() -> str | None:
    """Who shows a ticket, if it is still good."""
    shown = st.context.cookies.get(COOKIE, "")
    name = _tickets.get(shown)
    if name not in _last_visits:
        return None
    st.session_state["_ticket"] = shown
    return name


def bring(what: str, thing: Any) -> None:
    """Keep something of this visitor's until they leave; it takes the place of what was there. Raises: NoRoomError."""
    budget.STORE.put((what, me()), thing, held=True)


def brought(what: str) -> Any:
    """What this visitor brought, or None."""
    name = st.session_state.get("_visitor")
    return budget.STORE.peek((what, name)) if name else None


def take_back(what: str) -> None:
    """Throw away what this visitor brought."""
    mine = (what, st.session_state.get("_visitor"))
    budget.STORE.drop(lambda key: key == mine)


def forget(name: str) -> None:
    """Throw away all that is kept of a visitor."""
    _last_visits.pop(name, None)
    for one in [one for one, whose in list(_tickets.items()) if whose == name]:
        _tickets.pop(one, None)
    for tell in let_go:
        tell(name)
    budget.STORE.drop(lambda key: any(isinstance(part, str) and name in part for part in key))


def gone(now: float) -> list[str]:
    """Those who have left."""
    left = []
    for name, (sessions, last) in list(_last_visits.items()):
        there = {one for one in sessions if one and runtime.exists() and runtime.get_instance().is_active_session(one)}
        if there:
            _last_visits[name] = there, now
        elif now - last > (GRACE_S if runtime.exists() else SILENT_S):
            left.append(name)
    return left


def _look_round() -> None:
    """Have a watchman while there are visitors."""
    global _watchman
    with _watch:
        if _watchman is None or not _watchman.is_alive():
            _watchman = threading.Thread(target=_rounds, name="visitors", daemon=True)
            _watchman.start()


def _rounds() -> None:
    while _last_visits:
        time.sleep(ROUND_S)
        for name in gone(time.monotonic()):
            forget(name)
        _streamlit_forgets()


def _streamlit_forgets() -> None:
    """Streamlit drops a closed page's session, its uploads among it, when the next page opens; a quiet server is asked to.

    The names are Streamlit's own and not promised; without them it drops them later.
    """
    with contextlib.suppress(AttributeError, RuntimeError):
        server: Any = runtime.get_instance()
        stored = server._session_mgr._session_storage._cache
        server._async_objs.eventloop.call_soon_threadsafe(stored.expire)
