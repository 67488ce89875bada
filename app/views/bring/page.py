"""Bring your model: a file or an id of the hub, what is found in it, what is left to ask, and opening it for every page."""

from app import texts
from app.views.bring import inspection_view, upload_form

text = texts.prose("bring")
upload_form.show_form(text)
inspection_view.show_inspection(text)
