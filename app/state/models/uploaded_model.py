"""The model that a visitor brought: where it lies, what was found in it, and how it is opened.

It is kept as their photo is: under the visitor's name, for nobody else, until they leave; then its folder is removed, too. In
the menu and in the address it is its file's name with "(yours)", so that no link opens somebody else's or one of timm's.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app import permissions, texts
from app.state.memory import memory_cache, visitor_storage
from app.state.model_ref import ModelRef
from app.state.models import save_and_unzip_upload
from vitcore.models.checkpoint_inspection.open_questions import answer_text
from vitcore.models.checkpoint_inspection.saved_settings.class_names_file import read_class_names
from vitcore.models.model_cards import OWN_FILE, ModelCard, ModelError

if TYPE_CHECKING:
    from vitcore.models.checkpoint_inspection.inspection import Inspection
    from vitcore.models.load_model import Vit

MODEL_ID = "your-model"
STORE_KEY = "own model"
LABELS_LIMIT_MB = 20
_openings = itertools.count(1)


@dataclass(frozen=True)
class OpeningOptions:
    """How a visitor's model is opened: answers by `Question.key`, names of the classes, another input size (height, width), and how
    positions are interpolated to that, "timm" or "paper"."""

    answers: dict[str, str]
    labels: list[str] | None = None
    image_px: tuple[int, int] | None = None
    positions_by: str = "timm"
    confirmed: bool = False  # by a person, who knows that the likely answers are right, too


@dataclass(eq=False)
class UploadedModel:
    """A visitor's model; `options` while it can be chosen, kept under `version`, which changes with every opening."""

    path: Path
    display_name: str  # the file's name, or the hub's id
    inspection: Inspection  # without its weights: those stay on disk
    folder: save_and_unzip_upload.TemporaryFolder | None = None
    part: str | None = None
    labels: list[str] | None = None
    options: OpeningOptions | None = None
    version: str = ""
    form_id: int = field(default_factory=lambda: next(_openings))  # tells the controls of one file from those of the next

    @property
    def answers(self) -> dict[str, str]:
        """What a person said: other answers than the likely ones, or all of them where they were confirmed."""
        if self.options is None:
            return {}
        likely = {q.key: answer_text(q.likely) for q in self.inspection.unproven_questions}
        told = self.options.answers
        return {key: said for key, said in told.items() if self.options.confirmed or said != likely.get(key)}

    @property
    def assumed(self) -> dict[str, str]:
        """What nobody said: the likely answers that were left as they are."""
        return self.inspection.assumed_answers(self.answers, self.options.labels if self.options else None)

    @property
    def title(self) -> str:
        """What it is called in figures and handouts."""
        return self.display_name.rpartition("/")[2] if self.folder is None else self.inspection.name.removesuffix(" directory")


def current_uploaded_model() -> UploadedModel | None:
    """The model that this visitor brought, opened or not."""
    return visitor_storage.kept_for_visitor(STORE_KEY)


def uploaded_model_card() -> dict[str, ModelCard]:
    """Its row of the menu, by its name there; nothing while it is not opened."""
    model = current_uploaded_model()
    if model is None or model.options is None:
        return {}
    title = texts.prose("common")["your model"].format(name=model.title)
    return {MODEL_ID: ModelCard(MODEL_ID, title, model.inspection.params / 1e6, 0, "", note=OWN_FILE)}


def is_uploaded_model_name(requested: str) -> bool:
    """Whether a link may mean it: by what follows the file's name, in every language."""
    endings = tuple(texts.prose("common", lang)["your model"].format(name="") for lang in texts.LANGUAGES)
    return requested in (MODEL_ID, "你的模型") or requested.endswith(endings)  # the two were its names in older links


def uploaded_model_key() -> str:
    """The key under which this visitor's model is cached: it changes with every opening. Raises: ModelError, when there is none."""
    model = current_uploaded_model()
    if model is None or model.options is None:
        raise ModelError(texts.prose("bring")["gone"])
    return model.version


@dataclass(frozen=True, eq=False)
class ReceivedModelFile:
    """A file that was dropped, on disk."""

    folder: save_and_unzip_upload.TemporaryFolder
    path: Path
    display_name: str


def move_model_upload_to_disk(upload: Any) -> ReceivedModelFile | str:
    """Put a file that was dropped on disk; or the sentence that says why not."""
    try:
        return ReceivedModelFile(
            *save_and_unzip_upload.save_upload_to_folder(upload, permissions.upload_limit_mb()),
            save_and_unzip_upload.safe_file_name(upload.name),
        )
    except ModelError as error:
        return str(error)


