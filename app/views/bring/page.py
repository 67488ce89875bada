"""Bring your model: a file or an id of the hub, what is found in it, what is left to ask, and opening it for every page."""

from app import texts
from app.state.models import uploaded_model
from app.views.bring import inspection_section, preview_pictures, upload_form

text = texts.prose("bring")
upload_form.show_upload_form(text)
if nothing_yet := uploaded_model.current_uploaded_model() is None:
    preview_pictures.show_preview_pictures(text)
upload_form.show_hub_form(text)
inspection_section.show_inspection(text)
if not nothing_yet:
    preview_pictures.show_preview_pictures(text)
