"""Colour bars below a picture: the colours of a scale, numbers at both ends and the unit."""

from app.components.picture.picture import scale_bar
from vitcore.figures.theme import ColourScale, gradient_stops


def map_scale_bar(scale: ColourScale, key: str) -> None:
    """The colour bar of a map on a photo."""
    colour_strip(scale.colours, scale.low, scale.high, scale.unit, key)


def colour_strip(scale: str, low: float, high: float, unit: str, key: str) -> None:
    """A colour bar under a picture, with numbers at its ends and a unit."""
    least, most = (f"{end:.3g}".replace("-", "−") for end in (low, high))
    scale_bar(gradient_stops(scale), least, most, unit, key=key)
