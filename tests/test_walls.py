"""The walls of the house: which room may import which, who may cache, what may be loaded early, and how long things get."""

import ast
import re
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

import vitcore
from tests import rooms
from tests.rooms import imports, nodes, tree, written

ROOT = Path(__file__).parent.parent
VITCORE = sorted((ROOT / "vitcore").rglob("*.py"))
SHIPPING = sorted((ROOT / "tests" / "shipping").rglob("*.py"))
APP = sorted((ROOT / "app").rglob("*.py"))
PAGES = sorted((ROOT / "app" / "views").glob("*/page.py"))
VIEWS = sorted((ROOT / "app" / "views").rglob("*.py"))
ANALYSIS = sorted((ROOT / "vitcore" / "analysis").rglob("*.py"))
FIGURES = sorted((ROOT / "vitcore" / "figures").rglob("*.py"))
HEAVY = {"torch", "timm", "plotly", "torchvision", "transformers", "sklearn", "scipy", "matplotlib", "pandas"}
PURE = {"collections", "dataclasses", "functools", "itertools", "math", "typing"}  # of the standard library

MOST_LINES, MOST_LINES_OF_A_PAGE, MOST_LINES_OF_A_FUNCTION = 350, 80, 70


def outside(names: set[str], *allowed: str) -> set[str]:
    """The names that are neither one of `allowed` nor below one of them."""
    return {n for n in names if not any(n == a or n.startswith(f"{a}.") for a in allowed)}


def inside(names: set[str], *forbidden: str) -> set[str]:
    return names - outside(names, *forbidden)


def label(path: Path) -> str:
    return str(path.relative_to(ROOT))


def each(subtests: pytest.Subtests, paths: list[Path]):
    """Every file with a case of its own: one that fails does not hide the next."""
    assert paths, "there is nothing to look at"
    return [(path, case(subtests, label(path))) for path in paths]


@contextmanager
def case(subtests: pytest.Subtests, name: str):
    """A subtest where it fails: to report two thousand that pass takes longer than to look."""
    try:
        yield
    except Exception:
        with subtests.test(name):
            raise


# Rooms


