"""A film of a few pictures over a photo: play, pause, a slider, and every picture small; it plays in the browser alone."""

from app.components import worded


def player(
    image: str, film: str, names: list[str], captions: list[str], ratio: float, words: dict[str, str], *, key: str,
    label: str, opacity: float = 0.6,
) -> None:  # fmt: skip
    """Show frames of `film` (an address, one frame below another) over `image`; `ratio` is width over height.

    `names` and `captions` are of the frames; `words` are "play", "pause", "layer" and "layers", what the parts are called.
    """
    named = {name: words[name] for name in ("play", "layer", "layers")}
    worded("player", **named)(
        data={"image": image, "film": film, "names": names, "captions": captions, "ratio": ratio, "words": words, "label": label,
              "opacity": opacity},
        key=key,
    )  # fmt: skip
