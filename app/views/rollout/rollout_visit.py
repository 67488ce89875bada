"""What the rollout lab asks: a photo through a model, its answer or one patch, a class, and how to draw what is found."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

import vitcore
from app import texts
from app.components.page_style.page_style import scale_to_page_px
from app.shell import lecture_mode, photo_ids_and_titles, query_controls
from app.shell.query_controls import rewrite_query_param
from app.state.visit.visit import Visit
from vitcore.models.vit import Vit
from vitcore.translation import percent, translated_labels, using_translation

BUILD_UP_ANCHOR = "build-up"  # where on the page it is


@dataclass(frozen=True, eq=False, kw_only=True)
class RolloutVisit(Visit):
    """What the page asks: the patch (None: where the answer is read), a class (None: the model has none); how it is drawn."""

    target_class: int | None
    style: str

    @property
    def query_phrase(self) -> str:
        """Who gathered, in words."""
        if self.patch is None:
            return self.texts["the readout"].format(readout=self.readout)
        return self.texts["a patch"].format(patch=self.patch)

    def title_from_layer(self, title: str, settings: dict[str, Any]) -> str:
        """A title, saying so where rollout leaves out the first layers; what else is in braces there stays."""
        first, last = settings.get("first_block", 0), self.vit.blocks - 1
        key = "of last layer" if first == last else "from layer"
        return self.texts[key].format(title=title, first=first, last=last) if first else title


def rollout_target_controls(visit: Visit) -> tuple[RolloutVisit, bool]:
    """The row of controls that both sides share; the second: whether there are two sides."""
    text, vit, rec, grid = visit.texts, visit.vit, visit.recording, visit.grid
    with st.container(key="asking"):  # a lecture has it beside the pictures: `page_style.css`
        with st.container(horizontal=True, vertical_alignment="bottom"):
            target = _class_menu(text, vit, rec)
            asks_patch = st.toggle(text["ask"], key="ask", bind="query-params", value=False, help=text["ask help"])
            # always there: a choice made in the picture reaches the address only through a control that is on the page already
            query = query_controls.patch_input(text["patch"], grid, width=140, disabled=not (asks_patch and vit.is_global))
            _compare_where_link_says()
            compare = st.toggle(text["compare"], key="compare", bind="query-params", value=False)
            with st.popover(text["drawing"], icon=":material/palette:", key="drawing"):
                style = query_controls.button_row(text, "style", ["heat", "paper"])
            if lecture_mode.is_lecture() and vit.is_global and compare:  # a long way down, where a room is large
                st.markdown(f":material/arrow_downward: [{text['build-up title']}](#{BUILD_UP_ANCHOR})", width="content")
        if vit.is_global and not asks_patch and query != grid.middle:  # as a link written by hand may have it
            st.caption(text["not asked"].format(patch=query, ask=text["ask"]))
        _top_class_buttons(rec, target)
        if target is not None:
            photo_ids_and_titles.show_imagenet_name([label for label, _ in rec.top_classes(translated=True)])
    if vit.is_global and vit.pooling != "class token":
        st.caption(text["no class token"].format(readout=visit.readout))
    asked = replace(visit, patch=query if asks_patch else None)
    return asked.extend(RolloutVisit, target_class=target, style=style), compare


def _compare_where_link_says() -> None:
    """A link from when two sides were the start, with settings of the second side, still opens both."""
    here, link = st.session_state, st.query_params
    if "compare" not in here and "compare" not in link and any(key.startswith("b_") for key in link):
        here["compare"] = True


def unique_class_names(labels: tuple[str, ...]) -> list[str]:
    """Names of the classes, each once: where two classes are called the same, their numbers tell them apart."""
    count: dict[str, int] = {}
    for label in labels:
        count[label] = count.get(label, 0) + 1
    return [label if count[label] == 1 else f"{label} ({i})" for i, label in enumerate(labels)]


def shown_class_names(labels: tuple[str, ...]) -> dict[str, str]:
    """What the menu shows by the unique names: a translated one before the English one, so that typing either finds it."""
    both = zip(unique_class_names(labels), labels, translated_labels(labels), strict=True)
    return {name: name if called == label else f"{called} {label}" for name, label, called in both}


def _class_of_link(given: str, labels: tuple[str, ...]) -> str | None:
    """The unique name of the class that a link means, by its number or by what it is called in some language."""
    names = unique_class_names(labels)
    if given.isdecimal() and int(given) < len(names):
        return names[int(given)]
    for lang in dict.fromkeys((texts.language(), *texts.LANGUAGES)):
        with using_translation(texts.translation_table(lang)):
            for called in ([*shown_class_names(labels).values()], names, translated_labels(labels)):
                if given in called:
                    return names[called.index(given)]
    return None


def _class_menu(text: texts.Prose, vit: Vit, rec: vitcore.Recording) -> int | None:
    """The class that is asked: the likeliest unless one is chosen; a link may name it by its name or its number."""
    if not vit.labels:
        return None
    likeliest, shown = text["likeliest"], shown_class_names(vit.labels)
    if "class" in st.session_state:
        if st.session_state["class"] not in shown:  # a class of the model there was
            st.session_state["class"] = _class_of_link(str(st.session_state["class"]), vit.labels) or likeliest
    elif (given := st.query_params.get("class")) and given not in shown.values():
        if meant := _class_of_link(given, vit.labels):
            rewrite_query_param("class", meant, shown[meant])
    chosen = st.selectbox(
        text["class"], [likeliest, *shown], format_func=lambda name: shown.get(name, name), key="class", bind="query-params",
        width=scale_to_page_px(300), help=text["class help"],
    )  # fmt: skip
    return [*shown].index(chosen) if chosen in shown else int(rec.logits.argmax())


def _top_class_buttons(rec: vitcore.Recording, target: int | None) -> None:
    """The five likeliest classes, to be asked at a touch."""
    if target is None:
        return
    class_names = unique_class_names(rec.labels)
    with st.container(horizontal=True, gap="small", key="likeliest"):
        for index, (label, share) in zip((-rec.logits).argsort(), rec.top_classes(translated=True), strict=False):
            st.button(
                f"{texts.escape_markdown(label)} {percent(share)}", key=f"top_{index}",
                type="primary" if index == target else "secondary", on_click=st.session_state.update,
                kwargs={"class": class_names[index]},
            )  # fmt: skip
