"""The first picture of the landing page: rollout on the photo, its scale, and what it says beside or below it."""

from typing import Any

import streamlit as st

from app import texts
from app.components.picture.picture import picture, scale_bar
from app.furniture import controls, outliers, photo_names
from vitcore.grid import Grid
from vitcore.translation import percent, say


def paint(drawn: dict[str, Any]) -> None:
    """The first picture, its title, its scale and its words."""
    text, readout = texts.prose("overview"), say(drawn["readout"])
    st.header(title := text["rollout title"].format(readout=readout), anchor=False)
    with st.container(key="first_picture"):
        with st.container():
            _seen(drawn, title, text)
        with st.container(key="first_told"):
            _told(drawn, readout, text)


def _seen(drawn: dict[str, Any], title: str, text: texts.Prose) -> None:
    """The picture, its scale, and outlier tokens that hold much of it."""
    found = outliers.of_grid(drawn["outliers"], drawn["outliers_of"], Grid(drawn["rows"], drawn["cols"], 1))
    picture(
        drawn["image"], drawn["rows"], drawn["cols"], drawn["cell"], key="gathered_first", label=title, target="_touched",
        overlay=drawn["overlay"], detail=drawn["detail"], values=drawn["values"], unit=text["rollout value"], even=_even(drawn),
        lines=False, marks=found.patches, told=found.told,
    )  # fmt: skip
    unit = text["rollout or more" if drawn["more"] else "rollout unit"].format(even=f"{_even(drawn):.3g}")
    scale_bar(drawn["colours"], "0", f"{drawn['top']:.3g}", unit, key="first_scale")
    outliers.beside(found, "first")


def _even(drawn: dict[str, Any]) -> float:
    """An even share of what the patches hold together, in percent."""
    return sum(drawn["values"]) / len(drawn["values"])


def _told(drawn: dict[str, Any], readout: str, text: texts.Prose) -> None:
    """The answer, what it was gathered from, and what that can't tell."""
    said = [text[key].format(label=controls.verbatim(label), share=percent(share))
            for key, (label, share) in zip(("answered", "runner-up"), drawn["answer"], strict=False)]  # fmt: skip
    st.markdown(text.joined(said))
    patch = max(range(len(drawn["values"])), key=drawn["values"].__getitem__)
    row, col = divmod(patch, drawn["cols"])
    share, even = (f"{value:.3g}" for value in (drawn["values"][patch], _even(drawn)))
    st.markdown(text["strongest"].format(patch=patch, row=row, col=col, share=share, even=even))
    photo_names.by_imagenet([label for label, _ in drawn["answer"]])
    st.caption(text["rollout"].format(readout=readout))
    st.page_link("views/rollout/page.py", label=text["rollout link"], icon=":material/arrow_forward:")
