"""The row of pickers above a comparison: both models, the second one's input, and the pair that they name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import streamlit as st

from app import mode, texts
from app.components.lecture.lecture import wide
from app.furniture import controls, outliers
from app.state import models, session
from app.state.beside import comparisons, second
from app.state.memory import budget
from app.state.model_ref import CHECKPOINTS, ModelRef
from app.views.compare import ready_pairs
from app.views.compare.pair import Pair
from vitcore.models.model_cards import DEFAULT

if TYPE_CHECKING:
    from vitcore.forward.recording import Recording
    from vitcore.images import Photo
    from vitcore.models.load_model import Vit


def chosen(text: texts.Prose, first: Vit, photo: Photo, rec: Recording) -> Pair:
    """The row of pickers, and the pair that they name; says on the page what could not be had."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        _first(text)
        asked = _second(text, first)
        size = st.empty()
        ready_pairs.popover(text, first)
    waiting = st.empty()

    def progress(done: int, total: int) -> None:
        told = texts.prose("common")["downloading"].format(done=done / 1e6, total=total / 1e6)
        waiting.progress(done / max(total, 1), told)

    with st.spinner(texts.prose("common")["loading"]):
        base = second.have(first, asked, progress)
    waiting.empty()
    if base is None and asked != second.RANDOM:
        second.go_back(asked)
        st.rerun()  # the picker was drawn before it was known
    with size:
        wanted = _size(text, base)
    other = base and second.resized(base, wanted)
    try:
        if base is not None:
            _what_failed(text, asked)
        if other is None:
            st.warning(f"{controls.verbatim(second.problem())} {text['instead']}", icon=":material/cloud_off:")
            _again(second.forget)
            asked, other = second.RANDOM, models.variant(first, second.RANDOM)
        theirs, vits = comparisons.recording(other, photo), (first, other)
        both = first.is_global and other.is_global
        comparison = (
            comparisons.compared(first.name, other.name, photo.key, vits, photo, outliers.on()) if both else None
        )
    except budget.NoRoomError:
        st.warning(texts.prose("common")["no room now"], icon=":material/memory:")
        st.stop()
    names = first.card.title, _called(text, first, other, asked)
    return Pair(text, vits, (rec, theirs), names, photo, comparison, controls.theme())


def _what_failed(text: texts.Prose, asked: str) -> None:
    """Why B is not the model that was asked for last, and the way to ask again."""
    if failed := second.stays_at(asked):
        title = models.menu()[asked].title if asked in models.menu() else _words(text).get(asked, asked)
        said = text.joined((failed.why, text["stays"].format(model=title)))
        st.warning(controls.verbatim(said), icon=":material/cloud_off:")
        _again(second.try_again)


def _again(how: Callable[[], None]) -> None:
    st.button(texts.prose("common")["try again"], on_click=how, icon=":material/refresh:", key="again")


def _words(text: texts.Prose) -> dict[str, str]:
    """What is no other model, by what the menu calls it."""
    return {one: text[f"b.{one}"] for one in (second.RANDOM, second.ITSELF, *CHECKPOINTS)}


def _called(text: texts.Prose, first: Vit, other: Vit, asked: str) -> str:
    """What the second model is called, in the visitor's language."""
    title = first.card.title if asked in (second.RANDOM, second.ITSELF, *CHECKPOINTS) else other.card.title
    if asked == second.RANDOM:
        title = text["called random"].format(model=title)
    elif asked in CHECKPOINTS:
        title = text["called step"].format(model=title, step=other.card.note)
    if size := ModelRef.parse(other.name).size:
        title = text["called size"].format(model=title, px=pixels(size))
    return title


def pixels(size: str) -> str:
    """ "96x128", height and width, as people say it."""
    high, wide = size.split("x")
    return f"{wide} px" if high == wide else f"{wide}×{high} px"


def _first(text: texts.Prose) -> None:
    """The sidebar's model once more: whoever compares looks here."""
    cards, model = models.menu(), st.session_state.get("model") or DEFAULT
    st.session_state["a_model"] = model
    names = list(cards) if model in cards else [*cards, model]
    st.selectbox(text["first"], names, key="a_model", width=wide(280), on_change=take_first,
                 format_func=lambda name: cards[name].title if name in cards else name)  # fmt: skip


def take_first() -> None:
    """What is chosen here is chosen in the sidebar."""
    session.forget_model_errors()
    st.session_state["model"] = st.session_state["a_model"]


def _second(text: texts.Prose, first: Vit) -> str:
    """The picker of the second model."""
    special = [second.RANDOM, second.ITSELF, *second.steps(first.name)]
    cards = models.menu()

    def called(lang: str | None = None) -> dict[str, str]:
        words = texts.prose("compare", lang)
        return {one: words[f"b.{one}"] for one in special} | {name: card.title for name, card in cards.items()}

    names = called()
    second.name_the_one_there_is()
    if st.session_state.get("b") in CHECKPOINTS and st.session_state["b"] not in special:
        st.session_state["b"] = second.RANDOM
    others = [called(lang) for lang in texts.LANGUAGES]
    for given in (st.session_state.get("b"), st.query_params.get("b")):
        if given and given not in names and not any(given in there.values() for there in others):
            names |= {given: given}  # typed in: it is got, or what is wrong with it is said
    allowed = mode.allows("downloads")
    return controls.named(text["b"], names, "b", others, width=320, accept_new_options=allowed, help=_help(text))


def _help(text: texts.Prose) -> str:
    """What can be chosen, and what that downloads. Not in the options' own words: the address holds those."""
    far = sorted((card for card in models.menu().values() if card.download_mb), key=lambda card: card.download_mb)
    if not far:
        return text["b help"]
    facts = {
        "least": f"{far[0].download_mb:.0f}",
        "small": far[0].title,
        "most": f"{far[-1].download_mb:.0f}",
        "large": far[-1].title,
    }
    return text.joined((text["b help"], text["b downloads"].format(**facts)))


def _size(text: texts.Prose, vit: Vit | None) -> str:
    """The input of the second model: its own, or another that its positions are resampled to."""
    offered = second.sizes(vit) if vit else {}
    own = text["own"] if vit is None else text["own size"].format(px=pixels("x".join(map(str, vit.grid.image_px))))
    names = {second.OWN: own} | {size: pixels(size) for size in offered}
    if st.session_state.get("b_px", second.OWN) not in names:
        st.session_state["b_px"] = second.OWN
    return controls.named(text["b_px"], names, "b_px", width=200, disabled=not offered, help=text["b_px help"])
