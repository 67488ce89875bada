"""Which models an ONNX graph is made of: plain ViTs whose every part is known; of others, which part is not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vitcore.errors import RefusalError

if TYPE_CHECKING:
    from vitcore.models.vit import Vit


class OnnxGraphError(RefusalError):
    """A model that no graph is made of; the message says why, in one sentence."""


def check_onnx_exportable(vit: Vit) -> None:
    """Raises: OnnxGraphError, where a part of the model is none that a graph can be made of; it names the part."""
    import timm  # noqa: F401
    from timm.layers import DropPath, LayerScale, PatchDropout, PatchEmbed
    from timm.layers.norm import LayerNorm as TimmLayerNorm
    from timm.models.deit import VisionTransformerDistilled
    from timm.models.vision_transformer import Attention, Block, Mlp, VisionTransformer
    from torch import nn

    plain = (VisionTransformer, VisionTransformerDistilled)
    known = {*plain, Attention, Block, Mlp, PatchEmbed, LayerScale, DropPath, PatchDropout, TimmLayerNorm, nn.LayerNorm, nn.Linear,
             nn.Conv2d, nn.Identity, nn.Dropout, nn.Sequential, *onnx_activations()}  # fmt: skip
    if type(vit.module) not in plain:
        raise OnnxGraphError("{name} is a {kind}, and an ONNX graph is made of plain ViTs alone.", name=vit.display_name,
                             kind=type(vit.module).__name__)  # fmt: skip
    for name, part in vit.module.named_modules():
        if type(part) not in known:
            raise OnnxGraphError("{name} has a part that no ONNX graph is made of: {part}, a {kind}.", name=vit.display_name,
                                 part=name, kind=type(part).__name__)  # fmt: skip
        if isinstance(part, nn.LayerNorm) and part.weight is None:
            raise OnnxGraphError("{name} has a part that no ONNX graph is made of: {part}, a {kind}.", name=vit.display_name,
                                 part=name, kind="LayerNorm without weights")  # fmt: skip
        if part._forward_hooks or part._forward_pre_hooks:
            raise OnnxGraphError("{name} is changed by a hook on {part}, which an ONNX graph would leave out.",
                                 name=vit.display_name, part=name or "it")  # fmt: skip
    positions = vit.module.pos_embed
    if positions is not None and positions.shape[1] != vit.grid.tokens - vit.module.no_embed_class * vit.grid.prefix:
        raise OnnxGraphError("{name} resizes its position embeddings in each pass, which an ONNX graph would leave out.",
                             name=vit.display_name)  # fmt: skip
    if vit.module.global_pool not in ("token", "avg"):
        raise OnnxGraphError("{name} reads its answer by {pooling}, which no ONNX graph is made of.", name=vit.display_name,
                             pooling=repr(vit.module.global_pool))  # fmt: skip


def onnx_activations() -> dict[type, tuple[str, dict[str, Any]]]:
    """Activations as operators of ONNX with their attributes; GELU with tanh is told by its own `approximate`."""
    import timm  # noqa: F401
    from timm.layers import GELU, GELUTanh, QuickGELU
    from torch import nn

    exact: dict[str, Any] = {"approximate": "none"}
    return {nn.GELU: ("Gelu", exact), GELU: ("Gelu", exact), GELUTanh: ("Gelu", {"approximate": "tanh"}), nn.ReLU: ("Relu", {}),
            nn.SiLU: ("Sigmoid", {"alpha": 1.0}), QuickGELU: ("Sigmoid", {"alpha": 1.702})}  # fmt: skip
