"""Models in files of one's own: weights as .safetensors, and beside them a JSON card that says what they are.

The card holds `card` (the menu's row), `architecture` (arguments of timm's VisionTransformer, and `mlp_head`), `input`
(timm's terms for resizing and normalising) and perhaps `labels` (one name a class). A run's folder has both as `model.*`.
"""

import json
from pathlib import Path
from typing import Any

from vitcore.assets import asset
from vitcore.models.cards import ModelError
from vitcore.translation import say

SHIPPED = asset("models")


def find(name: str | Path) -> Path | None:
    """The weights file that a name, a file or a run's folder means, or None where it may be the name of a hub model.

    Raises: ModelError, for a file that is not there and a run that has no model yet.
    """
    path = Path(name)
    try:
        if path.suffix == ".safetensors":
            if not path.is_file():
                raise ModelError(say("{name} does not exist.", name=path.name))
            return path
        if path.is_dir() and (path / "model.json").is_file():
            return path / "model.safetensors"
        if (path / "recipe.json").is_file():
            raise ModelError(
                say("the run {path} holds no model yet: model.safetensors and model.json are missing.", path=path)
            )
        shipped = SHIPPED / f"{path.name}.safetensors"
        return shipped if path.name == str(name) and shipped.is_file() else None
    except OSError as error:  # too long for a file's name, a folder that may not be read
        raise ModelError(
            say("{name!r} is no model's name, nor a file: {reason}.", name=str(name)[:60], reason=error.strerror)
        ) from None


def facts(file: Path) -> dict[str, Any]:
    """What the card beside a weights file says. Raises: ModelError, when it is missing or no JSON object."""
    card = file.with_suffix(".json")
    try:
        said = json.loads(card.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ModelError(
            say("{name} needs its card {card} beside it (see CONTRIBUTING.md).", name=file.name, card=card.name)
        ) from None
    except (OSError, ValueError) as error:
        raise ModelError(
            say("{name} can't be loaded: {card}: {reason}", name=file.name, card=card.name, reason=reason(error))
        ) from None
    if not isinstance(said, dict):
        raise ModelError(
            say("{name} can't be loaded: its card {card} is not a JSON object.", name=file.name, card=card.name)
        )
    return said


def build(architecture: dict[str, Any], size: int | tuple[int, int]) -> Any:
    """The module that a card describes, for images of `size` px: timm's VisionTransformer, or what the paper sets beside it."""
    from vitcore.architectures.build import build as of

    return of(architecture, size)


def fill(module: Any, file: Path) -> None:
    """Read the weights as 32-bit floats; positions are resampled by timm where the module's grid is another."""
    from safetensors.torch import load_file
    from timm.models.vision_transformer import checkpoint_filter_fn

    state = {k: v.float() for k, v in load_file(file).items()}
    module.load_state_dict(checkpoint_filter_fn(state, module, interpolation="bicubic", antialias=True))


def reason(error: Exception) -> str:
    """The first line of what went wrong, short enough for a sentence."""
    return (str(error).splitlines() or [type(error).__name__])[0][:160]
