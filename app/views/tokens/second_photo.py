"""The second photo of the page Tokens: one of the gallery that is not the first."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import streamlit as st

from app import texts
from app.shell import photo_titles, query_controls
from app.state.photos import sample_photos
from app.state.recordings import recordings

if TYPE_CHECKING:
    from app.state.visit.visit import Visit
    from vitcore.forward.recording import Recording
    from vitcore.models.load_model import Vit

SECOND_PHOTO = "second_photo"
LIKELY = ("cat", "red-panda")  # the first of them that isn't the first photo is shown at first


class SecondPhoto(NamedTuple):
    """A photo of the gallery, by its id, and its title in the visitor's language."""

    sample: str
    title: str


def second_photo_menu(visit: Visit) -> SecondPhoto:
    """A menu of the gallery's photos without the first one."""
    ids = [row["id"] for row in sample_photos.samples() if row["id"] != visit.sample]
    usual = next(one for one in LIKELY if one in ids)
    ids = [usual, *(one for one in ids if one != usual)]
    if st.session_state.get(SECOND_PHOTO) not in (None, *ids):
        st.session_state[SECOND_PHOTO] = usual
    names = photo_titles.titles_by_id(texts.language(), ids)
    there = [photo_titles.titles_by_id(lang, ids) for lang in texts.LANGUAGES]
    sample = query_controls.select_menu(visit.texts["second photo"], names, SECOND_PHOTO, there, width=200)
    return SecondPhoto(sample, names[sample])


def second_recording(vit: Vit, second: SecondPhoto) -> Recording:
    """What one pass on the second photo left."""
    name = second.sample
    photo = sample_photos.open_cached(
        sample_photos.sample_digest(name), f"{name}.jpg", texts.language(), "", sample_photos.SAMPLES / f"{name}.jpg"
    )
    return recordings.recording(vit, photo)
