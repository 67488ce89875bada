"""Attention explorer: point at a patch, and every head of a layer answers at once."""

from app import texts
from app.components.figure import aside
from app.furniture import controls
from app.views.attention.explorer_data import explore

text = texts.prose("attention")
first = aside(text["intro"])
vit, *_ = controls.current(needs=text["what"])
if vit.structure.axes:
    first.caption(text["axial"])
explore(vit.name, text)
