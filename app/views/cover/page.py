"""Cover and see: patches are covered or removed, and the answer, rollout and class attention follow."""

from app import texts
from app.components.figure import aside
from app.shell import current_visit
from app.views.cover.cover_view import show_cover

text = texts.prose("cover")
aside(text["intro"])
vit = current_visit.load_visit(text, needs_attention=True, needs_colours=True).vit
show_cover(vit.name, text)
