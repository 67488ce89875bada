"""Models in memory: checked, downloaded if need be, loaded once and cached by their `ModelRef`."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from app import permissions, texts
from app.state.memory import memory_cache
from app.state.model_ref import CHECKPOINTS, RANDOM, ModelRef
from app.state.models import model_device, model_menu, uploaded_model
from app.state.models.uploaded_model import MODEL_ID
from app.state.training import run_status
from vitcore.architectures import paper_models
from vitcore.models.model_cards import DEFAULT_MODEL, ModelError

if TYPE_CHECKING:
    from vitcore.models.load_model import Vit
    from vitcore.models.model_size import ModelSize

MODEL_NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}(?<!\.safetensors)")


def load_or_download(name: str, is_local: bool, progress: Callable[[int, int], None]) -> Vit:
    """The model of that name, downloaded if need be. Raises: ModelError, with a sentence for the visitor."""
    from vitcore.models.load_model import fetch_weights

    name = model_menu.resolve_model_name(name) or name
    if name != MODEL_ID and run_status.run_model_folder(name) is None and not is_local:
        if family := paper_models.find_paper_model(name):
            raise ModelError(texts.prose("common")["no weights"].format(name=family.name))
        if not MODEL_NAME.fullmatch(name):
            raise ModelError(texts.prose("common")["no model name"].format(name=repr(name[:60])))
        if name not in model_menu.models_by_name() and not permissions.is_allowed("downloads"):
            raise ModelError(permissions.why_not_allowed("downloads"))
        fetch_weights(name, progress)
    version = model_menu.model_cache_key(name)
    kept: Vit | None = memory_cache.CACHE.peek(_cache_key(version))
    if kept is None and version == name != DEFAULT_MODEL:
        _make_room_for_model(name)
    elif kept is None and name == MODEL_ID and (one := uploaded_model.current_uploaded_model()):
        _reserve(one.display_name, 4 * one.inspection.params)
    return kept or loaded_model(version)


def open_uploaded_model(options: uploaded_model.OpeningOptions) -> str | None:
    """Open the model that this visitor brought: None, or the sentence that says why not; then it is as it was."""
    model = uploaded_model.current_uploaded_model()
    if model is None:
        return texts.prose("bring")["gone"]
    before = model.options, model.version
    uploaded_model.set_opening_options(model, options)
    try:
        _reserve(model.display_name, 4 * model.inspection.params)
        loaded_model(model.version)
    except (ModelError, memory_cache.MemoryBudgetError) as error:
        failed, (model.options, model.version) = model.version, before
        uploaded_model.drop_cached_results(failed)
        return str(error) or texts.prose("common")["no room now"]
    uploaded_model.drop_cached_results(before[1])
    return None


@memory_cache.cached
def loaded_model(name: str) -> Vit:
    """A model in memory by its `ModelRef`, on the device of this server, shared by all who look through it.

    A visitor's own is kept under a name that holds the visitor's, so that
    nobody else asks for it, and it goes when they go.
    """
    vit, device = _load_on_cpu(name), model_device.current_device()
    return vit if device == model_device.CPU else vit.to(device)


def is_model_loaded(name: str) -> bool:
    return memory_cache.CACHE.peek(_cache_key(name)) is not None


def _load_on_cpu(name: str) -> Vit:
    from vitcore.models import load_model

    ref = ModelRef.parse(name)
    if ref.variant:
        return _make_variant(ref)
    if ref.name == MODEL_ID and ref.checkpoint:
        return uploaded_model.load_uploaded_model(name)
    path = run_status.run_model_folder(ref.name) if ref.checkpoint else None
    vit = load_model.load(path or name)
    return replace(vit, card=replace(vit.card, name=name, called=ref.name)) if path else vit


def load_model_variant(vit: Vit, variant: str) -> Vit:
    """A model as it would be otherwise: `variant` as in `ModelRef.variant`.

    Raises: ModelError, for what can't be had; MemoryBudgetError.
    """
    varied = str(ModelRef.parse(vit.name).with_variant(variant))
    kept: Vit | None = memory_cache.CACHE.peek(_cache_key(varied))
    if kept is None:
        planned = model_size(vit)
        with memory_cache.CACHE.reserve(planned.weights_bytes + planned.pass_bytes):
            pass
    return kept or loaded_model(varied)


def _make_variant(ref: ModelRef) -> Vit:
    from vitcore.models import load_model
    from vitcore.models.random_weights import with_random_weights

    base, variant = str(ref.base), ref.outermost
    path = run_status.run_model_folder(ref.name) if ref.checkpoint else None
    note = ""
    if variant == RANDOM:
        vit = with_random_weights(loaded_model(base))
    elif variant.partition(".")[0] in CHECKPOINTS and path:
        from vitcore.train.run_folder import RunFolder
        from vitcore.train.trainer.checkpoint import open_checkpoint_model

        vit, step = open_checkpoint_model(RunFolder(path), variant.partition(".")[0])
        note = str(step)
    elif ref.base.variant == RANDOM:
        vit = with_random_weights(loaded_model(str(replace(ref, variant=variant))))
    else:
        high, wide = variant.split("x")
        vit = load_model.load(path or base, image_px=(int(high), int(wide)))
    return replace(vit, card=replace(vit.card, name=str(ref), note=note, teacher="", looker=""))


def _cache_key(version: str) -> memory_cache.Key:
    return f"{__name__}.loaded_model", version


def _make_room_for_model(name: str) -> None:
    """Room for a model that is to be loaded, and for one photo through it; what nobody uses makes way.

    Raises: ModelError, where there can't be so much.
    """
    from vitcore.models.model_size import size_of_timm_model

    try:
        planned = size_of_timm_model(name)
    except ModelError:  # it may be a file with a name of timm's; what is wrong with it, loading it says
        return
    if planned is not None:
        _reserve(name, planned.weights_bytes, planned.pass_bytes)


def _reserve(name: str, weights: int, one_photo: int = 0) -> None:
    need = weights + one_photo
    loading = min(need + weights, memory_cache.memory_budget_bytes())  # for a moment, the file and the model
    try:
        with memory_cache.CACHE.reserve(max(need, loading)):
            pass
    except memory_cache.MemoryBudgetError:
        facts = {"need": need / memory_cache.GB, "limit": memory_cache.memory_budget_bytes() / memory_cache.GB}
        raise ModelError(texts.prose("common")["no room model"].format(name=name, **facts)) from None


def model_size(vit: Vit) -> ModelSize:
    from vitcore.models.model_size import size_of_module

    return size_of_module(vit.module, vit.structure)
