"""What photos are called: in the menus that choose one, in links, and by ImageNet."""

import re
from functools import lru_cache

import streamlit as st

from app import texts
from app.state.photos import sample_photos, uploaded_photo
from vitcore.report.gallery_and_imagenet_names import imagenet_name_sentence as told_of
from vitcore.translation import say, using_translation


def photo_ids_by_title(ids: list[str]) -> dict[str, str]:
    """A photo's id by its title in the visitor's language: a link that is copied holds the id, the same in every language."""
    return {title: one for one, title in photo_titles_by_id(texts.language(), ids).items()}


def photo_titles_by_id(lang: str, ids: list[str]) -> dict[str, str]:
    """What a person reads of these photos in a language."""
    common = texts.prose("common", lang)
    own = {uploaded_photo.PHOTO_ID: common["your photo"], uploaded_photo.SECOND_ID: common["your second photo"]}
    own |= {uploaded_photo.SAME_PHOTO: common["same photo"]}
    titles = own | {row["id"]: row["title"] for row in translated_samples(lang)}
    return {one: titles.get(one, one) for one in ids}


def match_photo_id(requested: str, ids: list[str]) -> str | None:
    """The id that somebody wrote with capitals or blanks ("Red Panda", "Rocket"); None where it is no photo, or its title."""
    one = "-".join(re.findall("[a-z0-9]+", requested.casefold()))
    if one not in ids or requested in ids or any(requested in photo_titles_by_id(lang, ids).values() for lang in texts.LANGUAGES):
        return None
    return one


@lru_cache(maxsize=len(texts.LANGUAGES))
def translated_samples(lang: str) -> list[dict[str, str]]:
    with using_translation(texts.translation_table(lang)):
        return [{"id": row["id"], "title": say(row["title"]), "alt": say(row["alt"])} for row in sample_photos.sample_photo_rows()]


def show_imagenet_name(labels: list[str]) -> None:
    """Below answers: that one of them is what the gallery calls otherwise."""
    row = next((row for row in sample_photos.sample_photo_rows() if row["id"] == st.session_state.get("photo")), {})
    place = st.empty()  # there for every photo: controls below it that moved up would drop out of the address
    if sentence := told_of(row, labels):
        place.caption(sentence)
