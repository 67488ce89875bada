"""Position-embedding similarity drawn (arXiv 2010.11929 Fig. 7 centre): one tile of cosines per position."""

from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from vitcore.figures.attention import patch_outline
from vitcore.figures.theme import (
    DIVERGING,
    INK_COLOURS,
    FigurePart,
    Mode,
    apply_colour_scale,
    colour_bar_trace,
    figure,
    hover_trace,
    image_trace,
    mosaic,
)
from vitcore.grid import Grid
from vitcore.translation import say


def similarity_mosaic(cosine: NDArray, grid: Grid, gutter: bool = True, side_px: int = 900) -> NDArray[np.uint8]:
    """(N, N) cosines as one RGBA picture of rows × cols tiles, about `side_px` wide."""
    zoom = max(1, round(side_px / (grid.rows * grid.rows)))
    rgb = apply_colour_scale(cosine, DIVERGING, -1, 1).reshape(grid.patches, grid.rows, grid.cols, 3)
    return mosaic(rgb, grid.cols, gutter=max(2, zoom * grid.rows // 8) if gutter else 0, zoom=zoom)


def position_similarity(cosine: NDArray, grid: Grid, mode: Mode = "light", subtitle: str = "", side_px: int = 900) -> go.Figure:
    """Tile (r, c) is the cosine similarity of that position's embedding with every other's; −1 to 1."""
    size = (float(grid.cols), float(grid.rows))
    told = say("input patch row {row}, column {col}")
    text = [[told.format(row=r, col=c) for c in range(grid.cols)] for r in range(grid.rows)]
    parts = [
        image_trace(similarity_mosaic(cosine, grid, side_px=side_px), size, smooth=False), hover_trace(text, size),
        colour_bar_trace(DIVERGING, -1, 1, say("cosine similarity"), [-1, -0.5, 0, 0.5, 1]),
    ]  # fmt: skip
    return figure(parts, say("Position-embedding similarity"), mode, 620, subtitle, size=size, **_counted(grid))


def position_similarity_tile(cosine: NDArray, grid: Grid, patch: int, mode: Mode = "light", title: str | None = None) -> go.Figure:
    """One tile enlarged: cosine similarity of one position with all others."""
    return cosine_map(cosine[patch], grid, title or _name(grid, patch), mode, patch)


def cosine_map(
    values: NDArray, grid: Grid, title: str, mode: Mode = "light", patch: int | None = None,
    unit: str | None = None, limit: float = 1.0, height_px: int = 380,
) -> go.Figure:  # fmt: skip
    """(N,) cosines, or what `unit` says, on the grid, ±`limit`, with the position they belong to outlined."""
    size = (float(grid.cols), float(grid.rows))
    cells = grid.to_map(values)
    told = say("row {row}, column {col}: {value}")
    text = [[told.format(row=r, col=c, value=f"{cells[r, c]:+.3f}") for c in range(grid.cols)] for r in range(grid.rows)]
    parts = [
        image_trace(apply_colour_scale(cells, DIVERGING, -limit, limit), size, smooth=False), hover_trace(text, size),
        colour_bar_trace(DIVERGING, -limit, limit, unit or say("cosine similarity"), [-limit, 0, limit]),
    ]  # fmt: skip
    boxes = patch_outline(patch, grid, "#fff", 5) + patch_outline(
        patch, grid, INK_COLOURS["light"]["text"], 2
    )  # seen on the darkest red, too
    return figure(parts, title, mode, height_px, size=size, shapes=boxes, **_counted(grid))


def _name(grid: Grid, patch: int) -> str:
    row, col = grid.row_col(patch)
    return say("Position (row {row}, column {col})", row=row, col=col)


def _counted(grid: Grid) -> dict[str, Any]:
    """Axes that count patches from 0, as all of this app (the paper's count from 1), and room for their numbers."""

    def axis(count: int, title: str) -> FigurePart:
        some = range(0, count, max(1, round(count / 6)))
        ticks = {"tickvals": [i + 0.5 for i in some], "ticktext": [str(i) for i in some]}
        return {"visible": True, "showgrid": False, "title": {"text": title}, "tickangle": 0} | ticks

    x, y = axis(grid.cols, say("input patch column")), axis(grid.rows, say("input patch row"))
    return {"x": x, "y": y, "margin": {"l": 50, "b": 50}}
