"""What is taken as likely of a model though neither its file nor a person says it: as a sentence, and from a card."""

from collections.abc import Mapping
from typing import Any

from vitcore.models.checkpoint_inspection.saved_settings.class_names_file import imagenet_class_names
from vitcore.models.model_cards import ModelError
from vitcore.translation import say


class AssumedAnswersWarning(UserWarning):
    """What a file does not say was taken as likely."""


def assumed_sentence(name: str, assumed: Mapping[str, str], reasons: Mapping[str, str] | None = None) -> str:
    """That these answers (by `OpenQuestion.key`) are assumed of a model, and for which reasons, in the reader's language."""
    why = reasons or {}
    listed = (f"{key}={value}" + (f" ({why[key]})" if why.get(key) else "") for key, value in assumed.items())
    return say("{name} leaves settings open. These are assumed, not proven: {assumed}.", name=name, assumed=", ".join(listed))


def stated_assumptions(facts: Mapping[str, Any], shipped: bool, module: Any) -> dict[str, str]:
    """What a card says is assumed; and ImageNet's names, where it names no classes. Raises: ModelError."""
    said = facts.get("assumed", {})
    if not isinstance(said, dict):
        raise ModelError("its card's {field} is no object of keys and answers.", field="assumed")
    assumed = {str(key): str(value) for key, value in said.items()}
    if not shipped and facts.get("labels") is None and facts.get("output") != "features":
        assumed |= assumed_class_names(module)
    return assumed


def assumed_class_names(module: Any) -> dict[str, str]:
    """ImageNet's names, for a module with as many classes, as an assumption."""
    return {"class_names": "imagenet"} if imagenet_class_names(int(getattr(module, "num_classes", 0) or 0)) else {}
