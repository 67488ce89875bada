"""What is cached and remembered (the training runs are in runs.py): models, photos, recordings, prose, last good choices."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

from app import runs, texts
from vitcore.assets import asset
from vitcore.cards import CARDS, DEFAULT, ModelCard

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from PIL import Image

    from vitcore.analysis.filters import Components
    from vitcore.images import Photo
    from vitcore.recording import Recording
    from vitcore.zoo import Vit

SAMPLES = asset("samples")
UPLOAD = "your-photo"
KEEP_MAPS_MB = 48  # all heads of all blocks are kept when they fit in this; else one block at a time
NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}(?<!\.safetensors)")


@st.cache_data(max_entries=8, show_spinner=False)
def samples() -> list[dict[str, str]]:
    """The gallery's rows, from its credits file: id, title, alt, author, licence, source."""
    return json.loads((SAMPLES / "credits.json").read_text(encoding="utf-8"))


@st.cache_data(max_entries=64, show_spinner=False)
def thumbnail(sample: str, side_px: int = 112) -> str:
    """A small square of a sample photo as a data address."""
    import base64
    import io

    from PIL import Image, ImageOps

    file = io.BytesIO()
    ImageOps.fit(Image.open(SAMPLES / f"{sample}.jpg"), (side_px, side_px)).save(file, "WEBP", quality=72)
    return "data:image/webp;base64," + base64.b64encode(file.getvalue()).decode()


@st.cache_resource(max_entries=3, show_spinner=False)
def _vit(name: str) -> Vit:
    from vitcore import zoo

    run, _, written = name.partition("@")
    path = runs.model_of(run) if written else None  # everything kept of a run's model is kept under `runs/<id>@<time>`
    vit = zoo.load(path or name)
    return replace(vit, card=replace(vit.card, name=name)) if path else vit


@st.cache_data(max_entries=64, show_spinner=False)
def _sample_digest(name: str) -> str:
    return _digest((SAMPLES / f"{name}.jpg").read_bytes())


@st.cache_resource(max_entries=16, show_spinner=False)
def _photo(digest: str, name: str, lang: str, _data: bytes | Path) -> Photo:
    from vitcore.images import open_photo

    return open_photo(_data, name)


@st.cache_resource(max_entries=24, show_spinner=False)
def _recording(model: str, digest: str, block: int | None, _photo: Photo) -> Recording:
    from vitcore.recording import record

    vit = _vit(model)
    blocks = range(vit.blocks) if block is None else [block]
    return record(vit, _photo, maps=blocks, fusions=("mean", "max", "min"))


@st.cache_resource(max_entries=8, show_spinner=False)
def components(model: str) -> Components | None:
    """Principal components of a model's embedding filters, or of a hybrid's root convolution."""
    from vitcore import zoo
    from vitcore.analysis import filters

    vit = _vit(model)
    kernel = zoo.first_kernel(vit)
    return None if kernel is None else filters.components(kernel)


@st.cache_resource(max_entries=8, show_spinner=False)
def similarity(model: str, rows: int = 0, cols: int = 0, method: str = "paper") -> NDArray[np.float64] | None:
    """Cosines of a model's position embeddings (N, N), at its own grid or interpolated to rows × cols."""
    from vitcore import zoo
    from vitcore.analysis import positions

    vit = _vit(model)
    found = zoo.positions(vit)
    if found is None:
        return None
    return positions.similarity(zoo.resample_positions(vit, rows, cols, method) if rows else found)


@st.cache_data(max_entries=8, show_spinner=False)
def tiles_address(model: str) -> str:
    """The picture of all similarity tiles, as a data address."""
    from vitcore.figures.positions import tiles_picture
    from vitcore.figures.theme import data_uri

    cosine = similarity(model)
    assert cosine is not None, "only asked for models that have positions"
    return data_uri(tiles_picture(cosine, _vit(model).grid, gutter=False))


@st.cache_data(max_entries=64, show_spinner=False)
def shuffled_answers(model: str, digest: str, seed: int, _rec: Recording) -> list[list[tuple[str, float]]]:
    """Top 5 for the photo, for its patches shuffled, and for patches shuffled with their positions."""
    from vitcore import zoo
    from vitcore.analysis import patches
    from vitcore.recording import predict, top_classes

    vit = _vit(model)
    order = patches.shuffled(vit.grid.patches, seed)
    mixed = patches.join(patches.cut(_rec.seen.pixels, vit.grid)[order], vit.grid)
    answers = [_rec.logits, predict(vit, mixed)]
    if zoo.positions(vit) is not None:
        answers.append(predict(vit, mixed, order, move_positions=True))
    return [top_classes(logits, vit.labels) for logits in answers]


@dataclass
class Average:
    """Mean distances over photos, in progress or done: `total` is (2, L, H), dropped and renormalised."""

    photos: int
    done: int = 0
    images: int = 0
    total: Any = 0
    problems: list[str] = field(default_factory=list)
    stopped: bool = False
    turn: int = 0  # of the page's runs that went on with it; only the newest may

    @property
    def px(self) -> Any:
        """(2, L, H) mean distances over the photos so far."""
        return self.total / max(self.images, 1)


def average(model: Vit, photos: list[tuple[str, bytes]]) -> Average:
    """This visitor's average over these photos, as far as it has got."""
    key = (model.name, tuple(_digest(data) for _, data in photos))
    kept = st.session_state.setdefault("_averages", {})
    if key not in kept:
        kept.clear()  # one at a time: it is an array and a list of sentences
        kept[key] = Average(len(photos))
    return kept[key]