def test_each_room_stands_on_those_below():
    """The contracts in pyproject.toml: every module of vitcore has its place, or they say which has none."""
    lint = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    done = subprocess.run([sys.executable, "-c", lint], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr  # in a process of its own: it turns off this one's loggers


def test_the_contracts_see_every_file(subtests):
    """import-linter passes over a folder without `__init__.py`, and all that is in it."""
    for path, case in each(subtests, VITCORE + SHIPPING + APP):
        with case:
            assert (path.parent / "__init__.py").exists(), f"{label(path.parent)} needs an __init__.py"


def test_analysis_sees_arrays_and_a_grid(subtests):
    """No model, no file, no picture."""
    for path, case in each(subtests, ANALYSIS):
        with case:
            own = ("vitcore.grid", "vitcore.lazy_names", "vitcore.probabilities", "vitcore.analysis")
            assert outside(imports(path) - {"__future__"}, *PURE, "numpy", "scipy", "sklearn", *own) == set()
            calls = {n.func.id for n in nodes(path) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
            assert calls & {"open", "__import__", "exec", "eval"} == set()
            reads = {node.attr for node in nodes(path) if isinstance(node, ast.Attribute)}
            assert reads & {"open", "load", "save", "fromfile", "tofile", "loadtxt", "savetxt", "memmap", "savez"} == set()


def test_figures_see_arrays_and_a_grid(subtests):
    for path, case in each(subtests, FIGURES):
        with case:
            names = imports(path)
            assert inside(names, *HEAVY - {"plotly", "matplotlib"}, "streamlit", "huggingface_hub", "safetensors") == set()
            own = ("vitcore.grid", "vitcore.figures", "vitcore.lazy_names", "vitcore.translation")
            assert outside(inside(names, "vitcore"), *own) == set()


NOTHING = (
    "assets.py attention_hooks.py csv_and_npz.py file_names.py grid.py lazy_names.py probabilities.py translation.py "
    "architectures/axial_resnet.py architectures/axial_vit.py architectures/classifier_head.py architectures/grey_input.py "
    "architectures/head_layers.py architectures/meta_device.py architectures/paper_models.py "
    "architectures/position_ablations.py forward/layer_indices.py module_swaps.py models/torchvision_ops.py"
).split()  # files that import nothing of vitcore
ROOMS = dict.fromkeys(NOTHING, "") | {  # what each may import of vitcore, and no more
    "__main__.py": "cli.commands errors",
    "errors.py": "translation",
    "images": "errors grid images lazy_names translation",
    "outlier_sentences.py": "grid translation",
    "architectures/build_model.py": "architectures",
    "architectures/model_summary.py": "architectures.grey_input",
    "architectures/vit_variants.py": "architectures.grey_input",
    "forward/block_attention.py": "analysis attention_hooks forward.query_key grid models.vit",
    "forward/block_activations.py":
        "attention_hooks forward.block_attention module_swaps forward.layer_indices forward.onednn_linear forward.recording "
        "models.assembly.random_state models.model_cards models.vit translation",
    "forward/compare_models.py":
        "analysis forward.block_attention forward.layer_indices forward.mask_outliers module_swaps forward.onednn_linear "
        "forward.recording images models.assembly.random_state models.model_cards models.vit translation",
    "forward/logit_lens.py":
        "module_swaps forward.onednn_linear forward.recordings images models.assembly.random_state models.model_cards models.vit "
        "translation",
    "forward/mask_outliers.py": "analysis forward.recording",
    "forward/onednn_linear.py": "module_swaps",
    "forward/predict.py": "forward.onednn_linear forward.recording models.assembly.random_state models.embeddings models.vit",
    "forward/query_key.py": "analysis attention_hooks forward.block_attention",
    "forward/recording.py":
        "analysis attention_hooks errors forward.block_attention forward.layer_indices "
        "module_swaps forward.onednn_linear forward.query_key forward.recordings grid images models.model_cards models.vit "
        "probabilities translation",
    "forward/recordings":
        "analysis architectures.axial_vit architectures.grey_input attention_hooks errors figures forward.block_attention "
        "forward.layer_indices "
        "forward.query_key forward.recording forward.recordings grid images models.model_cards models.vit probabilities "
        "translation",
    "forward/relevance.py":
        "analysis architectures.axial_vit attention_hooks errors forward.block_attention forward.layer_indices module_swaps "
        "forward.recordings grid images models.model_cards models.vit translation",
    "models/assembly":
        "architectures.grey_input errors models.assembly models.attention_structure models.checkpoint_inspection "
        "models.embeddings models.formats models.model_cards models.transformers_models models.vit probabilities",
    "models/attention_structure.py":
        "architectures.grey_input architectures.meta_device architectures.model_summary architectures.vit_variants "
        "attention_hooks errors grid models.model_cards models.vit translation",
    "models/checkpoint_inspection":
        "architectures.classifier_head architectures.grey_input architectures.head_layers architectures.meta_device assets errors "
        "models probabilities translation",
    "models/embeddings.py": "architectures.grey_input models.model_cards models.vit translation",
    "models/formats":
        "architectures.classifier_head errors models.formats models.model_cards models.transformers_models probabilities "
        "translation",
    "models/hub_ids_and_weights.py": "errors models.model_cards models.model_size models.torchvision_ops translation",
    "models/hub_folder.py": "errors models.formats models.hub_ids_and_weights models.model_cards models.transformers_models",
    "models/load_model.py":
        "architectures.meta_device architectures.paper_models assets errors grid images models.assembly models.attention_structure "
        "models.checkpoint_inspection models.embeddings models.formats models.hub_ids_and_weights models.hub_folder "
        "models.local_files models.model_cards models.torchvision_ops models.vit probabilities translation",
    "models/local_files.py":
        "architectures.build_model architectures.classifier_head architectures.paper_models assets errors models.formats "
        "models.model_cards translation",
    "models/model_cards.py": "errors translation",
    "models/model_size.py":
        "architectures errors models.attention_structure models.local_files models.model_cards models.torchvision_ops models.vit "
        "translation",
    "models/random_weights.py": "models.load_model",
    "models/transformers_models":
        "architectures.grey_input architectures.meta_device attention_hooks errors models.model_cards models.torchvision_ops "
        "models.transformers_models module_swaps translation",
    "models/vit.py": "grid models.assembly models.model_cards probabilities translation",
}  # fmt: skip


def test_rooms_stand_on_those_below(subtests):
    for name, below in ROOMS.items():
        with subtests.test(name):
            place = ROOT / "vitcore" / name
            names = set().union(*(imports(file) for file in (place.glob("*.py") if place.is_dir() else [place])))
            assert outside(inside(names, "vitcore"), *(f"vitcore.{one}" for one in below.split())) == set()
            if name in ("grid.py", "models/model_cards.py", "csv_and_npz.py", "probabilities.py", "translation.py"):
                assert inside(names, "torch", "timm", "plotly") == set()


def test_no_file_of_these_rooms_is_passed_over():
    folders = (ROOT / "vitcore" / name for name in ("", "models", "architectures", "forward"))
    files = {file.relative_to(ROOT / "vitcore").as_posix() for folder in folders for file in folder.glob("[!_]*.py")}
    rooms = (ROOT / "vitcore" / name for name in ("models", "architectures", "forward"))
    packages = {file.parent.relative_to(ROOT / "vitcore").as_posix() for room in rooms for file in room.glob("*/__init__.py")}
    assert (files | packages) - ROOMS.keys() == set()


OWN_MODELS = ("vitcore.models.load_model", "vitcore.forward.recording", "vitcore.attention_hooks", "vitcore.train")
NOT_FOR_VIEWS = (*HEAVY, "numpy", *OWN_MODELS, "vitcore.analysis")
FOR_FORMS = ("vitcore.train.recipe", "vitcore.train.presets")  # what a recipe's form is made of: fields, no arithmetic


def computed(path: Path) -> set[str]:
    """What a view imports, but for annotations, and should ask of the state: arrays and their arithmetic, models, trainings."""
    return outside(inside(imports(path, at_run_time=True), *NOT_FOR_VIEWS), *FOR_FORMS)


def test_a_view_does_no_maths_and_builds_no_figure(subtests):
    for path, case in each(subtests, VIEWS):
        with case:
            assert computed(path) == set()
            if path in PAGES:
                assert inside(imports(path), *HEAVY, *OWN_MODELS) == set()


def test_the_wall_of_views_sees_one_that_computes(tmp_path):
    file = tmp_path / "pair.py"
    file.write_text(
        "from typing import TYPE_CHECKING\n"
        "from vitcore.train.recipe import Recipe\n"
        "if TYPE_CHECKING:\n    import pandas\n    from vitcore.models.load_model import Vit\n"
        "else:\n    import scipy.stats\n"
        "def f():\n    import numpy as np\n    from matplotlib import cm\n    from vitcore.models import load_model\n"
        "    from vitcore.train.trainer import conduct\n    from vitcore.analysis import filters\n"
    )
    arithmetic = {"matplotlib", "numpy", "scipy.stats", "vitcore.analysis.filters"}
    assert computed(file) == {*arithmetic, "vitcore.models.load_model", "vitcore.train.trainer.conduct"}


# Presses


def lost_presses(tree: ast.AST) -> list[str]:
    """What is done about a press only if its run comes to that line: another touch may cut the run short before."""
    values = {n for node in ast.walk(tree) if not isinstance(node, ast.Expr) for n in ast.iter_child_nodes(node)}
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call)]
    read = [n for n in calls if n in values and written(n.func).endswith(".button")]
    return [written(n.func) for n in [*read, *(n for n in calls if written(n.func) == "st.switch_page")]]


