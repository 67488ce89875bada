"""The pickers pages share, each bound to the address bar: photo, model, and numbers that stay in range."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import streamlit as st

from app import session, texts
from app.components.gallery import gallery
from app.components.picture import scale_bar
from app.components.theme import follow

if TYPE_CHECKING:
    from vitcore.images import Photo
    from vitcore.recording import Recording
    from vitcore.zoo import Vit

TYPES = ["image", "heic", "heif"]  # the file picker's filter; what can be shown is for `open_photo` to say


def sane_address() -> None:
    """Take out of the address what Streamlit 1.67 stumbles over before a control can refuse it: nothing, and infinity."""
    senseless = [key for key, value in st.query_params.items() if not value or _infinite(value)]
    for key in senseless:
        del st.query_params[key]
    if senseless:
        st.rerun()


def _infinite(text: str) -> bool:
    try:
        return math.isinf(float(text))
    except ValueError:
        return False


def sidebar(pickers: bool = True) -> None:
    """The photo and the model, on every page that shows them."""
    with st.sidebar:
        if pickers:
            _photo_picker()
            _model_picker()
        texts.menu()
        follow(theme(), key="theme", target="_mode")


def _photo_picker() -> None:
    rows = session.samples()
    own_photo = session.upload()
    names = [row["id"] for row in rows] + ([session.UPLOAD] if own_photo else [])
    if st.session_state.get("photo", names[0]) not in names:
        st.session_state["photo"] = rows[0]["id"]  # a shared link can't carry somebody's upload
    chosen = st.selectbox("Photo", names, key="photo", bind="query-params", help="A link keeps this name.")
    look, own, camera = st.tabs(["Gallery", "Upload", "Camera"])
    with look:
        gallery(
            [{k: row[k] for k in ("id", "title", "alt")} | {"image": session.thumbnail(row["id"])} for row in rows],
            chosen, key="gallery", target="photo",
        )  # fmt: skip
    with own:
        if own_photo:
            st.caption(f"{session.UPLOAD} is {verbatim(own_photo[1])}")
        st.file_uploader("Drop in a photo", TYPES, key="file", on_change=_take, args=("file",), max_upload_size=25)
    with camera:
        if st.toggle("Use the camera", key="camera_on"):
            st.camera_input("Take a picture", key="camera", on_change=_take, args=("camera",))
    problem, shown = st.session_state.get("_photo_problem") or (None, None)
    if problem and shown == chosen:  # once another photo is chosen it is old news
        st.error(verbatim(problem), icon=":material/broken_image:")


def verbatim(text: str) -> str:
    """Text with a stranger's words in it (a file's name, a model's), as Markdown that shows just that."""
    return re.sub(r"([\\`*_{}\[\]()#+!|<>~:$&-])", r"\\\1", text)


def _take(key: str) -> None:
    """A file or a snapshot has come in: show it if it can be shown, else say why not and change nothing."""
    given = st.session_state[key]
    st.session_state["_photo_problem"] = None
    if given is not None:
        name = "Your snapshot" if key == "camera" else given.name
        problem = session.choose_upload(given.getvalue(), name)
        if problem is None:
            st.session_state["photo"] = session.UPLOAD
        else:
            st.session_state["_photo_problem"] = problem, st.session_state["photo"]


def _model_picker() -> None:
    cards = session.menu()
    name = st.selectbox(
        "Model", list(cards), format_func=lambda n: cards[n].title if n in cards else n, key="model",
        bind="query-params", accept_new_options=True, on_change=session.forget_model_errors,
        help="Or type the name of any Vision Transformer of timm's.",
    )  # fmt: skip
    if card := cards.get(name):
        st.caption(f"{card.line}  \nGood for {card.good_for}.")