def go_on(model: Vit, photos: list[tuple[str, bytes]], mean: Average) -> Iterator[int]:
    """Add one photo after another to `mean`; yields how many are done."""
    import numpy as np

    from vitcore.images import PhotoError, open_photo
    from vitcore.recording import record

    mean.turn = mine = mean.turn + 1
    for place, (name, data) in enumerate(photos[mean.done :], start=mean.done + 1):
        found, problem = None, None
        try:
            rec = record(model, open_photo(data, name), fusions=())
            found = np.stack([rec.distance_px, rec.distance_renormalised_px])
        except PhotoError as error:
            problem = str(error)
        if mean.turn != mine:  # the page began anew while this photo was looked at, and looks at it again
            return
        if found is not None:
            mean.total, mean.images = mean.total + found, mean.images + 1
        else:
            mean.problems.append(str(problem))
        mean.done = place
        yield place


def sample_files() -> list[tuple[str, bytes]]:
    """The gallery's photos: (name, bytes)."""
    return [(f"{row['id']}.jpg", (SAMPLES / f"{row['id']}.jpg").read_bytes()) for row in samples()]


@st.cache_resource(max_entries=8, show_spinner=False)
def embeddings(model: str, digest: str, _rec: Recording) -> NDArray[np.float32]:
    """Patch embeddings (N, D) of what the model sees."""
    from vitcore.recording import embed

    return embed(_vit(model), _rec.seen.pixels)


@st.cache_resource(max_entries=12, show_spinner=False)
def shown(model: str, digest: str, _photo: Photo, _rec: Recording) -> tuple[Image.Image, str]:
    """What the model sees at the photo's own sharpness: a picture, and the same as a data address."""
    from vitcore.figures.attention import fitted
    from vitcore.figures.theme import data_uri
    from vitcore.images import sharp

    picture = fitted(sharp(_photo, _rec.seen))
    return picture, data_uri(_array(picture), photo=True)


@st.cache_resource(max_entries=64, show_spinner=False)
def kept(part: str, model: str, digest: str, mode: str, lang: str, _make: Callable[[], Any]) -> Any:
    """What `_make` made for this part of the landing page, model, photo, theme and language; nobody writes to it."""
    return _make()


def _array(picture: Image.Image) -> NDArray[np.uint8]:
    import numpy as np

    return np.asarray(picture)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def menu() -> dict[str, ModelCard]:
    """The models of the menu, by name: those of the table, and those trained here."""
    return {card.name: card for card in CARDS} | runs.cards()


def choose_upload(data: bytes, name: str) -> str | None:
    """Try a photo someone brought; on success it becomes the photo, on failure the sentence that says why not."""
    from vitcore.images import PhotoError, printable

    name = printable(name)
    try:
        _photo(_digest(data), name, texts.language(), data)
    except PhotoError as error:
        return str(error)
    st.session_state["_upload"] = (data, name)
    return None


def upload() -> tuple[bytes, str] | None:
    """The photo this visitor brought, if any."""
    return st.session_state.get("_upload")


def photo() -> Photo:
    """The chosen photo: a sample, or the visitor's own."""
    chosen, own = st.session_state.get("photo"), upload()
    if chosen == UPLOAD and own:
        return _photo(_digest(own[0]), own[1], texts.language(), own[0])
    known = [row["id"] for row in samples()]
    name = chosen if chosen in known else known[0]
    return _photo(_sample_digest(name), f"{name}.jpg", texts.language(), SAMPLES / f"{name}.jpg")


def vit(progress: Callable[[int, int], None]) -> Vit:
    """The chosen model, downloaded if need be; when it can't be had, the one there was (`model_error` says why)."""
    name = st.session_state.get("model") or DEFAULT
    last = st.session_state.get("_model", DEFAULT)
    errors: dict[str, str] = st.session_state.setdefault("_model_errors", {})
    from vitcore.zoo import ModelError, fetch

    if name in errors:
        return _last_model()
    try:
        if runs.model_of(name) is None and name not in (last, DEFAULT):
            if not NAME.fullmatch(name):
                raise ModelError(texts.prose("common")["no model name"].format(name=repr(name[:60])))
            fetch(name, progress)
        found = _vit(runs.version_of(name))
        if name != last:
            recording(found, photo())  # a model may load and still not attend over one grid of patches
    except ModelError as error:
        errors.clear()
        errors[name] = str(error)
        return _last_model()
    st.session_state["_model"] = name
    return found


def _last_model() -> Vit:
    """The model there was; if it was a run's, that may be gone by now."""
    last = st.session_state.get("_model", DEFAULT)
    if last.startswith("runs/") and runs.model_of(last) is None:
        last = st.session_state["_model"] = DEFAULT
    return _vit(runs.version_of(last))


def model_error() -> str | None:
    """Why the chosen model is not the one shown, and which one is."""
    message = st.session_state.get("_model_errors", {}).get(st.session_state.get("model"))
    last = st.session_state.get("_model", DEFAULT)
    title = menu()[last].title if last in menu() else last
    return f"{message} " + texts.prose("common")["stays"].format(model=title) if message else None


def forget_model_errors() -> None:
    """Let the next run try again."""
    st.session_state["_model_errors"] = {}


def recording(model: Vit, image: Photo, block: int = 0) -> Recording:
    """What one forward pass left behind, with the maps of `block` among it."""
    size = 2 * model.blocks * model.heads * model.grid.tokens**2 / 2**20
    return _recording(model.name, image.digest, None if size <= KEEP_MAPS_MB else block, image)
