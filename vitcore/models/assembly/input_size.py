"""Another input size for a module: whether its patches fill it, and its learned positions resampled."""

from typing import Any

from torch import Tensor, nn

from vitcore.models.checkpoint_inspection.differences import shape_text
from vitcore.models.embeddings import timm_resample_kwargs
from vitcore.models.formats.image_processor import MAX_SIDE_PX
from vitcore.models.model_cards import ModelError


def check_input_size(size: Any) -> None:
    """Raises: ModelError, for what is no input size."""
    sides = size if isinstance(size, tuple | list) else (size, size)
    if len(sides) != 2 or not all(type(side) is int and 1 <= side <= MAX_SIDE_PX for side in sides):
        raise ModelError("An input size is a number of pixels from 1 to {most}, or height and width, not {size}.",
                         most=f"{MAX_SIDE_PX:,}", size=repr(size))  # fmt: skip


def check_patches_fill_input(module: Any, size: int | tuple[int, int]) -> None:
    """Raises: ModelError, for an input size that the module's patches do not fill."""
    import timm  # noqa: F401
    from timm.layers import to_2tuple

    patch = to_2tuple(getattr(getattr(module, "patch_embed", None), "patch_size", 1))
    sides = list(zip(height_and_width(size), patch, strict=True))
    if any(side % step for side, step in sides):
        near = tuple(max(1, round(side / step)) * step for side, step in sides)
        raise ModelError("{size} px is not a whole number of patches of {patch} px; {near} px is.",
                         size=shape_text(height_and_width(size)), patch=shape_text(patch), near=shape_text(near))  # fmt: skip


def check_fixed_size(module: Any, name: str, size: int | tuple[int, int] | None) -> None:
    """Raises: ModelError, for another input size than the only one (`image_px`) that a module of transformers takes."""
    own = getattr(module, "image_px", None)
    if size and own and height_and_width(size) != own:
        raise ModelError("{name} takes only pictures of {high}×{wide} px.", name=name, high=own[0], wide=own[1])


def height_and_width(size: int | tuple[int, int]) -> tuple[int, int]:
    """Height and width of an input size that may be one number."""
    return (size, size) if isinstance(size, int) else (size[0], size[1])


def resize_module_input(module: Any, image_px: int | tuple[int, int], positions_by: str) -> None:
    """Another input size for a module; its learned positions are resampled."""
    check_patches_fill_input(module, image_px)
    table, grid = module.pos_embed, list(module.patch_embed.grid_size)
    way = timm_resample_kwargs(positions_by)
    module.set_input_size(img_size=height_and_width(image_px))  # as timm
    if positions_by != "timm" and isinstance(table, Tensor):
        import timm  # noqa: F401
        from timm.layers import resample_abs_pos_embed

        prefix, new = table.shape[1] - grid[0] * grid[1], list(module.patch_embed.grid_size)
        module.pos_embed = nn.Parameter(resample_abs_pos_embed(table, new, grid, num_prefix_tokens=prefix, **way))
