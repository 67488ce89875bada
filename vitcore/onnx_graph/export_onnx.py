"""The forward pass of a plain ViT as the nodes of an ONNX graph, whose weights stay in the safetensors file that it names.

The graph gives the logits, each layer's attention as the mean of its heads, and the last layer's tokens. Runtimes read the
weights as external data (ONNX IR, "External Tensor Data"); the shipped model's graph lies beside it and is served to browsers.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from vitcore.onnx_graph.check_exportable import check_onnx_exportable, onnx_activations
from vitcore.onnx_graph.graph_nodes_and_weight_offsets import HEADS, INPUT, OUTPUTS, GraphBuilder

if TYPE_CHECKING:
    from vitcore.models.vit import Vit


def make_onnx_graph(vit: Vit, weights: str | Path) -> bytes:
    """The graph of a model as the bytes of an `.onnx` file that is to lie beside `weights`, its safetensors file.

    Inputs: "image" (1, bands, H, W), pixels after the model's own preprocessing; "heads" (L, H, 1, 1), what each head's output is
    multiplied by before the projection: 1, or 0 for a head that is switched off (`switch_off(vit, ["L3H1"])`).
    Outputs: "logits" (1, classes), or pooled features of a model without a head; "attention" (L, T, T), a row a query, the mean of
    heads; "tokens" (T, D) as they leave the last layer. Float16 and bfloat16 weights are cast to float32 when they are loaded.
    The same model gives the same bytes.

    Raises: OnnxGraphError, for a model that is no plain ViT and for a file that does not hold its tensors, and without the package
    onnx; OSError.
    """
    check_onnx_exportable(vit)
    graph = GraphBuilder(Path(weights), vit)
    _forward(graph, vit)
    return graph.to_bytes()


def _forward(graph: GraphBuilder, vit: Vit) -> None:
    """The forward pass of timm's VisionTransformer (arXiv 2010.11929 Eq. 1 to 4), node by node."""
    module, tokens = vit.module, vit.grid.tokens
    x = _norm(graph, _embedding(graph, vit), "norm_pre", module.norm_pre)
    maps, layers = [], len(module.blocks)
    kept = graph.add("Split", HEADS, outputs=layers, axis=0, num_outputs=layers)
    for index, (block, switches) in enumerate(zip(module.blocks, [kept] if layers == 1 else kept, strict=True)):
        name = f"blocks.{index}"
        y = _norm(graph, x, f"{name}.norm1", block.norm1)
        y, weights = _attention(graph, y, f"{name}.attn", block.attn, tokens, switches)
        maps.append(weights)
        x = graph.add("Add", x, _scaled(graph, y, f"{name}.ls1.gamma"))
        y = _mlp(graph, _norm(graph, x, f"{name}.norm2", block.norm2), f"{name}.mlp", block.mlp)
        x = graph.add("Add", x, _scaled(graph, y, f"{name}.ls2.gamma"))
    answer = _answer(graph, _norm(graph, x, "norm", module.norm), vit)
    for name, value in zip(OUTPUTS, (answer, graph.add("Concat", *maps, axis=0), x), strict=True):
        graph.nodes.append(graph.onnx.helper.make_node("Identity", [value], [name]))


def _embedding(graph: GraphBuilder, vit: Vit) -> str:
    """Embedded patches and prefix tokens with their positions: (T, D)."""
    module, proj = vit.module, vit.module.patch_embed.proj
    bias = [graph.tensor("patch_embed.proj.bias")] if proj.bias is not None else []
    x = graph.add("Conv", INPUT, graph.tensor("patch_embed.proj.weight"), *bias, kernel_shape=list(proj.kernel_size),
                  strides=list(proj.stride), pads=list(proj.padding) * 2)  # fmt: skip
    x = graph.add("Transpose", graph.add("Reshape", x, graph.constant(module.embed_dim, -1)), perm=[1, 0])
    x = _norm(graph, x, "patch_embed.norm", module.patch_embed.norm)
    flat = graph.constant(-1, module.embed_dim)

    def positions() -> str:
        return str(graph.add("Reshape", graph.tensor("pos_embed"), flat))

    prefix = [
        graph.add("Reshape", graph.tensor(name), flat) for name in ("cls_token", "dist_token", "reg_token") if graph.has(name)
    ]
    placed = graph.has("pos_embed")
    if placed and module.no_embed_class:
        x = graph.add("Add", x, positions())
    x = graph.add("Concat", *prefix, x, axis=0) if prefix else x
    return graph.add("Add", x, positions()) if placed and not module.no_embed_class else x


