"""Writes `assets/timm/tensors.json`: digests of the tensors of timm's architectures, and the names of tensors by family.

    python tests/timm_tensors.py        # about four minutes

Run it when another version of timm is pinned; `tests/vitcore/models/test_timm_architectures.py` says so.
"""

import json
from collections import defaultdict
from pathlib import Path

import vitcore  # noqa: F401  before timm
from vitcore.architectures.meta_device import building_on_meta_device
from vitcore.models.checkpoint_inspection.timm_architectures import name_pattern, tensor_digest

FILE = Path(__file__).parent.parent / "assets" / "timm" / "tensors.json"


def shapes_and_classifier(name: str) -> tuple[dict[str, tuple[int, ...]], list[str]]:
    """Shapes of an architecture's tensors, and the names of its classifier's parts."""
    import timm

    with building_on_meta_device():
        module = timm.create_model(name, pretrained=False)
    said = module.pretrained_cfg.get("classifier") or ()
    return {key: tuple(w.shape) for key, w in module.state_dict().items()}, [said] if isinstance(said, str) else list(said)


def index() -> dict[str, object]:
    """What the file holds; the names behind a digest begin with those that timm has weights of, the shortest first."""
    import timm
    from timm.models import _registry

    architectures, families, classifiers = defaultdict(list), defaultdict(set), set()
    names = sorted(timm.list_models(), key=lambda name: (not timm.is_model_pretrained(name), len(name), name))
    for name in names:
        shapes, classifier = shapes_and_classifier(name)
        architectures[tensor_digest(shapes, classifier)].append(name)
        families[_registry._model_to_module[name]] |= {name_pattern(key) for key in shapes}
        classifiers.add(tuple(classifier))
    return {
        "timm": timm.__version__,
        "classifiers": sorted(classifiers),
        "architectures": dict(sorted(architectures.items())),
        "families": {family: sorted(patterns) for family, patterns in sorted(families.items())},
    }


if __name__ == "__main__":
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(json.dumps(index(), separators=(",", ":")) + "\n", encoding="utf-8")