def test_no_press_and_no_switch_of_pages_is_lost(subtests):
    closes_what_it_stands_in = {ROOT / "app/views/train/run_panel.py": 2, ROOT / "app/views/learn/film_player.py": 1}
    for path, case in each(subtests, set(APP) - {ROOT / "app/shell/page_switch.py"}):
        with case:
            assert len(lost_presses(tree(path))) == closes_what_it_stands_in.get(path, 0)
    assert lost_presses(ast.parse("if place.button('Go'): st.switch_page(page)")) == ["place.button", "st.switch_page"]
    assert lost_presses(ast.parse("st.button('Go', on_click=go)")) == []


# Caching


def caches(path: Path) -> list[str]:
    """Every mention of Streamlit's caches in a file."""
    named = [n.attr for n in nodes(path) if isinstance(n, ast.Attribute)]
    named += [alias.name for n in nodes(path) if isinstance(n, ast.ImportFrom) for alias in n.names]
    return [name for name in named if name.startswith(("cache_data", "cache_resource", "experimental_memo"))]


def keeps(path: Path) -> list[str]:
    """Every function of a file that the one budget remembers."""
    functions = [n for n in nodes(path) if isinstance(n, ast.FunctionDef)]
    return [f.name for f in functions if "memory_cache.cached" in map(written, f.decorator_list)]


