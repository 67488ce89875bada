"""The first picture of the landing page: rollout on the photo, its scale, and what it says beside or below it."""

from typing import Any

import streamlit as st

from app import texts
from app.components.picture.picture import picture, scale_bar
from app.shell import photo_titles
from app.widgets import outlier_masking
from vitcore.grid import Grid
from vitcore.translation import percent, say


def show_rollout(spec: dict[str, Any]) -> None:
    """The first picture, its title, its scale and its words."""
    text, readout = texts.prose("overview"), say(spec["readout"])
    st.header(title := text["rollout title"].format(readout=readout), anchor=False)
    with st.container(key="first_picture"):
        with st.container():
            _show_picture(spec, title, text)
        with st.container(key="first_told"):
            _show_sentences(spec, readout, text)


def _show_picture(spec: dict[str, Any], title: str, text: texts.Prose) -> None:
    """The picture, its scale, and outlier tokens that hold much of it."""
    outliers = outlier_masking.outliers_of_patches(spec["outliers"], spec["outliers_of"], Grid(spec["rows"], spec["cols"], 1))
    picture(
        spec["image"],
        spec["rows"],
        spec["cols"],
        spec["cell"],
        key="gathered_first",
        label=title,
        target="_touched",
        overlay=spec["overlay"],
        detail=spec["detail"],
        values=spec["values"],
        unit=text["rollout value"],
        even_share=_even_share(spec),
        lines=False,
        marks=outliers.patches,
        marks_sentence=outliers.sentence,
    )
    unit = text["rollout or more" if spec["more"] else "rollout unit"].format(even=f"{_even_share(spec):.3g}")
    scale_bar(spec["colours"], "0", f"{spec['top']:.3g}", unit, key="first_scale")
    outlier_masking.note_and_switch(outliers, "first")


def _even_share(spec: dict[str, Any]) -> float:
    """An even share of what the patches hold together, in percent."""
    return sum(spec["values"]) / len(spec["values"])


def _show_sentences(spec: dict[str, Any], readout: str, text: texts.Prose) -> None:
    """The answer, what it was gathered from, and what that can't tell."""
    sentences = [text[key].format(label=texts.escape_markdown(label), share=percent(share))
            for key, (label, share) in zip(("answered", "runner-up"), spec["answer"], strict=False)]  # fmt: skip
    st.markdown(text.joined(sentences))
    patch = max(range(len(spec["values"])), key=spec["values"].__getitem__)
    row, col = divmod(patch, spec["cols"])
    share, even = (f"{value:.3g}" for value in (spec["values"][patch], _even_share(spec)))
    st.markdown(text["strongest"].format(patch=patch, row=row, col=col, share=share, even=even))
    photo_titles.imagenet_name_caption([label for label, _ in spec["answer"]])
    st.caption(text["rollout"].format(readout=readout))
    st.page_link("views/rollout/page.py", label=text["rollout link"], icon=":material/arrow_forward:")
