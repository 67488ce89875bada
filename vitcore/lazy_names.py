"""Public names of a package, imported when they are asked for: what completion (`dir`) shows is these, and nothing else."""

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def offer_names(
    package: str, names_by_module: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package whose public names are in these modules of it; "": modules themselves."""
    home = {name: module for module, of_module in names_by_module.items() for name in of_module.split()}

    def find(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = importlib.import_module(f"{package}.{home[name] or name}")
        value = getattr(module, name) if home[name] else module
        setattr(sys.modules[package], name, value)
        return value

    return find, show_names(package), sorted(home)


def show_names(package: str) -> Callable[[], list[str]]:
    """`__dir__` of a package or module: its `__all__`, and what Python itself puts there."""
    module = sys.modules[package]
    return lambda: sorted({*module.__all__, *(name for name in vars(module) if name.startswith("__"))})
