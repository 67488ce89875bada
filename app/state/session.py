"""What is kept and remembered (the training runs are in runs.py): models, photos, recordings, last good choices."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

from app import texts
from app.state import models
from app.state.memory import budget, visitors
from vitcore.assets import SAMPLES as SAMPLES
from vitcore.assets import samples as samples
from vitcore.models.model_cards import DEFAULT

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from PIL import Image

    from vitcore.analysis.filters import PrincipalComponents
    from vitcore.analysis.position_embeddings import MirrorSymmetry
    from vitcore.forward.recording import Recording
    from vitcore.images import Photo
    from vitcore.models.load_model import Vit

UPLOAD = "your-photo"
KEEP_MAPS_MB = 48  # all heads of all blocks are kept when they fit in this; else one block at a time


@lru_cache(maxsize=64)
def thumbnail(sample: str, side_px: int = 112) -> bytes:
    """A small square of a sample photo, WebP."""
    import io

    from PIL import Image, ImageOps

    file = io.BytesIO()
    ImageOps.fit(Image.open(SAMPLES / f"{sample}.jpg"), (side_px, side_px)).save(file, "WEBP", quality=72)
    return file.getvalue()


@lru_cache(maxsize=64)
def _digest_of_sample(name: str) -> str:
    return digest_of((SAMPLES / f"{name}.jpg").read_bytes())


@budget.kept
def _photo(digest: str, name: str, lang: str, whose: str, _data: bytes | Path) -> Photo:
    from vitcore.images import open_photo

    return replace(open_photo(_data, name), whose=whose)


@budget.kept
def _recording(model: str, key: str, whole: bool, _photo: Photo, _record: Any = None) -> Recording:
    """What one forward pass left: all there is of a small model; else what the rest can be made of again."""
    from vitcore.forward.recording import record

    vit, make = models.loaded(model), _record or record
    if whole:
        return make(vit, _photo, maps=range(vit.blocks), fusions=("mean", "max", "min"))
    with budget.STORE.room(models.shape(vit).pass_bytes):
        return make(vit, _photo, store="query_key")


@budget.kept
def _heads(rec: Recording, block: int) -> NDArray[np.float16]:
    """The maps of one block of a large model."""
    from vitcore.forward.recording import recompute_heads, record

    if rec.query_key:
        return recompute_heads(rec, block)
    return record(models.loaded(rec.model), rec.photo, maps=[block], fusions=()).maps[block]


@budget.kept
def _fused(rec: Recording, fusion: Any) -> NDArray[Any]:
    """All blocks' heads of a large model, fused in another way than by their mean."""
    from vitcore.forward.recording import recompute_fused_heads, record

    if rec.query_key:
        return recompute_fused_heads(rec, fusion)
    return record(models.loaded(rec.model), rec.photo, fusions=(fusion,), store="query_key").fused[fusion]


@budget.kept
def components(model: str) -> PrincipalComponents | None:
    """Principal components of a model's embedding filters, or of a hybrid's root convolution."""
    from vitcore.analysis import filters
    from vitcore.models import load_model

    vit = models.loaded(model)
    kernel = load_model.first_kernel(vit)
    return None if kernel is None else filters.principal_components(kernel)


@budget.kept
def similarity(model: str, rows: int = 0, cols: int = 0, method: str = "paper") -> NDArray[np.float64] | None:
    """Cosines of a model's position embeddings (N, N), at its own grid or interpolated to rows × cols."""
    from vitcore.analysis import position_embeddings
    from vitcore.models import load_model

    vit = models.loaded(model)
    table = load_model.positions(vit)
    if table is None:
        return None
    return position_embeddings.position_similarity(
        load_model.resample_positions(vit, rows, cols, method) if rows else table
    )


@budget.kept
def mirrors(model: str) -> list[MirrorSymmetry]:
    """The mirror patterns among a model's positions."""
    from vitcore.analysis import position_embeddings

    cosine = similarity(model)
    assert cosine is not None, "only asked for models that have positions"
    return position_embeddings.mirror_symmetries(cosine, models.loaded(model).grid)


