"""A film of a few pictures over a photo: play, pause, a slider, and every picture small; it plays in the browser alone."""

import streamlit as st

from app.components import source

_PLAYER = st.components.v2.component(
    "inside_vit_player", html=source("player.html"), css=source("player.css"), js=source("player.js")
)


def player(
    image: str, film: str, names: list[str], captions: list[str], ratio: float, words: dict[str, str], *, key: str,
    label: str, opacity: float = 0.6,
) -> None:  # fmt: skip
    """Show frames of `film` (a data address, one frame below another) over `image`; `ratio` is width over height.

    `names` and `captions` are of the frames; `words` are "play", "pause", "layer" and "layers", what the parts are called.
    """
    _PLAYER(
        data={"image": image, "film": film, "names": names, "captions": captions, "ratio": ratio, "words": words, "label": label,
              "opacity": opacity},
        key=key,
    )  # fmt: skip
