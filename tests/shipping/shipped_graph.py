"""`python -m tests.shipping.shipped_graph`: the graph of the shipped model, which lies beside its weights."""

from collections.abc import Callable
from pathlib import Path

from vitcore.models.load_model import load
from vitcore.models.local_files import SHIPPED_MODELS
from vitcore.models.model_cards import DEFAULT_MODEL
from vitcore.onnx_graph.export_onnx import make_onnx_graph


def shipped_graph(name: str = DEFAULT_MODEL) -> tuple[Path, Callable[[], bytes]]:
    """Where a shipped model's graph lies, and what makes it anew."""
    weights = SHIPPED_MODELS / f"{name}.safetensors"
    return weights.with_suffix(".onnx"), lambda: make_onnx_graph(load(name), weights)


if __name__ == "__main__":
    file, make = shipped_graph()
    file.write_bytes(make())
    print(f"{file} · {file.stat().st_size / 1e3:.0f} kB")
