"""What can be taken away, and what is cached of it: handouts, films, the ZIP file of many photos, the link to this page."""

from __future__ import annotations

import contextlib
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import streamlit as st

from app import texts
from app.components.link.link import link
from app.state import budget, models, session, visitors
from vitcore.models.cards import DEFAULT

if TYPE_CHECKING:
    from vitcore.forward.recording import Recording
    from vitcore.images import Photo
    from vitcore.models.zoo import Vit
    from vitcore.report.bundle import Bundle
    from vitcore.report.model import ModelSide
    from vitcore.report.settings import Settings

MOST_PHOTOS = 100
MOST_ZIP_BYTES = 300 * 2**20  # on disk, one a visitor


# One photo


@budget.kept
def model_side(model: str, _vit: Vit) -> ModelSide:
    """What reports say of a model whatever the photo."""
    from vitcore.report.model import look_at

    return look_at(_vit)


@budget.kept
def handout(
    model: str,
    key: str,
    settings: Settings,
    lang: str,
    address: str,
    lacking: str,
    name: str,
    _vit: Vit,
    _rec: Recording,
) -> bytes:
    """The handout of a photo and a model, made once."""
    from vitcore.report.handout import handout as made
    from vitcore.report.settings import Origin

    credit = _credit(name)
    file = f"assets/samples/{name}.jpg" if credit else _rec.photo.name
    origin = Origin(address=address, lacking=lacking, credit=credit, file=file, lang=lang)
    return made(_vit, _rec, settings, origin, model_side(model, _vit))


@budget.kept
def film(model: str, key: str, settings: Settings, lang: str, kind: str, _vit: Vit, _rec: Recording) -> bytes:
    """Rollout through the layers as an animation, made once."""
    from vitcore.report.animation import animation

    return animation(_vit, _rec, settings, kind)  # type: ignore[arg-type]


@budget.kept
def still(model: str, key: str, settings: Settings, lang: str, _vit: Vit, _rec: Recording) -> Any:
    """The animation's last frame, for who wants nothing to move."""
    from vitcore.report.animation import still as last

    return last(_vit, _rec, settings)


def _credit(name: str) -> dict[str, str]:
    """The gallery's row of a photo; nothing for one that a visitor brought."""
    return next((row for row in session.samples() if row["id"] == name), {})


def stem(name: str) -> str:
    """A photo's name as the beginning of a file's."""
    from vitcore.report.bundle import slug

    return slug(name)


# What comes along from the rollout's page


SETTINGS = ("fusion", "discard", "residual", "first", "ask", "query")


def remember(slug: str) -> None:
    """After a page: where the visitor is, and the rollout's settings there; Streamlit forgets controls of a page that is left."""
    if slug in ("rollout", "report"):
        st.session_state["_rollout"] = {key: st.session_state[key] for key in SETTINGS if key in st.session_state}
        st.session_state["_rollout_address"] = {key: st.query_params[key] for key in SETTINGS if key in st.query_params}
    st.session_state["_page"] = slug


def recall(slug: str) -> None:
    """On the way in, before the settings are drawn: what they were when they were last seen."""
    if st.session_state.get("_page") != slug:
        st.session_state.update(st.session_state.get("_rollout", {}))
        for key, value in st.session_state.get("_rollout_address", {}).items():
            with contextlib.suppress(st.errors.StreamlitAPIException):  # bound already: Streamlit writes it
                st.query_params[key] = value


# The link


def lacking(text: texts.Prose, slug: str) -> str:
    """What the address of this page can't carry to somebody else, in a sentence or two; empty when it carries all."""
    state, said = st.session_state, []
    looks = slug not in ("train", "learn")
    if looks and state.get("photo") == session.UPLOAD and session.upload():
        said.append(text["lacks photo"])
    here = state.get("model") if looks else state.get("film") if slug == "learn" else f"runs/{state.get('run') or ''}"
    if str(here or "").startswith("runs/") and here != "runs/":
        said.append(text["lacks model"] if looks else text["lacks run"])
    return " ".join(said)


def share(slug: str) -> None:
    """Under a page's title: the button that copies its address, and the way to the handout."""
    text = texts.prose("report")
    note = lacking(text, slug)
    with st.container(horizontal=True, key="share", width="content", vertical_alignment="center", gap="small"):
        link(text["copy"], text["copied"], text["copy failed"], text["address"], note, key="copy_link")
        if slug not in ("report", "train", "learn"):
            st.page_link("views/report/page.py", label=text["to handout"], icon=":material/print:")


