"""Who is compared: the pickers of both models, pairs that are ready to be chosen, and what the page looks at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import streamlit as st

from app import mode, texts
from app.furniture import controls
from app.state import models, runs, session
from app.state.beside import comparisons, second
from app.state.memory import budget
from vitcore.models.cards import CARDS, DEFAULT

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from vitcore.figures.theme import Mode
    from vitcore.forward.compare import Comparison
    from vitcore.forward.recording import Recording
    from vitcore.images import Photo
    from vitcore.models.zoo import Vit

Two = tuple[str, str]


@dataclass(frozen=True, eq=False)
class Pair:
    """Two models on one photo; `comparison` is None where one of them does not attend over one grid."""

    text: texts.Prose
    vits: tuple[Vit, Vit]
    recs: tuple[Recording, Recording]
    names: Two  # in the visitor's language, as plain text
    photo: Photo
    comparison: Comparison | None
    mode: Mode

    @property
    def me(self) -> tuple[str, str, str]:
        """What tells this pair from others, for what is kept."""
        return self.vits[0].name, self.vits[1].name, self.photo.key


class Ready(NamedTuple):
    """A pair to be chosen at a touch; `a` empty: the model that is chosen already."""

    key: str
    a: str
    b: str
    picture: str
    size: str = second.OWN


READY = (
    Ready("random", "", second.RANDOM, "tokens"),
    Ready("size", "", second.ITSELF, "rollout"),
    Ready("hybrid", "vit_base_patch16_384.augreg_in21k_ft_in1k", "vit_base_r50_s16_384.orig_in21k_ft_in1k", "distance"),
    Ready("positions", "vit_small_patch16_224.augreg_in21k_ft_in1k", "deit_small_patch16_224.fb_in1k", "positions"),
    Ready("dino", "vit_small_patch16_224.augreg_in21k_ft_in1k", "vit_small_patch14_dinov2.lvd142m", "rollout"),
    Ready("registers", "vit_small_patch14_dinov2.lvd142m", "vit_small_patch14_reg4_dinov2.lvd142m", "attention"),
    Ready("tuned", "vit_base_patch16_224.orig_in21k", "vit_base_patch16_224.orig_in21k_ft_in1k", "tokens"),
    Ready("clip", "vit_base_patch16_clip_224.openai", "vit_base_patch16_clip_224.openai_ft_in1k", "tokens"),
)
UNLISTED_MB = {"vit_base_patch16_224.orig_in21k_ft_in1k": 346}  # what is downloaded for models outside the menu


def chosen(text: texts.Prose, first: Vit, photo: Photo, rec: Recording) -> Pair:
    """The row of pickers, and the pair that they name; says on the page what could not be had."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        _first(text)
        asked = _second(text, first)
        size = st.empty()
        _ready(text, first)
    waiting = st.empty()

    def progress(done: int, total: int) -> None:
        told = texts.prose("common")["downloading"].format(done=done / 1e6, total=total / 1e6)
        waiting.progress(done / max(total, 1), told)

    with st.spinner(texts.prose("common")["loading"]):
        base = second.have(first, asked, progress)
    waiting.empty()
    with size:
        wanted = _size(text, base)
    other = base and second.resized(base, wanted)
    try:
        if other is None:
            st.warning(f"{controls.verbatim(second.problem())} {text['instead']}", icon=":material/cloud_off:")
            st.button(
                texts.prose("common")["try again"], on_click=second.forget, icon=":material/refresh:", key="again"
            )
            asked, other = second.RANDOM, models.variant(first, second.RANDOM)
        theirs, vits = comparisons.recording(other, photo), (first, other)
        both = first.is_global and other.is_global
        comparison = comparisons.compared(first.name, other.name, photo.key, vits, photo) if both else None
    except budget.NoRoomError:
        st.warning(texts.prose("common")["no room now"], icon=":material/memory:")
        st.stop()
    names = first.card.title, _called(text, first, other, asked)
    return Pair(text, vits, (rec, theirs), names, photo, comparison, controls.theme())


