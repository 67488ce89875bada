"""From a description of plain numbers to a module: ViTs and hybrids through timm, their ablations, BiT, axial attention.

A description holds the arguments of timm's VisionTransformer, as a model file's card has them, and what is not among them.
Of the paper: `mlp_head` (the hidden tanh layer of its pre-training, §3.1), `family` ("vit" where nothing is said, "resnet",
"axial", "axial resnet"), `resnet` (a hybrid's backbone by name, or the depth of a ResNet), `positions` and `positions_at`
(Table 8).
Of checkpoints: `distilled` (DeiT's second token), `backbone` (blocks of each stage of a hybrid's ResNet), `mlp` ("swiglu" or
"swiglu packed") with `gate_activation` ("silu") and `gate` ("first half" or "second half"), `norm` ("rms"; "layer", without a
bias), `norm_place` ("after" attention and MLP), `norm_eps`,
`reads_class_and_mean` (DINOv2's classifier), `head_layers` with `head_activation`, `head_input` and `head_eps` (see
`build_classifier_head`), `head_output` ("tanh" over the logits), `attn_width` (of all heads together, where it is not `embed_dim`),
`patch_norms` (layer norms of a patch's pixels and of its embedding), and `timm` (another architecture of timm's by its name,
whose arguments the others are).
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import torch
from torch import nn

from vitcore.architectures.head_layers import TanhLinear, build_classifier_head
from vitcore.architectures.paper_models import BACKBONES, RESNETS, STAGES, find_paper_model

OWN_FIELDS = (
    "family", "resnet", "positions", "positions_at", "mlp_head", "norm_eps", "norm", "mlp", "distilled", "backbone",
    "gate_activation", "gate", "reads_class_and_mean", "timm", "head_layers", "head_activation", "head_input", "head_eps",
    "head_output", "attn_width", "patch_norms", "norm_place",
)  # fmt: skip
Size = int | tuple[int, int]
SOURCES_OF_WEIGHTS = ("checkpoint_path", "pretrained_cfg", "pretrained_cfg_overlay", "cache_dir")  # of timm's; ours are in the file


def describe_architecture(fields: Mapping[str, Any], image_px: Size, classes: int) -> dict[str, Any]:
    """The description of a recipe's fields, or of a family's; what is as the paper's default is left out."""
    family, resnet = fields.get("family", "vit"), fields.get("resnet", "")
    about: dict[str, Any] = {"img_size": image_px, "patch_size": fields["patch_px"], "embed_dim": fields["width"]}
    about |= {"depth": fields.get("blocks", 12), "num_heads": fields.get("heads", 3), "num_classes": classes}
    if family != "vit" or resnet:
        about |= {"family": family} | ({"resnet": resnet} if resnet else {})
    if fields.get("mlp_ratio", 4.0) != 4.0:
        about["mlp_ratio"] = fields["mlp_ratio"]
    if fields.get("readout", "class") == "mean" and family == "vit":
        about |= {"class_token": False, "global_pool": "avg", "fc_norm": False}  # the last norm stays where it is: Fig. 9
    if (kind := fields.get("positions", "1d")) == "none":
        about["pos_embed"] = "none"
    elif (kind, at := fields.get("positions_at", "stem")) != ("1d", "stem"):
        about |= {"positions": kind, "positions_at": at}
    return about | ({"mlp_head": True} if fields.get("mlp_head") and classes else {})


def build_from_description(description: Mapping[str, Any], size: Size | None, **more: Any) -> Any:
    """The module for images of `size` px (height, width); `more` are further arguments of timm's (dropout, say)."""
    shape = {name: value for name, value in description.items() if name not in OWN_FIELDS} | {"img_size": size} | more
    family, resnet = description.get("family", "vit"), description.get("resnet", "")
    if "timm" in description:
        import timm

        if not timm.is_model(str(description["timm"])):  # such as "hf-hub:owner/name", for which timm would ask the hub
            raise RuntimeError(f"Unknown model ({description['timm']})")  # timm's words
        shape = {name: value for name, value in shape.items() if name not in SOURCES_OF_WEIGHTS}
        return _with_head_layer(timm.create_model(description["timm"], pretrained=False, **shape), description)
    if family == "resnet":
        return _resnet(resnet, shape["embed_dim"] / 64, shape["num_classes"], size or 224)
    if family == "axial":
        from vitcore.architectures.axial_vit import AxialViT

        return _with_head_layer(AxialViT(**shape), description)
    if family == "axial resnet":
        from vitcore.architectures.axial_resnet import AxialResNet

        return AxialResNet(RESNETS[resnet], shape["embed_dim"], shape["num_heads"], shape["num_classes"], size or 224)
    if family != "vit":
        raise ValueError(f"there is no family {family!r}: vit, resnet, axial or axial resnet")
    if resnet in STAGES:
        description = {**description, "backbone": STAGES[resnet]}
        shape["patch_size"] = 1  # of the features
    shape |= _layers(description)
    if resnet and resnet not in STAGES:
        import timm

        shape.pop("patch_size", None)  # of the features: the backbone's own
        module: Any = timm.create_model(BACKBONES[resnet][0], pretrained=False, **shape)
    elif "positions" in description:
        from vitcore.architectures.position_ablations import AblatedViT

        module = AblatedViT(description["positions"], description.get("positions_at", "stem"), **shape)
    else:
        try:
            heads = {"num_heads": 1} if "attn_width" in description else {}
            drawn = {"weight_init": "skip"} if torch.get_default_device().type == "meta" else {}  # there is no number to draw
            module = _class(description)(**drawn | shape | heads)
        except TypeError as error:  # a setting that there is not: a file's mistake, and none of ours
            raise ValueError(str(error)) from None
    if "attn_width" in description:
        from vitcore.architectures.vit_variants import widen_attention

        biases = {term: shape.get(term, True) for term in ("qkv_bias", "proj_bias")}
        widen_attention(module, description["attn_width"], description["num_heads"], **biases)
    return _with_head_layer(module, description)


