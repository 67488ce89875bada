"""A picture a person can point at: hover a patch to read it, click (or arrow keys and Enter) to choose it."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from app import texts
from app.components import source
from app.components.choices import choose
from vitcore.translation import say

_PICTURE = st.components.v2.component(
    "inside_vit_picture",
    html=source("picture/picture.html"),
    css=source("picture/picture.css"),
    js=source("outlined.js") + source("overlay.js") + source("picture/picture.js"),
)


def picture(
    image: str, rows: int, cols: int, cell_px: tuple[int, int], *, key: str, label: str, target: str,
    selected: int | None = None, gutter_px: float = 0, order: list[int] | None = None, overlay: str | None = None,
    detail: str | None = None, values: Sequence[float | None] | None = None, unit: str = "", even: float | None = None,
    lines: bool = True, smooth: bool = True, also: tuple[str, Any] | None = None, group: str = "", marks: Sequence[int] = (),
    told: str = "", strongest: Sequence[int] = (),
) -> None:  # fmt: skip
    """Draw `image` (an address) as rows × cols cells; a chosen cell's index goes to st.session_state[target].

    `cell_px` is a patch's (height, width) in model pixels; `order[i]` is the patch shown in slot i. `overlay` and `detail` are
    addresses of `figures.heat_overlay.cells` and `fine_detail`: heat, until the photo is asked for by holding the pointer or a key
    down; `strongest` are patches outlined on it. `values`, where there is one, are read out with `unit` under the pointer, and
    as multiples of `even`. `also` is a (key, value) that a choice sets too. Pictures of one `group`, with as many rows and
    columns, are pointed at together. `marks` are outlier tokens, which get a thin frame; `told` says so.
    """
    text = texts.prose("common")
    data: dict[str, Any] = {
        "image": image, "rows": rows, "cols": cols, "cell": list(cell_px), "label": label, "selected": selected,
        "gutter": gutter_px, "order": order, "overlay": overlay, "detail": detail, "values": values, "unit": unit, "even": even,
        "lines": lines, "smooth": smooth, "group": group, "marks": list(marks), "told": told, "strongest": list(strongest),
        "words": {"keys": text["keys"], "patch": text["cell"], "slot": text["slot"], "outlier": say("outlier token"),
                  "hold": text["hold"], "times": text["times even"]},
    }  # fmt: skip

    def pick() -> None:
        chosen = st.session_state[key].picked
        if chosen is not None:
            choose(target, int(chosen))
            if also:
                choose(*also)

    _PICTURE(data=data, key=key, on_picked_change=pick)


_SCALE = st.components.v2.component(
    "inside_vit_scale", html="<div class='row'><span></span><div class='bar'></div><span></span><b></b>\n</div>",
    css=source("picture/scale.css"), js=source("picture/scale.js"),
)  # fmt: skip


def scale_bar(colours: list[str], low: str, high: str, unit: str, *, key: str) -> None:
    """A colour bar with its ends and its unit, for a picture drawn on a canvas."""
    _SCALE(data={"colours": colours, "low": low, "high": high, "unit": unit}, key=key)
