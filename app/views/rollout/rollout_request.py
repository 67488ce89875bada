"""What the rollout lab asks: a photo through a model, its answer or one patch, a class, and how to draw what is found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st

from app import texts
from app.components import page_theme
from app.components.component_files import media_url
from app.components.figure import aside
from app.components.page_style.page_style import scaled_px
from app.shell import current_recording, lecture_mode, photo_titles, query_controls
from app.shell.address import rewrite_query_param
from app.state.recordings import recordings, relevance_maps
from vitcore.translation import percent

if TYPE_CHECKING:
    from PIL import Image

    from vitcore.figures.theme import Mode
    from vitcore.forward.recording import Recording
    from vitcore.images import Photo
    from vitcore.models.load_model import Vit

BUILD_UP_ANCHOR = "build-up"  # where on the page it is


@dataclass(frozen=True, eq=False)
class RolloutRequest:
    """What the page looks at and asks: a photo through a model, a patch or the answer, a class, and how to draw it."""

    text: texts.Prose
    vit: Vit
    photo: Photo
    rec: Recording
    query_patch: int | None  # the patch that is asked; None: where the answer is read
    target_class: int | None  # the class that is asked; None: the model has none
    style: str
    mode: Mode
    photo_shown: Image.Image
    photo_url: str
    detail_url: str  # of the photo, as `figures.heat_overlay` adds it to heat

    @property
    def query_phrase(self) -> str:
        """Who gathered, in words."""
        if self.query_patch is None:
            return self.text["the readout"].format(readout=current_recording.readout_name(self.vit))
        return self.text["a patch"].format(patch=self.query_patch)

    def title_from_layer(self, title: str, settings: dict[str, Any]) -> str:
        """A title, saying so where rollout leaves out the first layers; what else is in braces there stays."""
        first, last = settings.get("first_block", 0), self.vit.blocks - 1
        key = "of last layer" if first == last else "from layer"
        return self.text[key].format(title=title, first=first, last=last) if first else title


def request_controls(text: texts.Prose, vit: Vit, photo: Photo, rec: Recording) -> tuple[RolloutRequest, bool]:
    """The row of controls that both sides share; the second: whether there are two sides."""
    grid = rec.grid
    with st.container(key="asking"):  # a lecture has it beside the pictures: `page_style.css`
        with st.container(horizontal=True, vertical_alignment="bottom"):
            target = _class_menu(text, vit, rec)
            asks_patch = st.toggle(text["ask"], key="ask", bind="query-params", value=False, help=text["ask help"])
            # always there: a choice made in the picture reaches the address only through a control that is on the page already
            query = query_controls.patch_input(text["patch"], grid, width=140, disabled=not (asks_patch and vit.is_global))
            compare = st.toggle(text["compare"], key="compare", bind="query-params", value=True)
            with st.popover(text["drawing"], icon=":material/palette:", key="drawing"):
                style = query_controls.button_row(text, "style", ["heat", "paper"])
            if lecture_mode.is_on() and vit.is_global:  # a long way down, where a room is large
                st.markdown(f":material/arrow_downward: [{text['build-up title']}](#{BUILD_UP_ANCHOR})", width="content")
        if vit.is_global and not asks_patch and query != grid.middle:  # as a link written by hand may have it
            st.caption(text["not asked"].format(patch=query, ask=text["ask"]))
        _top_class_buttons(rec, target)
    if target is not None:
        with aside(key="aside_name"):
            photo_titles.imagenet_name_caption([label for label, _ in rec.top_classes()])
    if vit.is_global and vit.pooling != "class token":
        st.caption(text["no class token"].format(readout=current_recording.readout_name(vit)))
    photo_shown, file = recordings.input_picture(rec)
    photo_url = media_url(file, "image/jpeg", "photo")
    query_patch = query if asks_patch else None
    theme = page_theme.current()
    detail_url = media_url(relevance_maps.fine_detail(rec), "image/jpeg", "detail")
    return RolloutRequest(text, vit, photo, rec, query_patch, target, style, theme, photo_shown, photo_url, detail_url), compare


def unique_class_names(labels: tuple[str, ...]) -> list[str]:
    """Names of the classes, each once: where two classes are called the same, their numbers tell them apart."""
    count: dict[str, int] = {}
    for label in labels:
        count[label] = count.get(label, 0) + 1
    return [label if count[label] == 1 else f"{label} ({i})" for i, label in enumerate(labels)]


def _class_menu(text: texts.Prose, vit: Vit, rec: Recording) -> int | None:
    """The class that is asked: the likeliest unless one is chosen; a link may name it by its name or its number."""
    if not vit.labels:
        return None
    likeliest, class_names = text["likeliest"], unique_class_names(vit.labels)
    given = st.session_state.get("class", st.query_params.get("class"))
    if given is not None and given not in class_names:
        meant = class_names[int(given)] if given.isdecimal() and int(given) < len(class_names) else likeliest
        if "class" in st.session_state:  # a class of the model there was
            st.session_state["class"] = meant
        elif meant != likeliest:
            rewrite_query_param("class", meant, meant)
    chosen = st.selectbox(
        text["class"], [likeliest, *class_names], key="class", bind="query-params", width=scaled_px(300), help=text["class help"]
    )
    return class_names.index(chosen) if chosen in class_names else int(rec.logits.argmax())


def _top_class_buttons(rec: Recording, target: int | None) -> None:
    """The five likeliest classes, to be asked at a touch."""
    if target is None:
        return
    class_names = unique_class_names(rec.labels)
    with st.container(horizontal=True, gap="small", key="likeliest"):
        for index, (label, share) in zip((-rec.logits).argsort(), rec.top_classes(), strict=False):
            st.button(
                f"{texts.escape_markdown(label)} {percent(share)}", key=f"top_{index}",
                type="primary" if index == target else "secondary", on_click=st.session_state.update,
                kwargs={"class": class_names[index]},
            )  # fmt: skip
