"""The tiles of a model's positions, a tile of cosines for each, to point at; the colour bar is below."""

from typing import Any

from app.components import light_or_dark
from app.components.component_files import media_url
from app.components.picture.picture import colour_strip, picture
from app.state.models import model_weights
from vitcore.figures.theme_colours import diverging_palette
from vitcore.grid import Grid
from vitcore.models.vit import Vit


def tile_step(grid: Grid) -> int:
    """Every how many rows and columns a tile is shown, so that there are few."""
    return -(-max(grid.rows, grid.cols) // model_weights.FEW_TILES)


def show_position_tiles(
    vit: Vit, selected: int | None, label: str, scale_unit: str, place: str, *, key: str, scale_key: str, **more: Any
) -> None:
    """The tiles, under the address of `place`; `more` goes to the picture: what is read out and pointed at together."""
    grid, mode = vit.grid, light_or_dark.current_theme()
    tiles = media_url(model_weights.similarity_tiles_png(vit.name, mode), "image/png", place)
    picture(
        tiles, grid.rows, grid.cols, grid.step_px, key=key,
        target="patch", label=label, selected=selected, gutter_px=grid.patch_px / 8, lines=False, smooth=False, counted=True,
        **more,
    )  # fmt: skip
    colour_strip(diverging_palette(mode), -1, 1, scale_unit, scale_key)
