"""The one place where a file's tensors are looked over before anything is inferred from their shapes.

What comes after may index, divide and allocate by them: every side is positive, every tensor that is read has the number of
dimensions that such a tensor has, blocks and widths are of a size that some model has, and values are numbers.
"""

import re
from collections.abc import Mapping

import torch
from torch import Tensor

from vitcore.errors import shorten_name
from vitcore.models.checkpoint_inspection.differences import shape_text
from vitcore.models.formats.containers.file_errors import shared_out_error
from vitcore.models.formats.containers.lazy_tensor import LazyTensor
from vitcore.models.model_cards import ModelError

MAX_BLOCKS = 400
MIN_WIDTH, MAX_WIDTH = 4, 2**15
MAX_SIDE_PX = 2**13  # of an input
MAX_PATCH_PX = 256
MAX_DIMENSIONS = 6
INDEXES = re.compile(
    r"(.*[./_])?(\w*index\w*|position_ids|num_batches_tracked|\w*step|\w*version|\w*mask\w*|n_averaged|\w*count\w*|\w*idxs?)$"
)
NO_TOKENS = re.compile(r"(.*\.)?((register|storage)_tokens|cls_token)")  # 1×0×D or 0×D: of a model without any
SCALE = re.compile(r"\.\w*scale\w*$")  # of quantised weights: weight_scale, weight_scale_inv, scale_weight, input_scale
ZERO_POINT = ".zero_point"  # beside torch's packed weights of eight bits
BLOCK = re.compile(r"blocks\.(\d+)\.")
DIMENSIONS = (  # of timm's names: how many each has
    (re.compile(r"patch_embed\.proj\.weight"), (2, 4)),
    (re.compile(r"(pos_embed|(cls|dist|reg)_token|attn_pool\.latent)"), (3,)),
    (re.compile(r"blocks\.\d+\.(attn\.(qkv|proj|[qkv]_proj)|mlp\.fc\w+)\.weight"), (2,)),
    (re.compile(r"(blocks\.\d+\.)?(\w+\.)*\w*norm\w*\.(weight|bias)|blocks\.\d+\.(.+\.bias|ls\d\.gamma|gamma_\d)"), (1,)),
    (re.compile(r"attn_pool\.(q|kv|proj|mlp\.\w+)\.weight"), (2,)),
)


def check_weights_have_values(weights: Mapping[str, LazyTensor], file: str) -> None:
    """That all have values, and those are weights. Raises: ModelError, naming the first that is not."""
    if len(weights) > 1 and all(weight.shape == (0,) for weight in weights.values()):
        raise shared_out_error(file)
    scaled = {name.rpartition(".")[0] for name in weights if SCALE.search(name)}
    for name, weight in weights.items():
        eight_bits = weight.dtype is not None and weight.dtype.is_floating_point and weight.dtype.itemsize == 1
        if eight_bits and name.rpartition(".")[0] in scaled:  # its values are those times a scale
            raise _form_error(file, name, weight)
        if name.endswith(ZERO_POINT):
            raise _quantised_error(file, name.removesuffix(ZERO_POINT), "torch")
        is_index = len(weight.shape) < 2 or INDEXES.fullmatch(name) or weight.dtype == torch.bool
        if weight.dtype is None or weight.dtype.is_complex or not (weight.dtype.is_floating_point or is_index):
            raise _form_error(file, name, weight)
        least = 0 if NO_TOKENS.fullmatch(name) else 1
        if not all(least <= side < 2**31 for side in weight.shape) or len(weight.shape) > MAX_DIMENSIONS:
            raise _shape_error(file, name, weight.shape)


