"""Every English sentence that vitcore says, found in its source, and those that tables and docstrings hold."""

import ast
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from jinja2.ext import extract_from_ast

from app.state.photos import sample_photos
from app.state.training.films import RECORDINGS
from app.views.train import recipe_form
from tests.rooms import nodes
from vitcore.faithfulness.map_test_results_as_charts import PART_TITLES
from vitcore.faithfulness.method_maps import TITLES
from vitcore.faithfulness.method_ranking import FILL_TITLES
from vitcore.models import local_files
from vitcore.models.model_cards import MODEL_CARDS, OWN_FILE
from vitcore.report import html_page
from vitcore.train.presets import PRESETS
from vitcore.train.recipe import recipe_fields

ROOT = Path(__file__).parents[2]
READOUTS = (  # of `Vit.pooling`
    "class token", "class and distillation tokens", "class token and mean of patches", "attention pool", "mean of patches",
)  # fmt: skip

ENGLISH = ROOT / "vitcore" / "cli"  # the shell speaks English


@cache
def refusals() -> frozenset[str]:
    """The classes that say their sentence."""
    every = (node for file in (ROOT / "vitcore").rglob("*.py") for node in nodes(file))
    return frozenset(n.name for n in every if isinstance(n, ast.ClassDef) and "RefusalError" in map(ast.unparse, n.bases))


@cache
def said() -> frozenset[str]:
    """Sentences that a translation is asked for: literals given to `say`, and the data that is said."""
    return frozenset({*literals(), *data()})


def literals() -> Iterator[str]:
    """The first argument of every call of `say`, of a refusal's sentence, and of `say` in templates."""
    for file in [*(ROOT / "vitcore").rglob("*.py"), *(ROOT / "app").rglob("*.py")]:
        imported = "translation import" in file.read_text(encoding="utf-8")
        for node in nodes(file):
            if isinstance(node, ast.Call) and node.args and _says(node.func, imported, file):
                yield from _strings(node.args[0])
    templates = html_page.jinja_environment()
    for name in templates.list_templates():
        parsed = templates.parse((html_page.REPORT_FOLDER / "templates" / name).read_text(encoding="utf-8"))
        yield from (sentence for _, _, sentence in extract_from_ast(parsed, ["say"]) if isinstance(sentence, str))


def _says(func: ast.expr, imported: bool, file: Path) -> bool:
    name = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
    if name in refusals():
        return ENGLISH not in file.parents
    if isinstance(func, ast.Attribute):
        return name == "say" and isinstance(func.value, ast.Name) and func.value.id == "translation"
    return name == "say" and imported


def _strings(node: ast.expr) -> Iterator[str]:
    """A literal; both sides of a choice; nothing of what is computed."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from _strings(node.body)
        yield from _strings(node.orelse)


def data() -> Iterator[str]:
    """English that is said where it is shown: of photos, models, recipes, presets and recordings."""
    for row in sample_photos.sample_photo_rows():
        yield from (row["title"], row["alt"])
    for card in MODEL_CARDS:
        yield from filter(None, (card.good_for, card.note, card.data))
    for file in local_files.SHIPPED_MODELS.glob("*.json"):
        trained = json.loads(file.read_text(encoding="utf-8"))["trained"]
        yield from (trained[part] for part in ("data", "limits"))
        yield from (photos["of"] for photos in trained.get("photos", {}).values())
        yield from filter(None, (one["differs"] for one in trained.get("commands", []) if isinstance(one, dict)))
    for field in recipe_fields():
        yield from filter(
            None, (recipe_form.recipe_field_words(field.name), *(field.metadata[part] for part in ("help", "group", "unit")))
        )
    for name in PRESETS:
        yield from (words for part, words in recipe_form.preset_description(name).items() if part != "Command")
    for file in RECORDINGS.glob("*.json"):
        film = json.loads(file.read_text(encoding="utf-8"))
        yield from filter(None, (film["title"], film.get("data")))
    yield from (*READOUTS, OWN_FILE, *paper_words(), *experiment_words())
    yield from {*TITLES.values(), *FILL_TITLES.values(), *PART_TITLES.values()} - {"Grad-CAM"}  # a name


def experiment_words() -> Iterator[str]:
    """What experiments say of themselves; names that are the same in every language and numbers are left out."""
    from vitcore.experiments.catalogue import EXPERIMENTS
    from vitcore.experiments.experiment import MEASURES, TWICE_AS_LONG_SUFFIX
    from vitcore.experiments.verdict_sentences import VERDICT_NAMES

    yield from (*MEASURES.values(), *VERDICT_NAMES.values())
    for one in EXPERIMENTS.values():
        yield from (one.title, one.where[0], one.finding, one.measured, one.untested, one.x_title)
        yield from filter(None, (w for claim in one.claims for w in (claim.sentence, claim.unit, claim.source, claim.quick)))
        for cell in (*one.cells(True), *one.cells(False)):
            places = [] if one.numbers or one.x_measure else [x for _, x in cell.chart_places]
            curves = (curve.removesuffix(TWICE_AS_LONG_SUFFIX) for curve, _ in cell.chart_places)
            yield from {*curves, *places} - {"ViT", "ResNet", "MLP", "Adam", "SGD"}


def paper_words() -> set[str]:
    """What the charts of the paper's numbers say of cells: groups, kinds and places of positions, data sets."""
    from vitcore.paper import tables

    datasets = [row["dataset"] for name in ("2", "5", "7") for row in tables.paper_table_rows(name)]
    kinds = [row["positions"] for row in tables.paper_table_rows("8")] + list(tables.paper_table_rows("8")[0])[2:]
    names = {*tables.VTAB_GROUPS, *kinds, *datasets}
    return {name for name in names if name in ("VTAB (19 tasks)", "Average") or name in {*tables.VTAB_GROUPS, *kinds}}