def current(block: int = 0) -> tuple[Vit, Photo, Recording]:
    """The model, the photo and the recording the page shows; says on the page what went wrong and what was done."""
    waiting = st.empty()

    def progress(done: int, total: int) -> None:
        waiting.progress(done / max(total, 1), f"Downloading the model: {done / 1e6:.0f} of {total / 1e6:.0f} MB")

    with st.spinner("Loading the model"):  # seen when it takes a while: the first time, or a download
        vit = session.vit(progress)
    waiting.empty()
    if problem := session.model_error():
        st.warning(verbatim(problem), icon=":material/cloud_off:")
        st.button("Try again", on_click=session.forget_model_errors, icon=":material/refresh:")
    photo = session.photo()
    for note in photo.notes:
        st.caption(f":material/info: {note}")
    return vit, photo, session.recording(vit, photo, min(block, vit.blocks - 1))


def span(seconds: float) -> str:
    """Seconds as a person says them."""
    from vitcore.train.runs import readable_time

    return readable_time(seconds)


def theme() -> Any:
    """ "light" or "dark", as the visitor sees the page."""
    return st.session_state.get("_mode") or st.context.theme.type or "light"


def number(label: str, key: str, count: int, start: int = 0, **options: Any) -> int:
    """A whole number 0…count−1 kept in range when model or photo change, and kept in the address bar."""
    if key in st.session_state and not 0 <= (st.session_state[key] or 0) < count:
        st.session_state[key] = start
    return int(st.number_input(label, 0, count - 1, start, key=key, step=1, bind="query-params", **options))


def slider(label: str, key: str, low: int, high: int, start: int, **options: Any) -> int:
    """A slider low…high kept in range and in the address bar; nothing to choose when low equals high."""
    if low >= high:
        return low
    if key in st.session_state and not low <= st.session_state[key] <= high:
        st.session_state[key] = start
    return int(st.slider(label, low, high, start, key=key, bind="query-params", **options))


def averaged(vit: Vit, photos: list[tuple[str, bytes]]) -> session.Average | None:
    """Mean distances over photos, with a progress bar and a way to stop; None while there are none."""
    if not photos:
        return None
    mean = session.average(vit, photos)
    if mean.stopped:
        st.button("Go on", icon=":material/play_arrow:", on_click=setattr, args=(mean, "stopped", False))
    elif mean.done < mean.photos:
        bar, stop = st.progress(mean.done / mean.photos, "Looking at photos"), st.empty()
        stop.button("Stop", icon=":material/stop:", on_click=setattr, args=(mean, "stopped", True))
        for done in session.go_on(vit, photos, mean):
            bar.progress(done / mean.photos, f"{done} of {mean.photos} photos")
        bar.empty()
        stop.empty()
    return mean if mean.images else None


def choice(text: texts.Prose, key: str, options: list[str], default: str | None = None, **more: Any) -> str:
    """A row of buttons named in the visitor's language: label `text[key]`, names `text["key.option"]`; bound to the URL.

    The address bar holds the name that is read on the page; a link in another language, or with the option itself, works too.
    """
    names = {option: text[f"{key}.{option}"] for option in options}
    given = st.query_params.get(key)
    if given is not None and given not in names.values() and (meant := _meant(text, key, options, given)):
        st.session_state[key] = meant
    chosen = st.segmented_control(
        text[key], options, format_func=lambda option: names.get(option, option), default=default or options[0],
        required=True, key=key, bind="query-params", **more,
    )  # fmt: skip
    return str(chosen)


def _meant(text: texts.Prose, key: str, options: list[str], given: str) -> str | None:
    """The option that is called `given` in some language."""
    for lang in texts.LANGUAGES:
        there = texts.prose(text.page, lang)
        for option in options:
            if given in (option, there.get(f"{key}.{option}")):
                return option
    return None


def scale_strip(scale: str, low: float, high: float, unit: str, key: str) -> None:
    """A colour bar under a picture, with numbers at its ends and a unit."""
    from vitcore.figures.theme import lut

    stops = ["#" + bytes(rgb).hex() for rgb in lut(scale)[::32]] + ["#" + bytes(lut(scale)[255]).hex()]
    scale_bar(stops, f"{low:.3g}", f"{high:.3g}", unit, key=key)
