"""The models that can be chosen, and having one: known, allowed here, small enough, fetched and loaded, in this order."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from app import mode, texts
from app.state import runs
from app.state.memory import budget
from vitcore.models.cards import CARDS, DEFAULT, ModelCard

if TYPE_CHECKING:
    from vitcore.models.plan import Plan
    from vitcore.models.zoo import Vit

NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}(?<!\.safetensors)")


def menu() -> dict[str, ModelCard]:
    """The models of the menu, by name: those of the table, and those trained here."""
    return {card.name: card for card in CARDS} | runs.cards()


def have(name: str, is_here: bool, progress: Callable[[int, int], None]) -> Vit:
    """The model of that name, downloaded if need be. Raises: ModelError, with a sentence for the visitor."""
    from vitcore.models.cards import ModelError
    from vitcore.models.zoo import fetch

    if runs.model_of(name) is None and not is_here:
        if not NAME.fullmatch(name):
            raise ModelError(texts.prose("common")["no model name"].format(name=repr(name[:60])))
        if name not in menu() and not mode.allows("downloads"):
            raise ModelError(mode.why("downloads"))
        fetch(name, progress)
    version = runs.version_of(name)
    kept: Vit | None = budget.STORE.peek(_key(version))
    if kept is None and version == name != DEFAULT:
        _make_room(name)
    return kept or loaded(version)


@budget.kept
def loaded(name: str) -> Vit:
    """A model in memory, shared by all who look through it; of a run, as it was when `runs/<id>@<time>` was written.

    `<name>~<how>` is a variant of a model: see `variant`.
    """
    from vitcore.models import zoo

    if "~" in name:
        return _made_of(*name.rsplit("~", 1))
    run, _, written = name.partition("@")
    path = runs.model_of(run) if written else None  # everything kept of a run's model is kept under `runs/<id>@<time>`
    vit = zoo.load(path or name)
    return replace(vit, card=replace(vit.card, name=name)) if path else vit


CHECKPOINTS = ("checkpoint", "checkpoint-before")  # folders of a run with its state at two steps


def variant(vit: Vit, how: str) -> Vit:
    """A model as it would be otherwise, kept as `<name>~<how>`.

    how: "random" (weights drawn anew), "<high>x<wide>" (another input size), or one of CHECKPOINTS, a dot, and when it was written.
    Raises: ModelError, for what can't be had; NoRoomError.
    """
    kept: Vit | None = budget.STORE.peek(_key(f"{vit.name}~{how}"))
    if kept is None:
        planned = shape(vit)
        with budget.STORE.room(planned.weights_bytes + planned.pass_bytes):
            pass
    return kept or loaded(f"{vit.name}~{how}")


def _made_of(base: str, how: str) -> Vit:
    """What `variant` asks for."""
    from vitcore.models import zoo
    from vitcore.models.untrained import untrained

    run, _, written = base.partition("@")
    path = runs.model_of(run) if written else None
    note = ""
    if how == "random":
        vit = untrained(loaded(base))
    elif how.partition(".")[0] in CHECKPOINTS and path:
        from vitcore.train.conducting.checkpoint import open_model
        from vitcore.train.runs.files import RunFolder

        vit, step = open_model(RunFolder(path), how.partition(".")[0])
        note = str(step)
    else:
        high, wide = how.split("x")
        vit = zoo.load(path or base, image_px=(int(high), int(wide)))
    return replace(vit, card=replace(vit.card, name=f"{base}~{how}", note=note, teacher="", looker=""))


def _key(version: str) -> budget.Key:
    return f"{__name__}.loaded", version


def _make_room(name: str) -> None:
    """Room for a model that is to be loaded, and for one photo through it; what nobody uses makes way.

    Raises: ModelError, where there can't be so much.
    """
    from vitcore.models.cards import ModelError
    from vitcore.models.plan import plan

    try:
        planned = plan(name)
    except ModelError:  # it may be a file with a name of timm's; what is wrong with it, loading it says
        planned = None
    if planned is None:
        return
    need = planned.weights_bytes + planned.pass_bytes
    loading = min(need + planned.weights_bytes, budget.limit())  # for a moment, the file and the model
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
    from vitcore.models.plan import of_module

    return of_module(vit.module, vit.structure)
