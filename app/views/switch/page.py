"""Switch off: heads, attention, MLPs and tokens are switched off, every head is tried, and tokens of two photos are swapped."""

from app import texts
from app.components.figure import text_before_picture
from app.shell import load_page_visit
from app.views.switch.patching_section import show_patching
from app.views.switch.switch_controls_and_picture import show_switches

text = texts.prose("switch")
vit = load_page_visit.load_visit(text, needs_attention=True).vit
text_before_picture(text["intro"])
show_switches(vit.name, text)
if vit.labels:
    show_patching(vit.name, text)
