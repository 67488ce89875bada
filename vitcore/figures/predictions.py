"""The answer drawn: the likeliest classes and their probabilities."""

import plotly.graph_objects as go

from vitcore.figures.theme import INK, Mode, styled
from vitcore.words import say


def predictions(top: list[tuple[str, float]], mode: Mode = "light", title: str | None = None) -> go.Figure:
    """(label, probability) pairs as bars, 0 to 100 %, the likeliest on top."""
    ink = INK[mode]
    names, values = [n for n, _ in top], [100 * p for _, p in top]
    fig = go.Figure(go.Bar(
        x=values, y=list(range(len(top))), orientation="h", marker={"color": ink["accent"]}, width=0.28,
        hovertemplate="%{x:.1f} %<extra></extra>",
    ))  # fmt: skip
    for i, (name, value) in enumerate(zip(names, values, strict=True)):
        fig.add_annotation(
            x=0, y=i - 0.34, xanchor="left", showarrow=False, text=f"{name} <b>{value:.1f} %</b>",
            font={"color": ink["text"], "size": 14},
        )  # fmt: skip
    styled(fig, title or say("Top 5 of the model's classes"), mode, 60 + 46 * len(top))
    fig.update_xaxes(range=[0, 100], visible=False, fixedrange=True)
    fig.update_yaxes(range=[len(top) - 0.5, -0.7], visible=False, fixedrange=True)
    return fig
