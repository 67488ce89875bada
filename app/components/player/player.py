"""A few pictures over a photo, one after the other: play, pause, a slider, and each of them small; all of it in the browser."""

from app.components import worded


def player(
    image: str, frames: str, names: list[str], captions: list[str], ratio: float, words: dict[str, str], *, key: str,
    label: str, opacity: float = 0.6, grid: tuple[int, int] = (1, 1), marks: list[list[int]] | None = None,
) -> None:  # fmt: skip
    """Show `frames` (an address of one picture, a frame below another) over `image`; `ratio` is width over height.

    `names` and `captions` are of the frames; `words` are "play", "pause", "layer" and "layers", what the parts are called.
    `marks`: patches of each frame, of a `grid` of rows and columns, that get a thin frame.
    """
    named = {name: words[name] for name in ("play", "layer", "layers")}
    worded("player", "../keys ../outlined player", **named)(
        data={"image": image, "frames": frames, "names": names, "captions": captions, "ratio": ratio, "words": words,
              "label": label, "opacity": opacity, "grid": list(grid), "marks": marks},
        key=key,
    )  # fmt: skip