@budget.kept
def tiles(model: str) -> bytes:
    """The picture of all similarity tiles, as a PNG file."""
    from vitcore.figures.positions import tiles_picture
    from vitcore.figures.theme import encoded

    cosine = similarity(model)
    assert cosine is not None, "only asked for models that have positions"
    return encoded(tiles_picture(cosine, models.loaded(model).grid, gutter=False))[0]


def sample_files() -> list[tuple[str, bytes]]:
    """The gallery's photos: (name, bytes)."""
    return [(f"{row['id']}.jpg", (SAMPLES / f"{row['id']}.jpg").read_bytes()) for row in samples()]


@budget.kept
def embeddings(rec: Recording) -> NDArray[np.float32]:
    """Patch embeddings (N, D) of what the model sees."""
    from vitcore.forward.recording import patch_embeddings

    return patch_embeddings(models.loaded(rec.model), rec.model_input.pixels)


@budget.kept
def embeddings_shifted(rec: Recording, px: int) -> NDArray[np.float32]:
    """The same (N, D), each patch cut `px` pixels further to the right; what is pushed out comes in on the other side."""
    import numpy as np

    from vitcore.forward.recording import patch_embeddings

    return patch_embeddings(models.loaded(rec.model), np.roll(rec.model_input.pixels, -px, axis=1))


def shown(rec: Recording) -> tuple[Image.Image, bytes]:
    """What the model sees at the photo's own sharpness: a picture, and the same as a JPEG file."""
    return _shown(rec.model, rec.photo, rec)


@budget.kept
def _shown(model: str, photo: Photo, _rec: Recording) -> tuple[Image.Image, bytes]:
    from vitcore.figures.attention import fitted
    from vitcore.figures.theme import encoded
    from vitcore.images import sharp_crop

    picture = fitted(sharp_crop(photo, _rec.model_input))
    return picture, encoded(_array(picture), photo=True)[0]


@budget.kept
def outlined(rec: Recording) -> bytes:
    """The whole photo with what the model sees outlined, as a JPEG file."""
    from io import BytesIO

    from vitcore.images import outline_crop

    file = BytesIO()
    outline_crop(rec.photo, rec.model_input).save(file, "JPEG", quality=95)
    return file.getvalue()


@budget.kept
def kept(part: str, of: Recording | str, mode: str, lang: str, _make: Callable[[], Any]) -> Any:
    """What `_make` made for this part of the landing page, recording or model, theme and language; nobody writes to it."""
    return _make()


def _array(picture: Image.Image) -> NDArray[np.uint8]:
    import numpy as np

    return np.asarray(picture)


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def choose_upload(data: bytes, name: str) -> str | None:
    """Try a photo someone brought; on success it becomes the photo, on failure the sentence that says why not."""
    from vitcore.images import PhotoError, printable_name

    name = printable_name(name)
    try:
        _photo(digest_of(data), name, texts.language(), visitors.me(), data)
        visitors.bring("upload", (data, name))
    except PhotoError as error:
        return str(error)
    except budget.NoRoomError:
        return texts.prose("common")["no room photo"].format(name=name)
    return None


def upload() -> tuple[bytes, str] | None:
    """The photo this visitor brought, if any; it is theirs alone, and gone when they leave."""
    return visitors.brought("upload")


def photo() -> Photo:
    """The chosen photo: a sample, or the visitor's own."""
    chosen, own = st.session_state.get("photo"), upload()
    if chosen == UPLOAD and own:
        return _photo(digest_of(own[0]), own[1], texts.language(), visitors.me(), own[0])
    known = [row["id"] for row in samples()]
    name = chosen if chosen in known else known[0]
    return _photo(_digest_of_sample(name), f"{name}.jpg", texts.language(), "", SAMPLES / f"{name}.jpg")


def vit(progress: Callable[[int, int], None]) -> Vit:
    """The chosen model, downloaded if need be; when it can't be had, the one there was (`model_error` says why)."""
    name = st.session_state.get("model") or DEFAULT
    last = st.session_state.get("_model", DEFAULT)
    from vitcore.models.model_cards import ModelError

    try:
        model = models.have(name, name in (last, DEFAULT), progress)
        if name != last:
            recording(model, photo())  # a model may load and still not attend over one grid of patches
    except (ModelError, budget.NoRoomError) as error:
        before = st.session_state.get("_model_problem") or {}
        tries = before["tries"] + 1 if before.get("name") == name else 1
        stays = _last_model()
        st.session_state["_model_problem"] = {
            "name": name, "why": str(error) or texts.prose("common")["no room now"], "tries": tries,
            "told": st.session_state.get("_model", DEFAULT) == name,
        }  # fmt: skip
        return stays
    st.session_state["_model"] = name
    if (st.session_state.get("_model_problem") or {}).get("name") == name:
        forget_model_errors()
    return model


