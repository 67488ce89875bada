"""The palettes of the theme are those that Plotly knows by the same names, to the byte: pictures on a page and on paper agree."""

import numpy as np
import pytest
from plotly.colors import get_colorscale, make_colorscale, sample_colorscale

from vitcore.figures import theme_colours


@pytest.mark.parametrize("name", theme_colours.PALETTES)
def test_a_palette_is_plotlys(name):
    known = make_colorscale(theme_colours.PALETTES[name]) if name == theme_colours.DIVERGING_DARK else get_colorscale(name)
    steps = sample_colorscale(known, np.linspace(0, 1, 256).tolist(), colortype="tuple")
    assert (theme_colours.colour_table(name) == np.round(255 * np.asarray(steps)).astype(np.uint8)).all()
