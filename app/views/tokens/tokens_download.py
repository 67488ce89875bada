"""The colours of one layer to take along: both photos as they are drawn, and the numbers behind them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from app.components.figure import downloads
from app.state import step_animations
from app.state.recordings import recordings, token_features
from app.widgets import outlier_masking
from vitcore import figures

if TYPE_CHECKING:
    from app.views.tokens.tokens_message import TokensVisit


def download_button(visit: TokensVisit) -> None:
    """The principal components of the layer that is chosen."""
    both, grid, mode, layer, mask = visit.both, visit.grid, visit.mode, visit.layer, visit.is_masked
    colours, first, share = token_features.components_of_layer(*both, visit.source, mask, visit.whiten, layer)
    photos = [recordings.input_picture(one)[0] for one in both]
    names = (visit.recording.photo.name, visit.second_title)
    title = outlier_masking.masked_title(visit.texts["title colours"].format(layer=layer), mask)
    moving = partial(
        step_animations.token_animation, visit.vit.name, visit.photo.key, visit.second.photo.key, visit.source, mask, visit.whiten,
        visit.texts["film title"], mode,
    )  # fmt: skip
    downloads(
        lambda: figures.token_colours(colours, photos, grid, names, title, mode), "tokens", subjects=visit.subjects,
        file_stem=f"token colours layer {layer}", colours=colours, first_component=first, share_of_variance=share,
        animation=moving,
    )  # fmt: skip