CACHING = [ROOT / "app" / f"{name}.py" for name in (
    "state/photos/sample_photos state/training/films state/training/training_estimate texts"
).split()]  # small things, by their number  # fmt: skip
KEEPING = [ROOT / "app" / "state" / f"{name}.py" for name in (
    "reports jobs/map_test_jobs jobs/photo_search_job photos/photo_collections photos/sample_photos models/live_onnx_graph "
    "models/loaded_models recordings/model_comparisons models/model_weights recordings/attention_bytes_for_browser "
    "recordings/look_bytes_for_browser recordings/cached_block_activations recordings/covered_photos "
    "recordings/cached_interventions "
    "recordings/cached_outliers recordings/cached_recordings recordings/relevance_maps "
    "recordings/patch_token_bytes_for_browser "
    "recordings/photo_patches training/films training/run_status training/training_preview"
).split()]  # by bytes  # fmt: skip


def test_only_the_state_caches(subtests):
    for path, case in each(subtests, APP):
        with case:
            assert path in CACHING or caches(path) == []
            assert (path in KEEPING) == bool(keeps(path))


CACHE = re.compile(r"(^|\.)(cache|lru_cache|cache_data|cache_resource)$")
BOUNDS = {"max_entries", "ttl", "maxsize"}


def unbounded(path: Path) -> list[str]:
    """What remembers without a bound: a cache made without a number, or as a decorator alone; there `lru_cache` has its own
    number, and of a function without parameters `cache` remembers one answer."""
    calls = [n for n in nodes(path) if isinstance(n, ast.Call) and CACHE.search(written(n.func))]
    given = {n: {k.arg for k in n.keywords if written(k.value) != "None"} for n in calls}
    found = [written(n) for n in calls if not given[n] & BOUNDS]
    for function in (n for n in nodes(path) if isinstance(n, ast.FunctionDef)):
        names = [written(one).rpartition(".")[2] for one in function.decorator_list if CACHE.search(written(one))]
        found += [name for name in names if name != "lru_cache" and (name != "cache" or written(function.args))]
    return found


def test_every_cache_is_bounded(subtests):
    for path, case in each(subtests, VITCORE + SHIPPING + APP):
        with case:
            assert unbounded(path) == []
            calls = [written(n.func) for n in nodes(path) if isinstance(n, ast.Call)]
            theirs = [name for name in calls if name.startswith("st.cache_")]
            assert len(theirs) == len(caches(path))
            assert theirs or path not in CACHING or any(name.endswith("lru_cache") for name in calls)


@pytest.mark.parametrize(("source", "found"), [
    ("@cache\ndef f(x): ...", ["cache"]),
    ("@functools.cache\ndef f(*, x): ...", ["cache"]),
    ("@lru_cache(maxsize=None)\ndef f(x): ...", ["lru_cache(maxsize=None)"]),
    ("@st.cache_data\ndef f(): ...", ["cache_data"]),
    ("@st.cache_resource(show_spinner=False)\ndef f(): ...", ["st.cache_resource(show_spinner=False)"]),
    ("f = functools.cache(g)", ["functools.cache(g)"]),
    ("f = st.cache_data(g)", ["st.cache_data(g)"]),
    ("@lru_cache\ndef f(x): ...\n@cache\ndef g(): ...\n@st.cache_data(ttl=9)\ndef h(x): ...", []),
])  # fmt: skip
def test_the_wall_of_caches_sees_one_without_a_bound(tmp_path, source, found):
    file = tmp_path / "page.py"
    file.write_text(source)
    assert unbounded(file) == found


