"""An ONNX graph that grows node by node, and whose weights are external data: places in a safetensors file."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vitcore.onnx_graph.check_exportable import OnnxGraphError

if TYPE_CHECKING:
    import onnx

    from vitcore.models.vit import Vit

OPSET, IR_VERSION = 20, 10  # the first with Gelu; both are read by every runtime of the last two years
INPUT, HEADS, OUTPUTS = "image", "heads", ("logits", "attention", "tokens")


class GraphBuilder:
    """A graph that grows: each operation is a node that is named by its number, each tensor of the file an initializer."""

    def __init__(self, weights: Path, vit: Vit) -> None:
        try:
            import onnx
        except ModuleNotFoundError:
            raise OnnxGraphError("The onnx package is not installed: pip install inside-vit[onnx].") from None
        self.onnx, self.weights, self.vit = onnx, weights, vit
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self.begin, self.header = _safetensors_header(weights)
        self.tensors = dict(vit.module.state_dict())
        self.names: dict[Any, str] = {}  # of tensors and constants that are in the graph

    def add(self, operator: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        """A node; gives the name of its output, or of several their names."""
        names = [f"{operator}_{len(self.nodes)}" if outputs == 1 else f"{operator}_{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(self.onnx.helper.make_node(operator, inputs, names, **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, *values: int | float) -> str:
        """A vector of whole numbers, or one real number."""
        real = isinstance(values[0], float)
        if values not in self.names:
            self.names[values] = "constant_" + "_".join(map(str, values))
            array = np.float32(values[0]) if real else np.array(values, np.int64)
            self.initializers.append(self.onnx.numpy_helper.from_array(np.asarray(array), self.names[values]))
        return self.names[values]

    def tensor(self, name: str) -> str:
        """A weight in float32, as the file holds it or cast to it. Raises: OnnxGraphError."""
        if name in self.names:
            return self.names[name]
        kinds = self.onnx.TensorProto
        dtypes = {"F32": kinds.FLOAT, "F16": kinds.FLOAT16, "BF16": kinds.BFLOAT16}
        said = self.header.get(name, {})
        if said.get("shape") != list(self.tensors[name].shape) or said.get("dtype") not in dtypes:
            raise OnnxGraphError("{file} does not hold {tensor} as {name} has it.", file=self.weights.name, tensor=name,
                                 name=self.vit.display_name)  # fmt: skip
        first, last = said["data_offsets"]
        proto = kinds(name=name, dims=said["shape"], data_type=dtypes[said["dtype"]], data_location=kinds.EXTERNAL)
        place = {"location": self.weights.name, "offset": self.begin + first, "length": last - first}
        for key, value in place.items():
            proto.external_data.add(key=key, value=str(value))
        self.initializers.append(proto)
        self.names[name] = name if said["dtype"] == "F32" else self.add("Cast", name, to=kinds.FLOAT)
        return self.names[name]

    def has(self, name: str) -> bool:
        """Whether the module has such a tensor."""
        return name in self.tensors

    def to_bytes(self) -> bytes:
        """The whole, checked by ONNX itself but for its weights."""
        helper, kind = self.onnx.helper, self.onnx.TensorProto.FLOAT
        (high, wide), grid = self.vit.grid.image_px, self.vit.grid
        width = self.vit.module.embed_dim
        answers = self.vit.module.num_classes or width
        shapes = {"logits": (1, answers), "attention": (len(self.vit.module.blocks), grid.tokens, grid.tokens),
                  "tokens": (grid.tokens, width)}  # fmt: skip
        inputs = {INPUT: (1, self.vit.bands, high, wide), HEADS: (self.vit.blocks, self.vit.heads, 1, 1)}
        graph = helper.make_graph(
            self.nodes, "vit", [helper.make_tensor_value_info(name, kind, shape) for name, shape in inputs.items()],
            [helper.make_tensor_value_info(name, kind, shapes[name]) for name in OUTPUTS], self.initializers,
        )  # fmt: skip
        opset = [helper.make_opsetid("", OPSET)]
        model = helper.make_model(graph, opset_imports=opset, ir_version=IR_VERSION, producer_name="inside-vit")
        return bytes(model.SerializeToString(deterministic=True))


def _safetensors_header(file: Path) -> tuple[int, dict[str, Any]]:
    """Where a safetensors file's data begins, and what it says of each tensor (its format's README). Raises: OnnxGraphError."""
    with file.open("rb") as opened:
        begun = opened.read(8)
        size = struct.unpack("<Q", begun)[0] if len(begun) == 8 else 0
        text = opened.read(size) if 0 < size <= 100_000_000 else b""
    try:
        said = json.loads(text)
    except ValueError:
        said = None
    if not isinstance(said, dict):
        raise OnnxGraphError("{file} is no safetensors file.", file=file.name)
    return 8 + size, {name: about for name, about in said.items() if name != "__metadata__"}