def sides(pair: Pair) -> Iterator[tuple[DeltaGenerator, str, str]]:
    """Two columns, each with its model's name above: the place, "a" or "b", and the name."""
    places = st.columns(2, gap="large", vertical_alignment="bottom")  # one name may take two lines
    for place, key, name in zip(places, "ab", pair.names, strict=True):
        place.markdown(f"## {key.upper()} · {controls.verbatim(name)}")
        yield place, key, name


def _called(text: texts.Prose, first: Vit, other: Vit, asked: str) -> str:
    """What the second model is called, in the visitor's language."""
    title = first.card.title if asked in (second.RANDOM, second.ITSELF, *models.CHECKPOINTS) else other.card.title
    if asked == second.RANDOM:
        title = text["called random"].format(model=title)
    elif asked in models.CHECKPOINTS:
        title = text["called step"].format(model=title, step=other.card.note)
    how = other.name.rpartition("~")[2]
    if how[0].isdecimal() and "x" in how and "~" in other.name:
        title = text["called size"].format(model=title, px=pixels(how))
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
    st.selectbox(text["first"], names, key="a_model", width=280, on_change=take_first,
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
    if st.session_state.get("b") in models.CHECKPOINTS and st.session_state["b"] not in special:
        st.session_state["b"] = second.RANDOM
    others = [called(lang) for lang in texts.LANGUAGES]
    for given in (st.session_state.get("b"), st.query_params.get("b")):
        if given and given not in names and not any(given in there.values() for there in others):
            names |= {given: given}  # typed in: it is got, or what is wrong with it is said
    allowed = mode.allows("downloads")
    return controls.named(text["b"], names, "b", others, width=320, accept_new_options=allowed, help=text["b help"])


def _size(text: texts.Prose, vit: Vit | None) -> str:
    """The input of the second model: its own, or another that its positions are resampled to."""
    offered = second.sizes(vit) if vit else {}
    own = text["own"] if vit is None else text["own size"].format(px=pixels("x".join(map(str, vit.grid.image_px))))
    names = {second.OWN: own} | {size: pixels(size) for size in offered}
    if st.session_state.get("b_px", second.OWN) not in names:
        st.session_state["b_px"] = second.OWN
    return controls.named(text["b_px"], names, "b_px", width=200, disabled=not offered, help=text["b_px help"])


def _ready(text: texts.Prose, first: Vit) -> None:
    """Pairs to be chosen at a touch, with what they show and what has to be downloaded."""
    cards = {card.name: card for card in CARDS}
    with st.popover(text["ready"], icon=":material/auto_awesome:", key="ready"):
        for one in READY:
            size = _half(first) if one.key == "size" else one.size
            if one.key == "size" and size == second.OWN:
                continue
            wanted = [name for name in (one.a, one.b) if name and name not in (second.RANDOM, second.ITSELF)]
            if not all(name in cards for name in wanted) and not mode.allows("downloads"):
                continue
            _button(text, one._replace(size=size))
            said = text[f"ready {one.key} about"]
            if mb := [cards[n].download_mb if n in cards else UNLISTED_MB[n] for n in wanted]:
                said += " " + text["ready download"].format(sizes=" + ".join(f"{one:.0f} MB" for one in mb))
            st.caption(said)
        for name in list(runs.cards())[:3]:
            for which in second.steps(name)[-1:]:
                _button(text, Ready("steps", name, which, "tokens"), run=name)
                st.caption(text["ready steps about"])


def _button(text: texts.Prose, one: Ready, run: str = "") -> None:
    label = text[f"ready {one.key}"].format(run=controls.verbatim(run))
    st.button(label, key=f"ready_{one.key}_{run}", width="stretch", on_click=choose, args=(one,))


def _half(first: Vit) -> str:
    """A smaller input for the model beside itself, or OWN."""
    return next(iter(second.sizes(first)), second.OWN)


def choose(one: Ready) -> None:
    """Show this pair."""
    session.forget_model_errors()
    second.forget()
    st.session_state.update(
        {"b": one.b, "b_px": one.size, "picture": one.picture} | ({"model": one.a} if one.a else {})
    )