def _attention(graph: GraphBuilder, x: str, name: str, attn: Any, tokens: int, switches: str) -> tuple[str, str]:
    """Self-attention of (T, D) tokens: what it adds, and its weights as the mean of heads (1, T, T); switches: (1, H, 1, 1)."""
    heads, each = attn.num_heads, attn.head_dim
    y = graph.add("Reshape", _linear(graph, x, f"{name}.qkv", attn.qkv), graph.constant(tokens, 3, heads, each))
    q, k, v = graph.add("Split", graph.add("Transpose", y, perm=[1, 2, 0, 3]), outputs=3, axis=0, num_outputs=3)
    q, k = _norm(graph, q, f"{name}.q_norm", attn.q_norm), _norm(graph, k, f"{name}.k_norm", attn.k_norm)
    q = graph.add("Mul", q, graph.constant(float(attn.scale)))
    w = graph.add("Softmax", graph.add("MatMul", q, graph.add("Transpose", k, perm=[0, 1, 3, 2])), axis=-1)
    y, flat = graph.add("MatMul", w, v), graph.constant(tokens, attn.attn_dim)
    if not graph.has(f"{name}.norm.weight"):
        y = graph.add("Reshape", graph.add("Transpose", graph.add("Mul", y, switches), perm=[0, 2, 1, 3]), flat)
    else:  # what is handed to the projection is normalised: the switch comes after that
        y = _norm(graph, graph.add("Reshape", graph.add("Transpose", y, perm=[0, 2, 1, 3]), flat), f"{name}.norm", attn.norm)
        switches = graph.add("Reshape", switches, graph.constant(heads, 1))
        y = graph.add("Reshape", graph.add("Mul", graph.add("Reshape", y, graph.constant(tokens, heads, each)), switches), flat)
    if getattr(attn, "gate", None) is not None:
        y = graph.add("Mul", y, graph.add("Sigmoid", _linear(graph, x, f"{name}.gate", attn.gate)))
    return _linear(graph, y, f"{name}.proj", attn.proj), graph.add("ReduceMean", w, graph.constant(1), keepdims=0)


def _mlp(graph: GraphBuilder, x: str, name: str, mlp: Any) -> str:
    y = _linear(graph, x, f"{name}.fc1", mlp.fc1)
    operator, attributes = onnx_activations()[type(mlp.act)]
    if operator == "Gelu" and getattr(mlp.act, "approximate", "none") == "tanh":
        attributes = {"approximate": "tanh"}
    if operator == "Sigmoid":  # x · σ(αx)
        alpha = attributes["alpha"]
        y = graph.add("Mul", y, graph.add("Sigmoid", y if alpha == 1 else graph.add("Mul", y, graph.constant(alpha))))
    else:
        y = graph.add(operator, y, **attributes)
    return _linear(graph, _norm(graph, y, f"{name}.norm", mlp.norm), f"{name}.fc2", mlp.fc2)


def _answer(graph: GraphBuilder, x: str, vit: Vit) -> str:
    """The logits of (T, D) tokens: from the class token (and the distillation token) or the mean of patches."""
    module = vit.module
    if graph.has("dist_token"):
        each = [_linear(graph, graph.add("Gather", x, graph.constant(i), axis=0), head, getattr(module, head))
                for i, head in enumerate(("head", "head_dist"))]  # fmt: skip
        return str(graph.add("Mul", graph.add("Add", *each), graph.constant(0.5)))
    if module.global_pool == "token":
        x = graph.add("Gather", x, graph.constant(0), axis=0)
    else:
        first = 0 if module.pool_include_prefix else module.num_prefix_tokens
        patches = graph.add("Slice", x, graph.constant(first), graph.constant(vit.grid.tokens), graph.constant(0)) if first else x
        x = graph.add("ReduceMean", patches, graph.constant(0), keepdims=1)
    return _linear(graph, _norm(graph, x, "fc_norm", module.fc_norm), "head", module.head)


def _linear(graph: GraphBuilder, x: str, name: str, layer: Any) -> str:
    """x · Wᵀ + b of rows; the row itself where the layer is an identity."""
    if not graph.has(f"{name}.weight"):
        return x
    bias = [graph.tensor(f"{name}.bias")] if graph.has(f"{name}.bias") else []
    return str(graph.add("Gemm", x, graph.tensor(f"{name}.weight"), *bias, transB=1))


def _norm(graph: GraphBuilder, x: str, name: str, layer: Any) -> str:
    """LayerNorm over the last axis; the tokens themselves where the layer is an identity."""
    if not graph.has(f"{name}.weight"):
        return x
    bias = [graph.tensor(f"{name}.bias")] if graph.has(f"{name}.bias") else []
    return str(graph.add("LayerNormalization", x, graph.tensor(f"{name}.weight"), *bias, epsilon=float(layer.eps), axis=-1))


def _scaled(graph: GraphBuilder, y: str, gamma: str) -> str:
    """What a layer adds, times its LayerScale (arXiv 2103.17239) where it has one."""
    return str(graph.add("Mul", y, graph.tensor(gamma))) if graph.has(gamma) else y