def address(settings: Settings) -> str:
    """Where the report of this photo and model is in this app, with the rollout's settings; empty when nobody knows."""
    here = st.context.url
    if not here:
        return ""
    usual = {"photo": session.samples()[0]["id"], "model": DEFAULT}
    chosen = {key: st.session_state.get(key) for key in usual}
    asked = {key: value for key, value in chosen.items() if value and value not in (usual[key], session.UPLOAD)}
    rollout = {
        "fusion": settings.fusion if settings.fusion != "mean" else None, "discard": round(100 * settings.discard) or None,
        "residual": round(100 * settings.residual) if settings.residual != 0.5 else None, "first": settings.first_block or None,
        "ask": "true" if settings.patch is not None else None, "query": settings.patch,
    }  # fmt: skip
    asked |= {key: str(value) for key, value in rollout.items() if value is not None}
    return here.partition("?")[0] + (f"?{urlencode(asked)}" if asked else "")


# Many photos


@dataclass(eq=False)
class Batch:
    """A visitor's ZIP file, in progress or done. It grows on disk; what is in memory is one photo at a time."""

    photos: list[tuple[str, bytes]]
    file: Any
    bundle: Bundle
    total: int
    credited: bool  # photos of the gallery, whose credits are known
    done: int = 0
    stopped: bool = False
    size: int = 0  # bytes, once it is finished
    full: str = ""  # why it ended early
    turn: int = 0  # of the page's runs that went on with it; only the newest may
    lock: Any = field(default_factory=threading.Lock)

    @property
    def finished(self) -> bool:
        """Whether it can be downloaded."""
        return self.size > 0

    def finish(self) -> None:
        """Close the file with what is in it."""
        with self.lock:
            if not self.finished and self.bundle.photos:
                self.turn += 1
                self.bundle.close()
                self.size, self.photos = self.file.seek(0, 2), []
                self.bundle.vit = None  # type: ignore[assignment]  # a file that is finished keeps no model from making way

    def data(self) -> bytes:
        """The finished file."""
        with self.lock:
            self.file.seek(0)
            return bytes(self.file.read())


def batch() -> Batch | None:
    """This visitor's ZIP file, if one was begun."""
    return st.session_state.get("_batch")


def begin(model: str, photos: list[tuple[str, bytes]], settings: Settings, credited: bool) -> None:
    """Begin a ZIP file; the one there was is thrown away."""
    from vitcore.report.bundle import Bundle
    from vitcore.report.shelf import Zip

    discard()
    vit = models.loaded(model)
    some = photos[:MOST_PHOTOS]
    try:
        visitors.bring("batch", some)
    except budget.NoRoomError:
        st.session_state["_batch_problem"] = texts.prose("common")["no room photos"]
        return
    file = tempfile.TemporaryFile(prefix="inside-vit-")  # it ends with the visitor's session
    bundle = Bundle(vit, Zip(file, MOST_ZIP_BYTES), settings, texts.language(), model_side(vit.name, vit))
    st.session_state["_batch"] = Batch(some, file, bundle, len(some), credited)


def discard() -> None:
    """Throw this visitor's ZIP file away."""
    visitors.take_back("batch")
    old = st.session_state.pop("_batch", None)
    if old:
        with old.lock:
            old.turn += 1
            old.file.close()


def go_on(one: Batch) -> Iterator[int]:
    """Add one photo after another and finish; yields how many are done. Damaged photos are named and left out."""
    from vitcore.images import PhotoError, open_photo
    from vitcore.models.cards import ModelError
    from vitcore.report.settings import Origin
    from vitcore.report.shelf import FullError

    one.turn = mine = one.turn + 1
    for place, (name, data) in enumerate(one.photos[one.done :], start=one.done + 1):
        made, problem = None, ""
        try:
            photo: Photo = open_photo(data, name)
            credit = _credit(name.removesuffix(".jpg")) if one.credited else {}
            made = one.bundle.make(
                photo, Origin(credit=credit, file=f"assets/samples/{name}" if credit else photo.name)
            )
        except (PhotoError, ModelError) as error:
            problem = str(error)
        with one.lock:
            if one.turn != mine:  # the page began anew while this photo was looked at, and looks at it again
                return
            try:
                one.bundle.add(made) if made else one.bundle.fail(problem)
            except FullError as error:
                one.full = str(error)
                break
            one.done = place
        yield place
    one.finish()
    visitors.take_back("batch")
