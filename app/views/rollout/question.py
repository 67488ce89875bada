"""What the rollout lab asks: a photo through a model, its answer or one patch, a class, and how to draw what is found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st

from app import texts
from app.address import respell
from app.components import address
from app.components.figure import aside
from app.components.lecture.lecture import wide
from app.furniture import controls, lecture, photo_names
from app.state import insights, session
from vitcore.translation import percent

if TYPE_CHECKING:
    from PIL import Image

    from vitcore.figures.theme import Mode
    from vitcore.forward.recording import Recording
    from vitcore.images import Photo
    from vitcore.models.load_model import Vit

BUILD_UP = "build-up"  # where on the page it is


@dataclass(frozen=True, eq=False)
class Asked:
    """What the page looks at and asks: a photo through a model, a patch or the answer, a class, and how to draw it."""

    text: texts.Prose
    vit: Vit
    photo: Photo
    rec: Recording
    query: int | None  # the patch that is asked; None: where the answer is read
    target: int | None  # the class that is asked; None: the model has none
    style: str
    mode: Mode
    photo_shown: Image.Image
    address: str
    detail: str  # of the photo, as `figures.heat_overlay` adds it to heat

    @property
    def who(self) -> str:
        """Who gathered, in words."""
        if self.query is None:
            return self.text["the readout"].format(readout=controls.readout(self.vit))
        return self.text["a patch"].format(patch=self.query)

    def since(self, title: str, settings: dict[str, Any]) -> str:
        """A title, saying so where rollout leaves out the first layers; what else is in braces there stays."""
        first, last = settings.get("first_block", 0), self.vit.blocks - 1
        key = "of last layer" if first == last else "from layer"
        return self.text[key].format(title=title, first=first, last=last) if first else title


def asked(text: texts.Prose, vit: Vit, photo: Photo, rec: Recording) -> tuple[Asked, bool]:
    """The row of controls that both sides share; the second: whether there are two sides."""
    grid = rec.grid
    with st.container(key="asking"):  # a lecture has it beside the pictures: `lecture.css`
        with st.container(horizontal=True, vertical_alignment="bottom"):
            target = _class(text, vit, rec)
            asks_patch = st.toggle(text["ask"], key="ask", bind="query-params", value=False, help=text["ask help"])
            # always there: a choice made in the picture reaches the address only through a control that is on the page already
            query = controls.patch(text["patch"], grid, width=140, disabled=not (asks_patch and vit.is_global))
            compare = st.toggle(text["compare"], key="compare", bind="query-params", value=True)
            with st.popover(text["drawing"], icon=":material/palette:", key="drawing"):
                style = controls.choice(text, "style", ["heat", "paper"])
            if lecture.on() and vit.is_global:  # a long way down, where a room is large
                st.markdown(f":material/arrow_downward: [{text['build-up title']}](#{BUILD_UP})", width="content")
        if vit.is_global and not asks_patch and query != grid.middle:  # as a link written by hand may have it
            st.caption(text["not asked"].format(patch=query, ask=text["ask"]))
        _likeliest(rec, target)
    if target is not None:
        with aside(key="aside_name"):
            photo_names.by_imagenet([label for label, _ in rec.top_classes()])
    if vit.is_global and vit.readout != "class token":
        st.caption(text["no class token"].format(readout=controls.readout(vit)))
    photo_shown, file = session.shown(rec)
    where = address(file, "image/jpeg", "photo")
    asks = query if asks_patch else None
    theme = controls.theme()
    detail = address(insights.detail(rec), "image/jpeg", "detail")
    return Asked(text, vit, photo, rec, asks, target, style, theme, photo_shown, where, detail), compare


def names(labels: tuple[str, ...]) -> list[str]:
    """Names of the classes, each once: where two classes are called the same, their numbers tell them apart."""
    count: dict[str, int] = {}
    for label in labels:
        count[label] = count.get(label, 0) + 1
    return [label if count[label] == 1 else f"{label} ({i})" for i, label in enumerate(labels)]


def _class(text: texts.Prose, vit: Vit, rec: Recording) -> int | None:
    """The class that is asked: the likeliest unless one is chosen; a link may name it by its name or its number."""
    if not vit.labels:
        return None
    own, called = text["likeliest"], names(vit.labels)
    given = st.session_state.get("class", st.query_params.get("class"))
    if given is not None and given not in called:
        meant = called[int(given)] if given.isdecimal() and int(given) < len(called) else own
        if "class" in st.session_state:  # a class of the model there was
            st.session_state["class"] = meant
        elif meant != own:
            respell("class", meant, meant)
    chosen = st.selectbox(
        text["class"], [own, *called], key="class", bind="query-params", width=wide(300), help=text["class help"]
    )
    return called.index(chosen) if chosen in called else int(rec.logits.argmax())


def _likeliest(rec: Recording, target: int | None) -> None:
    """The five likeliest classes, to be asked at a touch."""
    if target is None:
        return
    called = names(rec.labels)
    with st.container(horizontal=True, gap="small", key="likeliest"):
        for index, (label, share) in zip((-rec.logits).argsort(), rec.top_classes(), strict=False):
            st.button(
                f"{controls.verbatim(label)} {percent(share)}", key=f"top_{index}",
                type="primary" if index == target else "secondary", on_click=st.session_state.update,
                kwargs={"class": called[index]},
            )  # fmt: skip
