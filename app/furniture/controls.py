"""The pickers pages share, each bound to the address bar: photo, model, and numbers that stay in range."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import streamlit as st

from app import mode, selection, texts
from app.address import respell
from app.components.gallery.gallery import gallery
from app.components.lecture.lecture import wide
from app.components.picture.picture import scale_bar
from app.components.theme.theme import follow
from app.furniture import missing, model_card, photo_names
from app.state import models, session
from app.state.beside import second
from app.state.memory import budget, visitors
from app.texts import verbatim as verbatim
from vitcore.translation import say

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from vitcore.figures.theme import Scale
    from vitcore.forward.recording import Recording
    from vitcore.grid import Grid
    from vitcore.images import Photo
    from vitcore.models.load_model import Vit

LAST = 10**6  # the block that is asked for, to be given the last one there is
TYPES = ["image", "heic", "heif"]  # the file picker's filter; what can be shown is for `open_photo` to say


def sidebar(pickers: bool = True) -> None:
    """The photo and the model, on every page that shows them."""
    with st.sidebar:
        texts.menu()  # before the gallery: who can't read a page looks for it first
        if pickers:
            _photo_picker()
            _model_picker()
        follow(
            theme(),
            key="theme",
            target="_mode",
            lang=texts.language(),
            mend=[*session.model_misnamed(), *second.misnamed()],
            ticket=visitors.ticket(),
        )


def _photo_picker() -> None:
    text, rows = texts.prose("common"), session.samples()
    own_photo = session.upload()
    ids = [row["id"] for row in rows] + ([session.UPLOAD] if own_photo else [])
    if near := photo_names.nearly(st.query_params.get("photo", ""), ids):
        respell("photo", near, near)
    missing.look_for_photo(
        ids, lambda: {title for lang in texts.LANGUAGES for title in photo_names.called(lang, ids).values()}
    )
    if st.session_state.get("photo", ids[0]) not in ids:
        st.session_state["photo"] = rows[0]["id"]
    chosen = photo_menu(text["photo"], ids, "photo", help=text["photo help"])
    named = own_photo and text["own photo"].format(id=text["your photo"], name=verbatim(own_photo[1]))
    with st.empty():  # always there: tabs that move down fall back to their first
        if named and chosen == session.UPLOAD:
            st.caption(named)
    look, own, camera = st.tabs([text["gallery"], text["upload"], text["camera"]])
    with look:
        photos(chosen, key="gallery")
    with own:
        if named and chosen != session.UPLOAD:
            st.caption(named)
        uploader("file")
    with camera:
        if st.toggle(text["use camera"], key="camera_on"):
            st.camera_input(text["take picture"], key="camera", on_change=_take, args=("camera",))
    _say_what_was_wrong("camera")


def photos(chosen: str, *, key: str) -> None:
    """The sample photos, small; a click chooses one."""
    rows = photo_names.tiles(texts.language())
    images = [session.thumbnail(row["id"]) for row in rows]
    gallery(rows, images, chosen, key=key, target="photo", label=texts.prose("common")["samples"])


def uploader(key: str) -> None:
    """Where a visitor drops in a photo, and what was wrong with the last one that was dropped here."""
    text = texts.prose("common")
    name_the_button()
    from vitcore.images import MAX_BYTES, MAX_JPEG_PIXELS, MAX_PIXELS

    mega = {"mb": MAX_BYTES // 2**20, "most": MAX_PIXELS // 10**6, "jpeg": MAX_JPEG_PIXELS // 10**6}
    st.file_uploader(text["drop"], TYPES, key=key, on_change=_take, args=(key,), max_upload_size=mega["mb"])
    st.caption(text["drop limits"].format(**mega))
    if st.session_state.get("photo") == session.UPLOAD and (mine := session.upload()):
        st.caption(text["drop shown"].format(name=verbatim(mine[1])))
    _say_what_was_wrong(key)


def name_the_button() -> None:
    """The word on the buttons of all uploaders of a page, in the visitor's language: Streamlit has no setting for it."""
    if texts.language() != texts.DEFAULT:
        word = "[data-testid=stFileUploaderDropzone] > span button [data-testid=stMarkdownContainer] p"
        said = texts.prose("common")["upload"]
        st.html(f'<style>{word} {{ font-size: 0 }} {word}::after {{ content: "{said}"; font-size: 1rem }}</style>')


def _say_what_was_wrong(key: str) -> None:
    problem, shown, where = st.session_state.get("_photo_problem") or (None, None, None)
    if problem and where == key and shown == st.session_state.get("photo"):  # once another is chosen it is old news
        st.error(verbatim(problem), icon=":material/broken_image:")


