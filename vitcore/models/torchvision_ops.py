"""Let `import timm` work where torchvision's compiled operators do not load beside torch.

PyPI's torchvision is built for CUDA torch. Next to a CPU-only torch its library fails to load, the operator schemas
are missing, and `import torchvision` (so `import timm`) stops at `operator torchvision::nms does not exist`. Nothing
here needs those operators; declaring their two schemas is enough. Where the library loads, nothing is declared.
`import vitcore` arranges that it happens just before anyone imports timm or torchvision, and loads nothing itself.
"""

from __future__ import annotations

import importlib.abc
import importlib.util
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType

    import torch

SCHEMAS = {
    "nms": "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms": "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
}
_declaring = threading.Lock()
_declared: list[torch.library.Library] = []  # a Library undeclares its operators when collected


class _DeclareBeforeImport(importlib.abc.MetaPathFinder):
    """Lets the others find timm and torchvision, and has the schemas declared before what was found is run.

    Not while it is looked for: Python holds a lock then that all imports of all threads need, and torch takes seconds.
    """

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """What the others found, its loader told to declare the schemas first."""
        if name not in ("timm", "torchvision"):
            return None
        others = (finder.find_spec(name, path, target) for finder in sys.meta_path if finder is not self)
        spec = next((found for found in others if found), None)
        if spec and spec.loader:
            run = spec.loader.exec_module

            def declare_and_run(module: ModuleType) -> None:
                declare_torchvision_ops()
                run(module)

            spec.loader.exec_module = declare_and_run  # type: ignore[method-assign]
        return spec


def declare_before_timm() -> None:
    """Have the schemas declared when timm or torchvision is imported for the first time."""
    if "timm" not in sys.modules and not any(isinstance(finder, _DeclareBeforeImport) for finder in sys.meta_path):
        sys.meta_path.insert(0, _DeclareBeforeImport())


def declare_torchvision_ops() -> None:
    """Declare the schemas `import torchvision` insists on, only when they are missing."""
    import torch

    with _declaring:
        _load_compiled_ops()
        missing = [schema for name, schema in SCHEMAS.items() if not hasattr(torch.ops.torchvision, name)]
        if missing:
            library = torch.library.Library("torchvision", "FRAGMENT")
            for schema in missing:
                library.define(schema)
            _declared.append(library)


def _load_compiled_ops() -> None:
    """Load torchvision's own operator library, if this torch can."""
    import torch

    spec = importlib.util.find_spec("torchvision")
    for file in Path(spec.origin).parent.glob("_C.*") if spec and spec.origin else ():
        with suppress(OSError, RuntimeError):
            torch.ops.load_library(file)
