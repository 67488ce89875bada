"""The model that a visitor brought: where it lies, what was found in it, and how it is opened.

It is kept as their photo is: under the visitor's name, for nobody else, until they leave; then its folder is removed, too. In
the menu and in the address it is `your-model`, whatever its file is called, so that no link opens somebody else's.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app import mode, texts
from app.state.memory import budget, visitors
from app.state.model_ref import ModelRef
from app.state.own import files
from vitcore.models.model_cards import OWN_FILE, ModelCard, ModelError

if TYPE_CHECKING:
    from vitcore.models.checkpoint_inspection.inspect_checkpoint import Inspection
    from vitcore.models.load_model import Vit

OWN = "your-model"
KEPT = "own model"
LABELS_MB = 20
_openings = itertools.count(1)


@dataclass(frozen=True)
class Opening:
    """How it is opened: answers by `Question.key`, names of the classes, another input size (height, width), and how
    positions are interpolated to that, "timm" or "paper"."""

    answers: dict[str, str]
    labels: list[str] | None = None
    image_px: tuple[int, int] | None = None
    positions_by: str = "timm"


@dataclass(eq=False)
class Brought:
    """A visitor's model; `opened` while it can be chosen, kept under `version`, which changes with every opening."""

    path: Path
    called: str  # the file's name, or the hub's id
    inspection: Inspection  # without its weights: those stay on disk
    folder: files.Folder | None = None
    part: str | None = None
    labels: list[str] | None = None
    opened: Opening | None = None
    version: str = ""
    turn: int = field(default_factory=lambda: next(_openings))  # tells the controls of one file from those of the next

    @property
    def title(self) -> str:
        """What it is called in figures and handouts."""
        return (
            self.called.rpartition("/")[2] if self.folder is None else self.inspection.name.removesuffix(" directory")
        )


def mine() -> Brought | None:
    """The model that this visitor brought, opened or not."""
    return visitors.brought(KEPT)


def card() -> dict[str, ModelCard]:
    """Its row of the menu, by its name there; nothing while it is not opened."""
    one = mine()
    if one is None or one.opened is None:
        return {}
    return {OWN: ModelCard(OWN, texts.prose("common")["your model"], one.inspection.params / 1e6, 0, "", note=OWN_FILE)}


def names() -> set[str]:
    """What a link may call it: its name, in every language."""
    return {OWN, *(texts.prose("common", lang)["your model"] for lang in texts.LANGUAGES)}


def version() -> str:
    """What it is kept under. Raises: ModelError, when there is none."""
    one = mine()
    if one is None or one.opened is None:
        raise ModelError(texts.prose("bring")["gone"])
    return one.version


@dataclass(frozen=True, eq=False)
class Arrived:
    """A file that was dropped, on disk."""

    folder: files.Folder
    path: Path
    called: str


def take(upload: Any) -> Arrived | str:
    """Put a file that was dropped on disk; or the sentence that says why not."""
    try:
        return Arrived(*files.take(upload, mode.upload_mb()), files.safe(upload.name))
    except ModelError as error:
        return str(error)


def look_into(arrived: Arrived) -> str | None:
    """Look into a file, and keep it: None, or the sentence that says why not; then all stays as it was."""
    try:
        _keep(Brought(arrived.path, arrived.called, _inspect(arrived.path), arrived.folder))
        return None
    except ModelError as error:
        problem = str(error)
    except budget.NoRoomError:
        problem = texts.prose("common")["no room now"]
    arrived.folder.remove()
    return problem


def bring_id(said: str, progress: Callable[[int, int], None]) -> str | None:
    """The same with a model of the hub, by its id. Raises: OffError, where this server downloads no others."""
    mode.demand("downloads")
    from vitcore.models.hub import HUB_ID, id_in
    from vitcore.models.hub_ids import fetch_id

    called = HUB_ID + id_in(said)
    try:
        path = fetch_id(called, progress)
        _keep(Brought(path, called, _inspect(path)))
        return None
    except ModelError as error:
        return str(error)
    except budget.NoRoomError:
        return texts.prose("common")["no room now"]


def choose_part(one: Brought, part: str) -> str | None:
    """Another model of the same file: None, or the sentence that says why not."""
    try:
        one.inspection, one.part, one.labels = _inspect(one.path, part), part, None
    except ModelError as error:
        return str(error)
    return None


def bring_labels(one: Brought, upload: Any) -> str | None:
    """Names of the classes from a file that was dropped: None, or the sentence that says why not."""
    from vitcore.models.checkpoint_inspection.class_names_file import class_names

    folder = None
    try:
        folder, path = files.take(upload, LABELS_MB)
        labels = class_names(path)
        if len(labels) != (classes := classes_of(one)):
            said = texts.prose("bring").fill("labels count", count=len(labels), classes=classes)
            raise ModelError(said)
        one.labels = labels
        return None
    except ModelError as error:
        return str(error)
    finally:
        if folder is not None:
            folder.remove()


def classes_of(one: Brought) -> int | None:
    """How many classes it tells apart; None where only the model of timm's that it is would say."""
    if one.inspection.differences.only_the_head:
        return 0
    count = one.inspection.inferred.architecture.get("num_classes")
    return None if count is None else int(count)


def load(version: str) -> Vit:
    """The model in memory. Raises: ModelError, where it can't be opened so, or is gone."""
    from vitcore.models import load_model

    one: Brought | None = budget.STORE.peek((KEPT, ModelRef.parse(version).checkpoint.partition(".")[0]))
    if one is None or one.opened is None or one.version != version:
        raise ModelError(texts.prose("bring")["gone"])
    how = one.opened
    inspection = load_model.inspect(one.path, one.part)
    vit = load_model.open_inspected(inspection, how.answers, how.labels, how.image_px, one.called, how.positions_by)
    return replace(vit, card=replace(vit.card, name=version, title=one.title, called=one.called))


def prepare(one: Brought, how: Opening) -> None:
    """From now on it is opened like this."""
    one.opened, one.version = how, str(ModelRef(OWN, f"{visitors.me()}.{next(_openings)}"))


def drop_made(version: str) -> None:
    """Throw away all that was made of one opening."""
    if version:
        budget.STORE.drop(lambda key: version in key)


def forget() -> None:
    """Throw this visitor's model away, its file and all that was made of it."""
    one = mine()
    if one is not None:
        drop_made(one.version)
        visitors.take_back(KEPT)
        if one.folder is not None:
            one.folder.remove()


def _keep(one: Brought) -> None:
    forget()
    visitors.bring(KEPT, one)


def _inspect(path: Path, part: str | None = None) -> Inspection:
    """What is in it. Some files are read whole to be looked into: what was read is not kept."""
    from vitcore.models.load_model import inspect

    inspection = inspect(path, part)
    return replace(inspection, part=replace(inspection.part, weights={}))


def _left(visitor: str) -> None:
    one: Brought | None = budget.STORE.peek((KEPT, visitor))
    if one is not None and one.folder is not None:
        one.folder.remove()


visitors.let_go.append(_left)
