"""Every English sentence that vitcore says, found in its source, and those that tables and docstrings hold."""

import ast
import json
from collections.abc import Iterator
from pathlib import Path

from app.state import session
from app.state.runs import RECORDINGS
from app.views.train import recipe_form
from vitcore.analysis.relevance import METHODS
from vitcore.models import own_files
from vitcore.models.cards import CARDS
from vitcore.train.recipes.presets import PRESETS
from vitcore.train.recipes.recipe import knobs

ROOT = Path(__file__).parents[2]
READOUTS = ("class token", "class and distillation tokens", "attention pool", "mean of patches")  # of `Vit.readout`


def said() -> set[str]:
    """Sentences that a translation is asked for: literals given to `say`, and the data that is said."""
    return set(literals()) | set(data())


def literals() -> Iterator[str]:
    """The first argument of every call of `say`, whatever it was imported as."""
    for file in [*(ROOT / "vitcore").rglob("*.py"), *(ROOT / "app").rglob("*.py")]:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and _says(node.func, file):
                yield from _strings(node.args[0])


def _says(func: ast.expr, file: Path) -> bool:
    if isinstance(func, ast.Attribute):
        return func.attr == "say" and isinstance(func.value, ast.Name) and func.value.id == "translation"
    return isinstance(func, ast.Name) and func.id == "say" and "translation import" in file.read_text(encoding="utf-8")


def _strings(node: ast.expr) -> Iterator[str]:
    """A literal; both sides of a choice; nothing of what is computed."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from _strings(node.body)
        yield from _strings(node.orelse)


def data() -> Iterator[str]:
    """English that is said where it is shown: of photos, models, recipes, presets and recordings."""
    for row in session.samples():
        yield from (row["title"], row["alt"])
    for card in CARDS:
        yield from filter(None, (card.good_for, card.note))
    for file in own_files.SHIPPED.glob("*.json"):
        trained = json.loads(file.read_text(encoding="utf-8"))["trained"]
        yield from (trained[part] for part in ("data", "limits"))
    for field in knobs():
        yield from filter(
            None, (recipe_form.called(field.name), *(field.metadata[part] for part in ("help", "group", "unit")))
        )
    for name in PRESETS:
        yield from (words for part, words in recipe_form.about(name).items() if part != "Command")
    for file in RECORDINGS.glob("*.json"):
        film = json.loads(file.read_text(encoding="utf-8"))
        yield from filter(None, (film["title"], film.get("data")))
    yield from READOUTS
    yield from (method.title for method in METHODS.values() if method.needs_attention)