def inspect_model_file(received: ReceivedModelFile) -> str | None:
    """Look into a file, and keep it: None, or the sentence that says why not; then all stays as it was."""
    try:
        _keep_model(UploadedModel(received.path, received.display_name, _inspect(received.path), received.folder))
        return None
    except (ModelError, memory_cache.MemoryBudgetError) as error:
        received.folder.remove()
        return str(error) or texts.prose("common")["no room now"]


def fetch_hub_model(hub_id: str, progress: Callable[[int, int], None]) -> str | None:
    """Download a model of the hub and inspect it: None, or the sentence that says why not.

    Raises: NotAllowedError, where this server downloads no others.
    """
    permissions.require_allowed("downloads")
    from vitcore.models.hub_folder import fetch_hub_folder
    from vitcore.models.hub_ids_and_weights import HUB_PREFIX, parse_hub_id

    name = HUB_PREFIX + parse_hub_id(hub_id)
    try:
        path = fetch_hub_folder(name, progress)
        _keep_model(UploadedModel(path, name, _inspect(path)))
        return None
    except (ModelError, memory_cache.MemoryBudgetError) as error:
        return str(error) or texts.prose("common")["no room now"]


def choose_model_part(model: UploadedModel, part: str) -> str | None:
    """Another model of the same file: None, or the sentence that says why not."""
    try:
        model.inspection, model.part, model.labels = _inspect(model.path, part), part, None
    except ModelError as error:
        return str(error)
    return None


def read_class_labels(model: UploadedModel, upload: Any) -> str | None:
    """Names of the classes from a file that was dropped: None, or the sentence that says why not."""
    folder = None
    try:
        folder, path = save_and_unzip_upload.save_upload_to_folder(upload, LABELS_LIMIT_MB)
        labels = read_class_names(path)
        if len(labels) != (classes := uploaded_class_count(model)):
            problem = texts.prose("bring").fill("labels count", count=len(labels), classes=classes)
            raise ModelError(problem)
        model.labels = labels
        return None
    except ModelError as error:
        return str(error)
    finally:
        if folder is not None:
            folder.remove()


def uploaded_class_count(model: UploadedModel) -> int | None:
    """How many classes it tells apart; None where only the model of timm's that it is would say."""
    if model.inspection.differences.only_head_differs:
        return 0
    count = model.inspection.inferred.architecture.get("num_classes")
    return None if count is None else int(count)


def load_uploaded_model(version: str) -> Vit:
    """The visitor's model of this key, loaded into memory. Raises: ModelError, where it can't be opened so, or is gone."""
    from vitcore.models import load_model

    model: UploadedModel | None = memory_cache.CACHE.peek((STORE_KEY, ModelRef.parse(version).checkpoint.partition(".")[0]))
    if model is None or model.options is None or model.version != version:
        raise ModelError(texts.prose("bring")["gone"])
    options = model.options
    inspection = load_model.inspect(model.path, model.part, anywhere=False)
    vit = load_model.open_inspected_checkpoint(
        inspection, model.answers, options.labels, options.image_px, model.display_name, options.positions_by
    )
    return replace(vit, card=replace(vit.card, name=version, title=model.title, called=model.display_name))


def set_opening_options(model: UploadedModel, options: OpeningOptions) -> None:
    model.options, model.version = options, str(ModelRef(MODEL_ID, f"{visitor_storage.visitor_id()}.{next(_openings)}"))


def drop_cached_results(version: str) -> None:
    if version:
        memory_cache.CACHE.drop(lambda key: version in key)


def discard_uploaded_model() -> None:
    """Throw this visitor's model away, its file and all that was made of it."""
    model = current_uploaded_model()
    if model is not None:
        drop_cached_results(model.version)
        visitor_storage.discard_for_visitor(STORE_KEY)
        if model.folder is not None:
            model.folder.remove()


def _keep_model(model: UploadedModel) -> None:
    discard_uploaded_model()
    visitor_storage.keep_for_visitor(STORE_KEY, model)


def _inspect(path: Path, part: str | None = None) -> Inspection:
    """What is in it. Some files are read whole to be looked into: what was read is not kept."""
    from vitcore.models.load_model import inspect

    inspection = inspect(path, part, anywhere=False)
    return replace(inspection, part=replace(inspection.part, weights={}))


def _remove_on_departure(visitor: str) -> None:
    model: UploadedModel | None = memory_cache.CACHE.peek((STORE_KEY, visitor))
    if model is not None and model.folder is not None:
        model.folder.remove()


visitor_storage.ON_DEPARTURE.append(_remove_on_departure)
