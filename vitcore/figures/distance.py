"""Mean attention distance drawn (arXiv 2010.11929 Fig. 7 right, Fig. 11): one dot per head over depth, in pixels."""

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from vitcore.figures.theme import CATEGORICAL, INK, Mode, figure, note
from vitcore.grid import Grid
from vitcore.translation import say


def _way(cls: str) -> str:
    return {"drop": say("class token dropped"), "renormalise": say("renormalised")}[cls]


def distance(
    px: NDArray, grid: Grid, uniform_px: float, cls: str = "drop", images: int = 1, mode: Mode = "light", most_px: float = 0,
) -> go.Figure:  # fmt: skip
    """(L, H) mean distances; the dashed line is attention spread evenly over all patches. The axis reaches `most_px`."""
    blocks, heads = px.shape
    ink = INK[mode]
    hover = say("layer {layer}, head {head}")
    dots = [{
        "type": "scatter", "x": np.arange(blocks), "y": px[:, head].astype(np.float32), "mode": "markers",
        "name": say("head {head}", head=head),
        "marker": {"size": 11, "color": CATEGORICAL[head % len(CATEGORICAL)], "opacity": 0.9,
                   "symbol": ("circle", "diamond", "square")[head // len(CATEGORICAL) % 3],
                   "line": {"width": 1, "color": "rgba(255,255,255,.7)"}},
        "hovertemplate": hover.format(layer="%{x}", head=head) + "<br>%{y:.1f} px<extra></extra>",
    } for head in range(heads)]  # fmt: skip
    told = "╌ " + say("uniform attention {px:.1f} px", px=uniform_px)
    near, far = float(px[0].min()), float(px[0].max())
    over = say("{count} {count:image|images}", count=images)
    span = say("layer 0: {near:.0f}–{far:.0f} of {side} px", near=near, far=far, side=grid.image_px[1])
    about = f"{span} · {_way(cls)} · {over}"
    top = 1.18 * max(uniform_px, float(px.max()), most_px)
    return figure(
        dots, say("Mean attention distance"), mode, 520, about,
        x={"title": {"text": say("network depth (layer)")}, "dtick": 1 if blocks <= 12 else 2, "range": [-0.6, blocks - 0.4]},
        y={"title": {"text": say("mean attention distance (pixels)")}, "range": [0, top]},
        shapes=[{"type": "line", "x0": 0, "x1": 1, "xref": "x domain", "y0": uniform_px, "y1": uniform_px, "yref": "y",
                 "line": {"dash": "dash", "color": ink["soft"], "width": 1.5}}],
        annotations=[note(told, 1, 1, xref="paper", xanchor="right", yref="paper", yanchor="top")],
        margin={"l": 62, "b": 52, "t": 96}, showlegend=1 < heads <= 16,
        legend={"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0, "font": {"size": 13}},
    )  # fmt: skip
