"""Tokens: what the patch tokens hold, as colours, foreground or segments, and which patches are alike, also in a second photo."""

from app import texts
from app.components.figure import text_before_picture
from app.shell import load_page_visit
from app.views.tokens.tokens_controls_and_picture import show_tokens

text = texts.prose("tokens")
text_before_picture(text["intro"])
vit = load_page_visit.load_visit(text, needs_attention=True).vit
show_tokens(vit.name, text)