def _take(key: str) -> None:
    """A file or a snapshot has come in: show it if it can be shown, else say why not and change nothing."""
    given = st.session_state[key]
    st.session_state["_photo_problem"] = None
    if given is not None:
        name = texts.prose("common")["snapshot"] if key == "camera" else given.name
        problem = session.choose_upload(given.getvalue(), name)
        if problem is None:
            st.session_state["photo"] = session.UPLOAD
        else:
            st.session_state["_photo_problem"] = problem, st.session_state["photo"], key


def _model_picker() -> None:
    text, cards = texts.prose("common"), models.menu()
    session.name_the_model_there_is()
    titles = {card.title for card in cards.values()}
    said = st.session_state.get("model") or st.query_params.get("model")
    asked = missing.model_meant(said, titles)
    if asked is not None and asked != said:
        if "model" in st.session_state:
            st.session_state["model"] = asked
        else:
            respell("model", asked, cards[asked].title if asked in cards else asked)
    # one that is not in the menu stays chosen: `current` gets it, or says why not
    strange = {asked} - {None, *cards, *titles}
    name = st.selectbox(
        text["model"], [*cards, *strange], key="model", bind="query-params",
        format_func=lambda n: cards[n].title if n in cards else n, on_change=session.forget_model_errors,
        accept_new_options=mode.allows("downloads"), help=text["model help" if mode.allows("downloads") else "off downloads"],
        placeholder=text["choose one"],
    )  # fmt: skip
    if card := cards.get(name or ""):
        good = text["good for"].format(what=say(card.good_for)) if card.good_for else model_card.own()
        st.caption(f"{card.line}  \n{good}")
        model_card.chip(card)
        with st.popover(text["about model"], icon=":material/info:", width="stretch"):
            model_card.show(card)
            st.page_link("views/card/page.py", label=text["whole card"], icon=":material/id_card:")


def current(
    block: int | None = None,
    needs: str = "",
    record: Callable[..., Recording] = session.recording,
    waits: DeltaGenerator | None = None,
) -> tuple[Vit, Photo, Recording]:
    """The model, the photo and the recording the page shows; says on the page what went wrong and what was done.

    `record` makes the recording, or has it already. A page that `needs` attention over one grid (its picture, in the reader's
    language) says why and stops where there is none. `waits` is where it says that the model is loaded: here, unless told.
    """
    vit = model(waits)
    if needs and not vit.is_global:
        not_defined(vit, needs)
        st.stop()
    photo = session.photo()
    for note in photo.notes:
        st.caption(f":material/info: {verbatim(note)}")
    try:
        return vit, photo, record(vit, photo, None if block is None else min(block, vit.blocks - 1))
    except budget.NoRoomError:
        st.warning(texts.prose("common")["no room now"], icon=":material/memory:")
        st.stop()


def model(waits: DeltaGenerator | None = None) -> Vit:
    """The model the page shows; says on the page what went wrong, and what is shown instead, and in `waits` that it is loaded."""
    waits, text = waits or st.container(), texts.prose("common")
    waiting = waits.empty()

    def progress(done: int, total: int) -> None:
        waiting.progress(done / max(total, 1), text["downloading"].format(done=done / 1e6, total=total / 1e6))

    with waits, st.spinner(text["loading"]):  # seen when it takes a while: the first time, or a download
        vit = session.vit(progress)
    waiting.empty()
    if session.model_failed():
        st.rerun()  # the picker was drawn before it was known
    if problem := session.model_error():
        st.warning(verbatim(problem), icon=":material/cloud_off:")
        st.button(text["try again"], on_click=session.try_model_again, icon=":material/refresh:")
    return vit


def not_defined(vit: Vit, what: str) -> None:
    """Say in one sentence why a picture is not defined for this model."""
    st.info(verbatim(vit.why_not(what)), icon=":material/info:")


def span(seconds: float) -> str:
    """Seconds as a person says them."""
    from vitcore.train.run_folder import readable_time

    return readable_time(seconds)


def readout(vit: Vit) -> str:
    """Where the model's answer is read, in the visitor's language."""
    return say(vit.readout)


def theme() -> Any:
    """ "light" or "dark", as the visitor sees the page."""
    return st.session_state.get("_mode") or st.context.theme.type or "light"


def number(label: str, key: str, count: int, start: int = 0, **options: Any) -> int:
    """A whole number 0…count−1 kept in range when model or photo change, and kept in the address bar."""
    in_range(key, 0, count - 1, start)
    value = st.number_input(label, 0, count - 1, start, key=key, step=1, bind="query-params", **_as_wide(options))
    return int(selection.noted(key, int(value), start))


