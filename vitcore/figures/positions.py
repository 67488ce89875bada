"""Position-embedding similarity drawn (arXiv 2010.11929 Fig. 7 centre): one tile of cosines per position."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitcore.figures.attention import patch_outline
from vitcore.figures.drawing import Axis, Drawing, HoverGrid, Margin, RasterLayer, picture_axes, row_or_column_axis
from vitcore.figures.theme_colours import INK_COLOURS, ColourScale, Mode, apply_colour_scale, diverging_palette, tile_mosaic
from vitcore.grid import Grid
from vitcore.translation import say

MARGIN = Margin(left=50, below=50)  # for the numbers of rows and columns


def similarity_mosaic(
    cosine: NDArray, grid: Grid, gutter: bool = True, side_px: int = 900, mode: Mode = "light"
) -> NDArray[np.uint8]:
    """(N, N) cosines as one RGBA picture of rows × cols tiles, about `side_px` wide."""
    zoom = max(1, round(side_px / (grid.rows * grid.rows)))
    rgb = apply_colour_scale(cosine, diverging_palette(mode), -1, 1).reshape(grid.patches, grid.rows, grid.cols, 3)
    return tile_mosaic(rgb, grid.cols, gutter=max(2, zoom * grid.rows // 8) if gutter else 0, zoom=zoom)


def position_similarity(cosine: NDArray, grid: Grid, mode: Mode = "light", subtitle: str = "", side_px: int = 900) -> Drawing:
    """Tile (r, c) is the cosine similarity of that position's embedding with every other's; −1 to 1."""
    size = (float(grid.cols), float(grid.rows))
    told = say("input patch row {row}, column {col}")
    text = [[told.format(row=r, col=c) for c in range(grid.cols)] for r in range(grid.rows)]
    scale = ColourScale(colours=diverging_palette(mode), low=-1, high=1, unit=say("cosine similarity"), ticks=(-1, -0.5, 0, 0.5, 1))
    return Drawing(
        title=say("Position-embedding similarity"), subtitle=subtitle, mode=mode, height_px=620, colour_scale=scale,
        rasters=[RasterLayer(similarity_mosaic(cosine, grid, side_px=side_px, mode=mode), size)], marks=[HoverGrid(text, size)],
        margin=MARGIN, **_counted_axes(grid),
    )  # fmt: skip


def position_similarity_tile(cosine: NDArray, grid: Grid, patch: int, mode: Mode = "light", title: str | None = None) -> Drawing:
    """One tile enlarged: cosine similarity of one position with all others."""
    return cosine_map(cosine[patch], grid, title or _name(grid, patch), mode, patch)


def cosine_map(
    values: NDArray, grid: Grid, title: str, mode: Mode = "light", patch: int | None = None,
    unit: str | None = None, limit: float = 1.0, height_px: int = 380,
) -> Drawing:  # fmt: skip
    """(N,) cosines, or what `unit` says, on the grid, ±`limit`, with the position they belong to outlined."""
    size = (float(grid.cols), float(grid.rows))
    cells = grid.to_map(values)
    told = say("row {row}, column {col}: {value}")
    text = [[told.format(row=r, col=c, value=f"{cells[r, c]:+.3f}") for c in range(grid.cols)] for r in range(grid.rows)]
    unit = unit or say("cosine similarity")
    # the rim is seen on the darkest red, too
    rim, line = patch_outline(patch, grid, "#fff", 5), patch_outline(patch, grid, INK_COLOURS["light"]["text"], 2)
    return Drawing(
        title=title, mode=mode, height_px=height_px,
        rasters=[RasterLayer(apply_colour_scale(cells, diverging_palette(mode), -limit, limit), size)],
        marks=[HoverGrid(text, size)], shapes=rim + line, margin=MARGIN, **_counted_axes(grid),
        colour_scale=ColourScale(colours=diverging_palette(mode), low=-limit, high=limit, unit=unit, ticks=(-limit, 0, limit)),
    )  # fmt: skip


def _name(grid: Grid, patch: int) -> str:
    row, col = grid.row_col(patch)
    return say("Position (row {row}, column {col})", row=row, col=col)


def _counted_axes(grid: Grid) -> dict[str, Any]:
    def axis(count: int, title: str) -> Axis:
        return row_or_column_axis(title, count, max(1, round(count / 6)))

    size = (float(grid.cols), float(grid.rows))
    return picture_axes(size, axis(grid.cols, say("input patch column")), axis(grid.rows, say("input patch row")))
