"""A picture a person can point at: hover a patch to read it, click (or arrow keys and Enter) to choose it."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from app import texts
from app.components.component_files import bundle_script, component_from_folder, read_source_with_imports
from app.components.pending_choices import set_control
from vitcore.figures.theme_colours import ColourScale, gradient_stops
from vitcore.translation import say

_PICTURE = component_from_folder("picture")


def picture(
    image: str, rows: int, cols: int, cell_px: tuple[int, int], *, key: str, label: str, target: str,
    selected: int | None = None, gutter_px: float = 0, order: list[int] | None = None, overlay: str | None = None,
    detail: str | None = None, values: Sequence[float | None] | None = None, unit: str = "", even_share: float | None = None,
    lines: bool = True, smooth: bool = True, also_choose: tuple[str, Any] | None = None, group: str = "", marks: Sequence[int] = (),
    marks_sentence: str = "", strongest: Sequence[int] = (), step: int = 1, enlarge: bool = False,
    other: dict[str, Any] | None = None, counted: bool = False,
) -> None:  # fmt: skip
    """Draw `image` (an address) as rows × cols cells; a chosen cell's index goes to st.session_state[target].

    `cell_px` is a patch's (height, width) in model pixels; `order[i]` is the patch shown in slot i. `overlay` and `detail` are
    addresses of `figures.heat_overlay.heat_colours` and `fine_detail`: heat, until the photo is asked for by holding the pointer or
    a key down; `strongest` are patches outlined on it. `values`, where there is one, are read out with `unit` under the pointer,
    and as multiples of `even_share`. `also_choose` is a (key, value) that a choice sets too. Pictures of one `group`, of as many
    rows and columns, are pointed at together. `step`: only every so many rows and columns are shown; `enlarge`: a patch pointed at
    is drawn larger. `marks` are outlier tokens, which get a thin frame; `marks_sentence` says so. `other` is a second
    map, behind a curtain that a person draws: its `overlay`, `values`, `even` and `marks`, `names` of both, the curtain's `label`.
    `counted`: rows and columns have their numbers beside and above the picture.
    """
    text = texts.prose("common")
    words = {"keys": text["keys"], "patch": text["cell"], "slot": text["slot"], "outlier": say("outlier token"),
             "hold": text["hold"], "times": text["times even"]}  # fmt: skip
    words |= {name: text[name] for name in ("first row", "first column", "region", "region value")}
    data: dict[str, Any] = {
        "image": image, "rows": rows, "cols": cols, "cell": list(cell_px), "label": label, "selected": selected,
        "gutter": gutter_px, "order": order, "overlay": overlay, "detail": detail, "values": values, "unit": unit,
        "even": even_share, "lines": lines, "smooth": smooth, "group": group, "marks": list(marks), "told": marks_sentence,
        "strongest": list(strongest), "step": step, "enlarge": enlarge, "other": other, "counted": counted, "words": words,
    }  # fmt: skip

    def pick() -> None:
        chosen = st.session_state[key].picked
        if chosen is not None:
            set_control(target, int(chosen))
            if also_choose:
                set_control(*also_choose)

    _PICTURE(data=data, key=key, on_picked_change=pick)


_SCALE = st.components.v2.component(
    "inside_vit_scale", html="<div class='row'><span></span><div class='bar'></div><span></span><b></b>\n</div>",
    css=read_source_with_imports("picture/colour_bar.css"), js=bundle_script("picture/colour_bar.js"),
)  # fmt: skip


def map_scale_bar(scale: ColourScale, key: str) -> None:
    colour_strip(scale.colours, scale.low, scale.high, scale.unit, key)


def colour_strip(scale: str, low: float, high: float, unit: str, key: str) -> None:
    """A colour bar below a picture, with numbers at its ends and a unit."""
    least, most = (f"{end:.3g}".replace("-", "−") for end in (low, high))
    _SCALE(data={"colours": gradient_stops(scale), "low": least, "high": most, "unit": unit}, key=key)
