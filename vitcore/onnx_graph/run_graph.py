"""What an ONNX graph says of a picture, computed without a runtime: to compare a graph with the model that it was made of."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vitcore.onnx_graph.check_exportable import OnnxGraphError
from vitcore.onnx_graph.graph_nodes_and_weight_offsets import HEADS, INPUT, OUTPUTS


def run_onnx_graph(
    graph: bytes, weights: str | Path, image: NDArray[np.float32], heads: NDArray[np.float32] | None = None
) -> dict[str, NDArray[np.float32]]:
    """The outputs of `make_onnx_graph(vit, weights)` by name, by ONNX's own reference implementation in NumPy.

    image: (1, bands, H, W) after the model's preprocessing; heads: (L, H, 1, 1), all ones without.
    It takes seconds: a runtime is faster by far.
    Raises: OnnxGraphError, without the package onnx; OSError.
    """
    try:
        import onnx
        from onnx.reference import ReferenceEvaluator
    except ModuleNotFoundError:
        raise OnnxGraphError("The onnx package is not installed: pip install inside-vit[onnx].") from None
    model = onnx.load_from_string(graph)
    onnx.external_data_helper.load_external_data_for_model(model, str(Path(weights).parent))
    if heads is None:
        heads = np.ones([side.dim_value for side in model.graph.input[1].type.tensor_type.shape.dim], np.float32)
    found = ReferenceEvaluator(model).run(list(OUTPUTS), {INPUT: image, HEADS: heads})
    return {name: np.asarray(values, np.float32) for name, values in zip(OUTPUTS, found, strict=True)}
