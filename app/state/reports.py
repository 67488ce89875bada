"""Reports of one photo, made once and kept: handouts, rollout's animation and its last frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from app.state import session
from app.state.memory import budget

if TYPE_CHECKING:
    from vitcore.forward.recording import Recording
    from vitcore.models.zoo import Vit
    from vitcore.report.model import ModelSide
    from vitcore.report.settings import Settings


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

    credit = credit_of(name)
    file = f"assets/samples/{name}.jpg" if credit else _rec.photo.name
    origin = Origin(address=address, lacking=lacking, credit=credit, file=file, lang=lang)
    return made(_vit, _rec, settings, origin, model_side(model, _vit))


@budget.kept
def animation(
    model: str, key: str, settings: Settings, lang: str, mode: Any, kind: str, _vit: Vit, _rec: Recording
) -> bytes:
    """Rollout through the layers as an animation, made once."""
    from vitcore.report.animation import animation as made

    return made(_vit, _rec, settings, kind, mode=mode)  # type: ignore[arg-type]


@budget.kept
def still(model: str, key: str, settings: Settings, lang: str, mode: Any, _vit: Vit, _rec: Recording) -> Any:
    """The animation's last frame, for who wants nothing to move."""
    from vitcore.report.animation import still as last

    return last(_vit, _rec, settings, mode)


def credit_of(name: str) -> dict[str, str]:
    """The gallery's row of a photo; nothing for one that a visitor brought."""
    return next((row for row in session.samples() if row["id"] == name), {})


def stem(name: str) -> str:
    """A photo's name as the beginning of a file's."""
    from vitcore.report.bundle import slug

    return slug(name)
