"""The visit that a page is handed: its model, photo and recording, loaded here; it says on the page what went wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

import vitcore
from app import texts
from app.components import light_or_dark
from app.shell import photo_picker
from app.state.memory import memory_cache
from app.state.models import loaded_models
from app.state.recordings import cached_recordings
from app.state.visit import current_model, current_photo
from app.state.visit.visit import Visit
from app.texts import Prose, escape_markdown
from vitcore.images import Photo
from vitcore.models.vit import Vit, check_bands

LAST_BLOCK = 10**6  # the block that is asked for, to be given the last one there is


def load_visit(
    text: Prose, block: int | None = None, needs_attention: bool = False,
    record: Callable[..., vitcore.Recording] = cached_recordings.cached_recording, needs_colours: bool = False,
) -> Visit:  # fmt: skip
    """The model, the photo and the recording that the page with these texts shows; says what went wrong and what was done.

    `record` makes the recording. `needs_attention`: of attention over one grid; the page says why and stops where there is
    none. `needs_colours`: of the model's pictures.

    Raises: ModelError, for a model of other bands where a page `needs_colours`; PhotoError, for a photo of others than it reads.
    """
    vit = load_model_or_show_problem()
    if needs_attention and not vit.is_global:
        show_undefined_picture(vit, text["what"])
        st.stop()
    if needs_colours:
        check_bands(vit, 3)
    photo = current_photo.load_photo(vit.bands)
    show_photo_notes(photo)
    if photo.bands is not None:
        photo_picker.bands_menu(vit.bands)
    try:
        rec = record(vit, photo, None if block is None else min(block, vit.blocks - 1))
    except memory_cache.MemoryBudgetError:
        st.warning(texts.prose("common")["no room now"], icon=":material/memory:")
        st.stop()
    return Visit(vit=vit, photo=photo, recording=rec, mode=light_or_dark.current_theme(), texts=text)


def show_photo_notes(photo: Photo) -> None:
    """What was decided on opening a photo."""
    for note in photo.notes:
        st.caption(f":material/info: {escape_markdown(note)}")


def load_fragment_visit(model: str, text: Prose) -> Visit:
    """The visit for a part of the page that runs on its own: of a model that is in memory, by its name."""
    vit = loaded_models.loaded_model(model)
    photo = current_photo.load_photo(vit.bands)
    return Visit(
        vit=vit,
        photo=photo,
        recording=cached_recordings.cached_recording(vit, photo),
        mode=light_or_dark.current_theme(),
        texts=text,
    )


def load_model_or_show_problem() -> Vit:
    """The model that the page shows, loaded; problems and progress are said on the page."""
    status_place = st.container()
    with (
        status_place,
        download_progress(status_place.empty(), quietly=current_model.loaded_model_or_none() is not None) as progress,
    ):
        vit = current_model.load_model(progress)
    if current_model.FIRST.needs_rerun:
        st.rerun()
    if problem := current_model.model_problem_sentence():
        show_model_problem(escape_markdown(problem), current_model.FIRST.try_again)
    return vit


@contextmanager
def download_progress(bar: DeltaGenerator, quietly: bool = False) -> Iterator[Callable[[int, int], None]]:
    """What draws in `bar` how much of a model is downloaded; unless `quietly` also a spinner, seen when loading takes a while."""
    text = texts.prose("common")

    def progress(done: int, total: int) -> None:
        bar.progress(done / max(total, 1), text["downloading"].format(done=done / 1e6, total=total / 1e6))

    with nullcontext() if quietly else st.spinner(text["loading"]):
        yield progress
    bar.empty()


def show_model_problem(sentence: str, try_again: Callable[[], None], key: str | None = None) -> None:
    """Why a model could not be had, and the way to ask for it again."""
    st.warning(sentence, icon=":material/cloud_off:")
    st.button(texts.prose("common")["try again"], on_click=try_again, icon=":material/refresh:", key=key)


def show_undefined_picture(vit: Vit, picture: str) -> None:
    """Say in one sentence why a picture is not defined for this model."""
    st.info(escape_markdown(vit.why_undefined(picture)), icon=":material/info:")