def _last_model() -> Vit:
    """The model there was; if it was a run's or the visitor's own, that may be gone by now."""
    last = st.session_state.get("_model", DEFAULT)
    if models.is_gone(last):
        last = st.session_state["_model"] = DEFAULT
    return models.loaded(models.version_of(last))


def model_error() -> str | None:
    """Why the model that was asked for is not the one shown, and which one is."""
    problem, text = st.session_state.get("_model_problem"), texts.prose("common")
    if not problem:
        return None
    last = st.session_state.get("_model", DEFAULT)
    title = cards[last].title if last in (cards := models.menu()) else last
    tried = text["tried"].format(count=problem["tries"]) + " " if problem["tries"] > 1 else ""
    return f"{problem['why']} {tried}" + text["stays"].format(model=title)


def model_failed() -> bool:
    """Whether the picker and the address still name a model that could not be had."""
    problem = st.session_state.get("_model_problem")
    return bool(problem and not problem["told"])


def name_the_model_there_is() -> None:
    """Before the picker is drawn: it and the address name the model that is shown, not one that could not be had."""
    if model_failed():
        st.session_state["model"] = st.session_state.get("_model", DEFAULT)
        st.session_state["_model_problem"]["told"] = True


def model_misnamed() -> list[tuple[str, str, str]]:
    """What a link's address may still say, and should not: the parameter, its value, and the right one."""
    problem = st.session_state.get("_model_problem")
    return [("model", problem["name"], st.session_state.get("_model", DEFAULT))] if problem and problem["told"] else []


def try_model_again() -> None:
    """Ask once more for the model that could not be had."""
    if problem := st.session_state.get("_model_problem"):
        st.session_state["model"] = problem["name"]


def forget_model_errors() -> None:
    """Another model was chosen, or another page: what could not be had is old news."""
    st.session_state["_model_problem"] = None


def arrive(slug: str) -> None:
    """At the beginning of a run: where the visitor is."""
    if st.session_state.get("_slug") != slug:
        st.session_state["_slug"] = slug
        forget_model_errors()


def recording(model: Vit, image: Photo, block: int | None = None, record: Any = None) -> Recording:
    """What one forward pass left behind (`record` makes it); with the maps of `block` among it, where one is named."""
    whole = 2 * model.blocks * model.heads * model.grid.tokens**2 <= KEEP_MAPS_MB * 2**20
    rec = _recording(model.name, image.key, whole, image, record)
    if whole or block is None:
        return rec
    return replace(rec, maps={block: _heads(rec, block)})


def shown_again(model: str, key: str) -> Image.Image:
    """The photo as `shown` gives it, for a download."""
    rec = again(model, key, "mean")[1]
    return shown(rec)[0]


def again(model: str, key: str, fusion: str) -> tuple[Vit, Recording]:
    """A model and what it saw in a photo, by what they are kept under: for a download, which no visitor's page waits for."""
    vit, whose = models.loaded(model), key.rpartition(" ")[2]
    own = budget.STORE.peek(("upload", whose))
    if own:
        image = _photo(digest_of(own[0]), own[1], texts.DEFAULT, whose, own[0])
    else:
        name = next(row["id"] for row in samples() if _digest_of_sample(row["id"]) == key)
        image = _photo(key, f"{name}.jpg", texts.DEFAULT, "", SAMPLES / f"{name}.jpg")
    return vit, fused(vit, recording(vit, image), fusion)


def fused(model: Vit, rec: Recording, fusion: str) -> Recording:
    """The recording with its heads fused in this way, too."""
    if fusion in rec.fused:
        return rec
    return replace(rec, fused=rec.fused | {fusion: _fused(rec, fusion)})
