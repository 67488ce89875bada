"""The models that can be chosen: the menu's cards, a visitor's upload, training runs, and the paper's models by name."""

from app.state.models import uploaded_model
from app.state.models.uploaded_model import MODEL_ID
from app.state.training import run_status
from vitcore.architectures import paper_models
from vitcore.models.model_cards import DEFAULT_MODEL, MODEL_CARDS, ModelCard


def models_by_name() -> dict[str, ModelCard]:
    """The models of the menu, by name: those of the table, the one that this visitor brought, and those trained here."""
    return (
        {DEFAULT_MODEL: MODEL_CARDS[0]}
        | uploaded_model.uploaded_model_card()
        | {card.name: card for card in MODEL_CARDS}
        | run_status.run_model_cards()
    )


def resolve_model_name(requested: str | None) -> str | None:
    """The name of what a link or a person asks for: of the visitor's own model in any language, of one of the paper's."""
    if requested is None or requested in models_by_name():
        return requested
    if uploaded_model.is_uploaded_model_name(requested):
        return MODEL_ID
    family = paper_models.find_paper_model(requested)
    return family.trained_weights if family and family.trained_weights else requested


def model_cache_key(name: str) -> str:
    """The key that caches of a model's results hold: its name, and of one that changes also when. Raises: ModelError."""
    return uploaded_model.uploaded_model_key() if name == MODEL_ID else run_status.model_cache_key_with_write_time(name)


def is_model_gone(name: str) -> bool:
    """Whether a run's model, or the visitor's own, was there and is not any more."""
    return (name == MODEL_ID and not uploaded_model.uploaded_model_card()) or (
        name.startswith("runs/") and run_status.run_model_folder(name) is None
    )
