"""The models that can be chosen, and having one: known, allowed here, small enough, fetched and loaded, in this order."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from app import mode, texts
from app.state import runs
from app.state.memory import budget
from app.state.model_ref import CHECKPOINTS, RANDOM, ModelRef
from app.state.own import model as own
from app.state.own.model import OWN
from vitcore.architectures import paper_models
from vitcore.models.model_cards import CARDS, DEFAULT, ModelCard, ModelError

if TYPE_CHECKING:
    from vitcore.models.load_model import Vit
    from vitcore.models.model_size import Plan

NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}(?<!\.safetensors)")


def menu() -> dict[str, ModelCard]:
    """The models of the menu, by name: those of the table, the one that this visitor brought, and those trained here."""
    return {DEFAULT: CARDS[0]} | own.card() | {card.name: card for card in CARDS} | runs.cards()


def meant(asked: str | None) -> str | None:
    """The name of what a link or a person asks for: of the visitor's own model in any language, of one of the paper's."""
    if asked is None or asked in menu():
        return asked
    if asked in own.names():
        return OWN
    family = paper_models.find(asked)
    return family.trained if family and family.trained else asked


def version_of(name: str) -> str:
    """What all is kept under that is made of a model: of one that changes, its name and when. Raises: ModelError."""
    return own.version() if name == OWN else runs.version_of(name)


def is_gone(name: str) -> bool:
    """Whether a run's model, or the visitor's own, was there and is not any more."""
    return (name == OWN and not own.card()) or (name.startswith("runs/") and runs.model_of(name) is None)


def have(name: str, is_here: bool, progress: Callable[[int, int], None]) -> Vit:
    """The model of that name, downloaded if need be. Raises: ModelError, with a sentence for the visitor."""
    from vitcore.models.load_model import fetch

    name = meant(name) or name
    if name != OWN and runs.model_of(name) is None and not is_here:
        if family := paper_models.find(name):
            raise ModelError(texts.prose("common")["no weights"].format(name=family.name))
        if not NAME.fullmatch(name):
            raise ModelError(texts.prose("common")["no model name"].format(name=repr(name[:60])))
        if name not in menu() and not mode.allows("downloads"):
            raise ModelError(mode.why("downloads"))
        fetch(name, progress)
    version = version_of(name)
    kept: Vit | None = budget.STORE.peek(_key(version))
    if kept is None and version == name != DEFAULT:
        _make_room(name)
    elif kept is None and name == OWN and (one := own.mine()):
        _room_for(one.called, 4 * one.inspection.params)
    return kept or loaded(version)


def open_own(how: own.Opening) -> str | None:
    """Open the model that this visitor brought: None, or the sentence that says why not; then it is as it was."""
    one = own.mine()
    if one is None:
        return texts.prose("bring")["gone"]
    before = one.opened, one.version
    own.prepare(one, how)
    try:
        _room_for(one.called, 4 * one.inspection.params)
        loaded(one.version)
        problem = None
    except ModelError as error:
        problem = str(error)
    except budget.NoRoomError:
        problem = texts.prose("common")["no room now"]
    if problem is not None:
        failed, (one.opened, one.version) = one.version, before
        own.drop_made(failed)
        return problem
    own.drop_made(before[1])
    return None


@budget.kept
def loaded(name: str) -> Vit:
    """A model in memory by its `ModelRef`, shared by all who look through it.

    A visitor's own is kept under a name that holds the visitor's, so that
    nobody else asks for it, and it goes when they go.
    """
    from vitcore.models import load_model

    ref = ModelRef.parse(name)
    if ref.variant:
        return _varied(ref)
    if ref.name == OWN and ref.checkpoint:
        return own.load(name)
    path = runs.model_of(ref.name) if ref.checkpoint else None
    vit = load_model.load(path or name)
    return replace(vit, card=replace(vit.card, name=name, called=ref.name)) if path else vit


def variant(vit: Vit, how: str) -> Vit:
    """A model as it would be otherwise: `how` as in `ModelRef.variant`.

    Raises: ModelError, for what can't be had; NoRoomError.
    """
    varied = str(ModelRef.parse(vit.name).with_variant(how))
    kept: Vit | None = budget.STORE.peek(_key(varied))
    if kept is None:
        planned = shape(vit)
        with budget.STORE.room(planned.weights_bytes + planned.pass_bytes):
            pass
    return kept or loaded(varied)


def _varied(ref: ModelRef) -> Vit:
    """What `variant` asks for."""
    from vitcore.models import load_model
    from vitcore.models.random_weights import untrained

    base, how = str(ref.base), ref.outermost
    path = runs.model_of(ref.name) if ref.checkpoint else None
    note = ""
    if how == RANDOM:
        vit = untrained(loaded(base))
    elif how.partition(".")[0] in CHECKPOINTS and path:
        from vitcore.train.run_folder import RunFolder
        from vitcore.train.trainer.checkpoint import open_model

        vit, step = open_model(RunFolder(path), how.partition(".")[0])
        note = str(step)
    elif ref.base.variant == RANDOM:
        vit = untrained(loaded(str(replace(ref, variant=how))))
    else:
        high, wide = how.split("x")
        vit = load_model.load(path or base, image_px=(int(high), int(wide)))
    return replace(vit, card=replace(vit.card, name=str(ref), note=note, teacher="", looker=""))


def _key(version: str) -> budget.Key:
    return f"{__name__}.loaded", version


def _make_room(name: str) -> None:
    """Room for a model that is to be loaded, and for one photo through it; what nobody uses makes way.

    Raises: ModelError, where there can't be so much.
    """
    from vitcore.models.model_size import plan

    try:
        planned = plan(name)
    except ModelError:  # it may be a file with a name of timm's; what is wrong with it, loading it says
        planned = None
    if planned is None:
        return
    _room_for(name, planned.weights_bytes, planned.pass_bytes)


def _room_for(name: str, weights: int, one_photo: int = 0) -> None:
    need = weights + one_photo
    loading = min(need + weights, budget.limit())  # for a moment, the file and the model
    try:
        with budget.STORE.room(max(need, loading)):
            pass
    except budget.NoRoomError:
        raise ModelError(_too_large(name, need)) from None


def _too_large(name: str, need: int) -> str:
    said = texts.prose("common")["no room model"]
    return said.format(name=name, need=need / budget.GB, limit=budget.limit() / budget.GB)


def shape(vit: Vit) -> Plan:
    """What a model that is here takes."""
    from vitcore.models.model_size import of_module

    return of_module(vit.module, vit.structure)
