"""A few maps on a photo, one after the other: play, pause, a slider, and each of them small; all of it in the browser."""

from collections.abc import Sequence

from app import texts
from app.components.component_files import translated_component


def player(
    image: str, detail: str, frames: str, shape: tuple[int, int], names: list[str], captions: list[str], ratio: float,
    words: dict[str, str], *, key: str, label: str, marks: Sequence[Sequence[int]] = (),
) -> None:  # fmt: skip
    """Show `frames` (an address of `figures.heat_overlay.heat_colours`, a frame below another) on `image` with its `detail`.

    `shape` is rows and columns, `ratio` width over height. `names` and `captions` are of the frames, `marks` the patches that
    get a thin frame in each; `words` are "play", "pause", "layer" and "layers", what the parts are called.
    """
    hold = texts.prose("common")["hold"]
    named = {name: words[name] for name in ("play", "layer", "layers")}
    translated_component("player", **named, hold=hold)(
        data={"image": image, "detail": detail, "frames": frames, "rows": shape[0], "cols": shape[1], "names": names,
              "captions": captions, "ratio": ratio, "words": words | {"hold": hold}, "label": label,
              "marks": [list(one) for one in marks]},
        key=key,
    )  # fmt: skip
