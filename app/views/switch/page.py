"""Switch off: heads, attention, MLPs and tokens are switched off, every head is tried, and tokens of two photos are swapped."""

from app import texts
from app.components.figure import aside
from app.shell import current_visit
from app.views.switch.patching_view import show_patching
from app.views.switch.switch_view import show_switches

text = texts.prose("switch")
vit = current_visit.load_visit(text, needs_attention=True).vit
show_switches(vit.name, text)
aside(text["intro"])
if vit.labels:
    show_patching(vit.name, text)
