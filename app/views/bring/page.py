"""Bring your model: a file or an id of the hub, what is found in it, what is left to ask, and opening it for every page."""

from app import texts
from app.state.models import uploaded_model
from app.views.bring import ghost_sheet, inspection_view, upload_form

text = texts.prose("bring")
upload_form.show_form(text)
if nothing_yet := uploaded_model.current() is None:
    ghost_sheet.show_ghost_sheet(text)
upload_form.show_hub_form(text)
inspection_view.show_inspection(text)
if not nothing_yet:
    ghost_sheet.show_ghost_sheet(text)
