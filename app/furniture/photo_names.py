"""What photos are called: in the menus that choose one, in the address, and by ImageNet."""

from functools import lru_cache
from typing import Any

import streamlit as st

from app import texts
from app.components.lecture.lecture import wide
from app.state import session
from vitcore.translation import say, speaking


def menu(label: str, ids: list[str], key: str, width_px: int | None = None, **more: Any) -> str:
    """A menu of photos by their titles.

    The address holds a photo's id, the same in every language (by hand: a bound control would put the title there); a link
    with a title, as they once were, works too.
    """
    given, names = st.query_params.get(key), called(texts.language(), ids)
    if key not in st.session_state and given is not None:
        every = [{one: one for one in ids}, *(called(lang, ids) for lang in texts.LANGUAGES)]
        meant = [one for there in every for one in ids if there[one] == given]
        if meant:
            st.session_state[key] = meant[0]
    if width_px is not None:
        more["width"] = wide(width_px)
    more["format_func"] = lambda one: names.get(one, one)
    chosen = str(st.selectbox(label, ids, key=key, persist_state="session", **more))
    if chosen == ids[0]:
        if given is not None:
            del st.query_params[key]
    elif chosen != given:
        st.query_params[key] = chosen
    return chosen


def called(lang: str, ids: list[str]) -> dict[str, str]:
    """What a person reads of these photos in a language."""
    own = {session.UPLOAD: texts.prose("common", lang)["your photo"]}
    titles = own | {row["id"]: row["title"] for row in tiles(lang)}
    return {one: titles.get(one, one) for one in ids}


@lru_cache(maxsize=len(texts.LANGUAGES))
def tiles(lang: str) -> list[dict[str, str]]:
    with speaking(texts.table(lang)):
        return [{"id": row["id"], "title": say(row["title"]), "alt": say(row["alt"])} for row in session.samples()]


def by_imagenet(labels: list[str]) -> None:
    """Below answers: that one of them is what the gallery calls otherwise."""
    from vitcore.report.called import by_imagenet as told_of

    row = next((row for row in session.samples() if row["id"] == st.session_state.get("photo")), {})
    if told := told_of(row, labels):
        st.caption(told)
