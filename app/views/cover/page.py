"""Cover and see: patches are covered or removed, and the answer, rollout and class attention follow."""

from app import texts
from app.components.figure import text_before_picture
from app.shell import load_page_visit
from app.views.cover.cover_controls_and_picture import show_cover

text = texts.prose("cover")
text_before_picture(text["intro"])
vit = load_page_visit.load_visit(text, needs_attention=True, needs_colours=True).vit
show_cover(vit.name, text)