def _with_head_layer(module: Any, description: Mapping[str, Any]) -> Any:
    """The module with the hidden layer in its head that a description may ask for."""
    if description.get("mlp_head"):
        module.head = mlp_head(module.embed_dim, module.num_classes)
    if description.get("head_output") == "tanh" and module.num_classes:
        module.head = TanhLinear(module.embed_dim, module.num_classes)
    if description.get("head_layers"):
        module.head = build_classifier_head(
            description["head_layers"], description.get("head_activation", "relu"),
            description.get("head_input", "none"), float(description.get("head_eps", 1e-5)),
        )  # fmt: skip
    return module


def _class(description: Mapping[str, Any]) -> Any:
    import timm  # noqa: F401
    from timm.models.deit import VisionTransformerDistilled
    from timm.models.vision_transformer import VisionTransformer

    if description.get("reads_class_and_mean"):
        from vitcore.architectures.vit_variants import ClassAndMeanVit

        return ClassAndMeanVit
    return VisionTransformerDistilled if description.get("distilled") else VisionTransformer


def _layers(description: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that are classes: how a block's norms and MLP are made, and a hybrid's backbone."""
    import timm  # noqa: F401
    from timm.layers import GluMlp, HybridEmbed, LayerNorm, RmsNorm, SwiGLU
    from timm.models.vision_transformer import ResPostBlock
    from timm.models.vision_transformer_hybrid import _resnetv2

    made: dict[str, Any] = {}
    if {"norm", "norm_eps"} & set(description):
        norm: Any = {"rms": RmsNorm, "layer": partial(nn.LayerNorm, bias=False)}.get(description.get("norm", ""), LayerNorm)
        made["norm_layer"] = partial(norm, eps=float(description.get("norm_eps", 1e-6)))
    if description.get("mlp"):
        packed = partial(GluMlp, gate_last=description.get("gate") == "second half")
        made |= {"mlp_layer": {"swiglu": SwiGLU, "swiglu packed": packed}[description["mlp"]]}
        made["act_layer"] = description.get("gate_activation", "silu")
    if description.get("patch_norms"):
        from vitcore.architectures.vit_variants import NormedPatchEmbed

        made |= {"embed_layer": NormedPatchEmbed, "embed_norm_layer": made.get("norm_layer", LayerNorm)}
    if description.get("norm_place") == "after":
        made["block_fn"] = ResPostBlock
    if "backbone" in description:
        made["embed_layer"] = partial(HybridEmbed, backbone=_resnetv2(tuple(description["backbone"])))
    return made


def create_paper_model(name: str, classes: int = 1000, image_px: Size = 224) -> Any:
    """A model of the paper by its name, with random weights. Raises: ValueError, for a name that isn't there."""
    family = find_paper_model(name)
    if family is None:
        raise ValueError(f"{name} is no model of the paper")
    return build_from_description(describe_architecture(family.fields, image_px, classes), image_px)


def _resnet(depth: str, times: float, classes: int, size: Size) -> Any:
    """A BiT ResNet (arXiv 1912.11370) as timm's resnetv2_*_bit: pre-activation, weight-standardised, GroupNorm."""
    import timm  # noqa: F401
    from timm.layers import StdConv2d
    from timm.models.resnetv2 import ResNetV2

    module: Any = ResNetV2(
        layers=list(RESNETS[depth]), num_classes=classes, width_factor=times, stem_type="fixed",  # type: ignore[arg-type]
        conv_layer=partial(StdConv2d, eps=1e-8),
    )  # fmt: skip
    high, wide = (size, size) if isinstance(size, int) else size
    module.pretrained_cfg = {"input_size": (3, high, wide), "mean": (0.5,) * 3, "std": (0.5,) * 3}
    return module


def mlp_head(width: int, classes: int) -> nn.Sequential:
    """Features (B, width) to logits (B, classes) through one hidden tanh layer of the same width.

    arXiv 2010.11929 §3.1: "an MLP with one hidden layer at pre-training time and a single linear layer at fine-tuning
    time". It takes the place of a timm ViT's `head`, so `forward_head(pre_logits=True)` still ends before it.
    """
    return nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Linear(width, classes))