def check_shapes(state: Mapping[str, Tensor], file: str) -> None:
    """That shapes by timm's names are a ViT's, as far as they are read. Raises: ModelError, naming the first that is not."""
    for name, w in state.items():
        if name == "patch_embed.proj.weight" and w.ndim == 5:
            raise ModelError("{name} is a model of videos or volumes: its patches are {shape}, frames or slices first.",
                             name=file, shape=shape_text(tuple(w.shape[2:])))  # fmt: skip
        if name == "pos_embed" and w.ndim == 4:
            raise ModelError("{name} has positions by rows and columns, as image encoders of SAM and ViTDet have, whose blocks "
                             "attend in windows: transformers' folder of such a model can be opened.", name=file)  # fmt: skip
        known = next((sizes for pattern, sizes in DIMENSIONS if pattern.fullmatch(name)), None)
        if (known and w.ndim not in known) or (name.endswith("_token") and w.shape[:1] != (1,)) or not w.numel():
            raise _shape_error(file, name, tuple(w.shape))
    numbers = {int(m[1][:9]) for name in state if (m := BLOCK.match(name))}
    if numbers and (max(numbers) >= MAX_BLOCKS or max(numbers) >= 4 * len(numbers) + 8):
        raise ModelError("{name} holds a block {block} and {count} {count:block|blocks} in all, which no model does.",
                         name=file, block=max(numbers), count=len(numbers))  # fmt: skip
    widths = {w.shape[0] for name, w in state.items() if name.endswith(".norm1.weight")}
    width = max(widths, default=MIN_WIDTH)
    inner = {w.shape[0] // 3 for name, w in state.items() if re.fullmatch(r"blocks\.\d+\.attn\.qkv\.weight", name)}
    outer = {w.shape[-1] for name, w in state.items() if re.fullmatch(r"blocks\.\d+\.attn\.proj\.weight", name)}
    if len(inner) > 1 and inner == outer:
        raise ModelError("{name} has blocks whose attention is {widths} wide, as after some of its heads were pruned, which is not "
                         "opened here.", name=file, widths=", ".join(map(str, sorted(inner)[:4])))  # fmt: skip
    normed = [w.shape[0] for name, w in state.items() if re.fullmatch(r"blocks\.\d+\.attn\.[qk]_norm\.weight", name)]
    kernel, table = state.get("patch_embed.proj.weight"), state.get("pos_embed")
    if (
        not all(MIN_WIDTH <= one <= MAX_WIDTH for one in widths)
        or any(width % side for side in normed)
        or (kernel is not None and max(kernel.shape[2:], default=1) > MAX_PATCH_PX)
    ):
        odd = next(n for n in state if n.endswith((".q_norm.weight", ".k_norm.weight", ".norm1.weight", "proj.weight")))
        raise _shape_error(file, odd, tuple(state[odd].shape))
    if table is not None and table.shape[1] > (MAX_SIDE_PX // 4) ** 2:
        raise _shape_error(file, "pos_embed", tuple(table.shape))


def _form_error(file: str, name: str, weight: LazyTensor) -> ModelError:
    tensor, dtype = shorten_name(name), weight.dtype
    if weight.kind in ("torch", "torchao"):
        return _quantised_error(file, name, weight.kind)
    if weight.kind == "distributed":
        return ModelError("{name} holds one process's part of {tensor} (DTensor): gather it on all processes with full_tensor(), "
                          "and save that.", name=file, tensor=tensor)  # fmt: skip
    if weight.kind == "sparse":
        return ModelError("{name} holds {tensor} as a sparse tensor: save what to_dense() makes of it.", name=file, tensor=tensor)
    if weight.kind == "meta":
        return ModelError("{name} holds {tensor} without values, on torch's meta device: load the weights before you save them.",
                          name=file, tensor=tensor)  # fmt: skip
    if dtype is None:
        return ModelError("{name} holds {tensor} without plain values: save the weights as 16- or 32-bit floats.",
                          name=file, tensor=tensor)  # fmt: skip
    return ModelError("{name} holds {tensor} as {kind}, as quantised models do: save the weights as 16- or 32-bit floats.",
                      name=file, tensor=tensor, kind=str(dtype).removeprefix("torch."))  # fmt: skip


def _quantised_error(file: str, name: str, library: str) -> ModelError:
    return ModelError("{name} holds {tensor} as {library} quantised it: save the weights from before that, or those that "
                      "dequantize() makes of them.", name=file, tensor=shorten_name(name), library=library)  # fmt: skip


def _shape_error(file: str, name: str, shape: tuple[int, ...]) -> ModelError:
    return ModelError("{name} can't be opened: {tensor} is {shape}, which no such tensor of a Vision Transformer is.",
                      name=file, tensor=name[:60], shape=shape_text(shape)[:60])  # fmt: skip