# What is loaded early


EARLY = ["vitcore", "vitcore.models.model_cards", "vitcore.__main__", "app.menu"]


def test_nothing_heavy_is_loaded_before_it_is_used():
    """Of the app, beyond what Streamlit loads by itself: `tests/app/test_startup.py`."""
    script = (
        f"import sys, importlib\nfor module in {EARLY}: importlib.import_module(module)\n"
        f"print(*sorted(set(sys.modules) & set({sorted(HEAVY)})))"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def parts_before_the_whole(tree: ast.Module) -> list[str]:
    """Parts of torch and timm that are imported where the package itself was not, in the same block or at the top before it."""
    whole = {"torch", "timm"}
    found = []
    top = {name for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom) for name in _whole(node) & whole}
    for parent in ast.walk(tree):
        seen = set() if parent is tree else set(top)
        for node in getattr(parent, "body", []) if isinstance(getattr(parent, "body", None), list) else []:
            part = node.module or "" if isinstance(node, ast.ImportFrom) and not node.level else ""
            if "." in part and part.partition(".")[0] in whole - seen:
                found.append(part)
            seen |= _whole(node)
    return found


def _whole(node: ast.AST) -> set[str]:
    """The packages that a statement imports as a whole."""
    if isinstance(node, ast.Import):
        return {name.name for name in node.names if "." not in name.name}
    return {node.module} if isinstance(node, ast.ImportFrom) and node.module and "." not in node.module else set()


def test_a_package_is_imported_whole_before_a_part_of_it(subtests):
    """`from timm.layers import …` first locks the part and then asks for the package: of two visitors for whom the server loads
    timm, each with another part, one finds it half made (`import timm  # noqa: F401` before it waits for all of it)."""
    assert parts_before_the_whole(ast.parse("def f():\n    from timm.layers import x\n    import timm")) == ["timm.layers"]
    assert parts_before_the_whole(ast.parse("import torch\ndef f():\n    from torch.nn import x")) == []
    for path, each_case in each(subtests, [*VITCORE, *SHIPPING, *APP]):
        with each_case:
            assert parts_before_the_whole(tree(path)) == [], f"{label(path)}: import the package before"


def test_what_imports_its_parts_is_there_before_the_first_visitor():
    """Of two visitors, one who asks for the package and one who asks for a part of it, one would get an error of import's locks."""
    packages = [file for file in (*VITCORE, *APP) if file.name == "__init__.py" and file.parent != ROOT / "vitcore"]
    names = {file: ".".join(file.parent.relative_to(ROOT).parts) for file in packages}
    whole = {name for file, name in names.items() if any(one.startswith(f"{name}.") for one in imports(file, at_run_time=True))}
    assert whole and whole <= imports(ROOT / "app" / "main.py")


FIRST_FRAME = [ROOT / "app" / f"{name}.py" for name in (
    "main menu texts server/first_paint shell/navigation shell/load_page_visit shell/query_controls "
    "state/photos/sample_photos state/visit/current_model state/recordings/cached_recordings state/training/run_status"
).split()]  # fmt: skip


def test_the_first_frame_needs_nothing_heavy(subtests):
    heavy = *HEAVY, "vitcore.models.load_model", "vitcore.forward.recording", "vitcore.figures"
    for path, case in each(subtests, FIRST_FRAME):
        with case:
            assert inside(imports(path, early=True), *heavy) == set()


def test_names_of_the_package_arrive_when_asked_for(monkeypatch):
    for name in vitcore.__all__:
        monkeypatch.delitem(vars(vitcore), name, raising=False)  # where another test has asked
    assert all(hasattr(vitcore, name) for name in vitcore.__all__) and not hasattr(vitcore, "nothing")
    exec("from vitcore import *", star := {})
    assert {name: star[name] for name in vitcore.__all__} == {name: getattr(vitcore, name) for name in vitcore.__all__}


# Size and manners