def slider(label: str, key: str, low: int, high: int, start: int, **options: Any) -> int:
    """A slider low…high kept in range and in the address bar; nothing to choose when low equals high."""
    if low >= high:
        return low
    in_range(key, low, high, start)
    value = st.slider(label, low, high, start, key=key, bind="query-params", **_as_wide(options))
    return int(selection.noted(key, int(value), start))


def in_range(key: str, low: int, high: int, start: int | None) -> None:
    """What was chosen for another model, or on another page, may not be there in this one."""
    if (
        key in st.session_state
        and (kept := st.session_state[key]) != start
        and (kept is None or not low <= kept <= high)
    ):
        st.session_state[key] = start
        selection.drop(key)


def patch(label: str, grid: Grid, **options: Any) -> int:
    """The patch that all pages share, by its number from 0."""
    return number(label, selection.PATCH, grid.patches, grid.middle, **options)


def layer(label: str, vit: Vit, start: int, **options: Any) -> int:
    """A slider of the model's layers, which all pages share; it says how they are counted."""
    last = vit.blocks - 1
    helps = texts.prose("common").fill("layer help", last=last)
    return slider(label, selection.LAYER, 0, last, start, help=helps, **options)


def head(label: str, count: int, mean: str, **options: Any) -> int | None:
    """A menu of the heads of a layer, which all pages share; None is their `mean`."""
    in_range(selection.HEAD, 0, count - 1, None)
    chosen: int | None = st.selectbox(
        label, range(count), None, key=selection.HEAD, bind="query-params", placeholder=mean, **_as_wide(options)
    )
    selection.noted(selection.HEAD, chosen, None)
    return chosen


def choice(
    text: texts.Prose, key: str, options: list[str], default: str | None = None, called: str = "", **more: Any
) -> str:
    """A row of buttons named in the visitor's language: label `text[key]`, names `text["key.option"]`; bound to the URL.

    The address bar holds the name that is read on the page; a link in another language, or with the option itself, works too.
    A second control of the same kind has a key of its own and is `called` as the first.
    """
    called = called or key
    names = {option: text[f"{called}.{option}"] for option in options}
    given = st.query_params.get(key)
    if given is not None and given not in names.values() and (meant := _meant(text, called, options, given)):
        respell(key, meant, names[meant])
    chosen = st.segmented_control(
        text[called], options, format_func=lambda option: names.get(option, option), default=default or options[0],
        required=True, key=key, bind="query-params", **more,
    )  # fmt: skip
    return str(chosen)


def named(label: str, names: dict[str, str], key: str, others: list[dict[str, str]] | None = None, **more: Any) -> str:
    """A menu of names by what they name, bound to the URL; `others` are the names a link in another language may hold."""
    given = st.query_params.get(key)
    if given is not None and given not in names.values():
        meant = [
            name
            for there in [{name: name for name in names}, *(others or [])]
            for name in names
            if there.get(name) == given
        ]
        if meant:
            respell(key, meant[0], names[meant[0]])
    shown = _as_wide(more) | {"format_func": lambda name: names.get(name, name)}
    return st.selectbox(label, list(names), key=key, bind="query-params", **shown)


def photo_menu(label: str, ids: list[str], key: str, **more: Any) -> str:
    """A menu of photos by their titles; a link with an id, or with the title in another language, works too."""
    every = [photo_names.called(lang, ids) for lang in texts.LANGUAGES]
    return named(label, photo_names.called(texts.language(), ids), key, every, **more)


def _as_wide(options: dict[str, Any]) -> dict[str, Any]:
    """Options of a control whose width, if it is in px, goes with the size of the page's type."""
    width = options.get("width")
    return options | {"width": wide(width)} if isinstance(width, int) else options


def _meant(text: texts.Prose, key: str, options: list[str], given: str) -> str | None:
    """The option that is called `given` in some language."""
    for lang in texts.LANGUAGES:
        there = texts.prose(text.page, lang)
        for option in options:
            if given in (option, there.get(f"{key}.{option}")):
                return option
    return None


def bar(scale: Scale, key: str) -> None:
    """The colour bar of a map on a photo."""
    scale_strip(scale.colours, scale.low, scale.high, scale.unit, key)


def scale_strip(scale: str, low: float, high: float, unit: str, key: str) -> None:
    """A colour bar under a picture, with numbers at its ends and a unit."""
    from vitcore.figures.theme import stops

    least, most = (f"{end:.3g}".replace("-", "−") for end in (low, high))
    scale_bar(stops(scale), least, most, unit, key=key)