def length(node: ast.AST) -> int:
    return node.end_lineno - node.lineno + 1  # type: ignore[attr-defined]


def test_nothing_grows_too_long(subtests):
    for path, case in each(subtests, VITCORE + SHIPPING + APP):
        with case:
            lines = path.read_text(encoding="utf-8").count("\n")
            assert lines <= (MOST_LINES_OF_A_PAGE if path in PAGES else MOST_LINES)
            functions = [n for n in nodes(path) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
            assert [f"{f.name}: {length(f)}" for f in functions if length(f) > MOST_LINES_OF_A_FUNCTION] == []


def test_every_file_begins_by_saying_what_it_is(subtests):
    for path, case in each(subtests, VITCORE + SHIPPING + APP + sorted((ROOT / "tests").rglob("*.py"))):
        with case:
            first = next((line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#!")), "")
            assert first.startswith('"""') and len(first.strip('"').strip()) > 15, "a file's first sentence says its idea"


def test_public_functions_say_what_they_do(subtests):
    for path, case in each(subtests, VITCORE + SHIPPING):
        with case:
            public = [n for n in tree(path).body if isinstance(n, ast.FunctionDef | ast.ClassDef) and not n.name.startswith("_")]
            assert [n.name for n in public if not ast.get_docstring(n)] == []


COUNTED = ("head", "layer", "block", "patch", "token", "place", "register", "row", "col", "column")


def shifted(path: Path) -> list[str]:
    """Where a sentence is told of a head, a layer, a patch, … by another number than its index."""
    found = []
    for node in nodes(path):
        if isinstance(node, ast.Call) and written(node.func).rpartition(".")[2] in ("say", "format"):
            told = [k.value for k in node.keywords if k.arg in COUNTED]
        elif isinstance(node, ast.JoinedStr):
            parts = zip(node.values, node.values[1:], strict=False)
            told = [b for a, b in parts if isinstance(a, ast.Constant) and a.value.lower().rstrip().endswith(COUNTED)]
        else:
            continue
        found += [written(n) for value in told for n in ast.walk(value) if written(n).endswith("+ 1")]
    return found


def test_people_read_the_numbers_that_python_and_the_address_hold(subtests):
    """Heads, layers, patches, rows and columns count from 0 on every page, in every figure and in the shell."""
    for path, case in each(subtests, VITCORE + SHIPPING + APP):
        with case:
            assert shifted(path) == []
    for path, case in each(subtests, sorted((ROOT / "app" / "components").rglob("*.js"))):
        with case:
            one_more = rf"\b({'|'.join(COUNTED)}): [\w.]+ [+] 1\b"
            assert re.search(one_more, path.read_text(encoding="utf-8")) is None


def test_the_wall_of_numbers_sees_one_that_is_shifted(tmp_path):
    file = tmp_path / "page.py"
    file.write_text('say("head {head}", head=i + 1)\nf"register {i + 1}"\nsay("{n} of {count}", n=i + 1)\n', encoding="utf-8")
    assert shifted(file) == ["i + 1", "i + 1"]


# The plan of the house


def test_no_room_stands_on_one_that_stands_on_it():
    import networkx as nx

    assert list(nx.simple_cycles(rooms.plan())) == []


def test_the_drawing_is_of_these_rooms():
    assert rooms.drawing(rooms.plan()) in rooms.TEXT.read_text(encoding="utf-8"), "python tests/rooms.py draws it anew"


def test_no_folder_is_crowded(subtests):
    for folder in sorted({path.parent for path in VITCORE + SHIPPING + APP}):
        with subtests.test(label(folder)):
            assert len([file for file in folder.glob("*.py") if file.name != "__init__.py"]) <= 12


SMALL = ["vitcore/paper"]  # to be a module


def test_a_package_has_at_least_three_files_or_is_a_module(subtests):
    """Files of any kind, and packages in it; one or two files are modules of the package above."""
    for folder in sorted({path.parent for path in VITCORE + SHIPPING + APP}):
        with subtests.test(label(folder)):
            within = [path for path in folder.iterdir() if path.name not in ("__init__.py", "__pycache__")]
            assert len(within) >= 3 or label(folder) in SMALL
