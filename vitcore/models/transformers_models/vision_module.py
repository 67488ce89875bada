"""A vision model of transformers as a module that other rooms can read: pictures in, one vector out, blocks by timm's names.

The model runs as transformers wrote it. What others put in the place of `blocks`, of the layer of patches or of the last picture of
features is run where the model has it: each pass has a shallow copy of its own. Shapes: B pictures, T tokens, N patches, D width.
"""

from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor, nn

from vitcore.architectures.grey_input import to_luma
from vitcore.attention_hooks import AttentionEvent, AttentionHookMode
from vitcore.errors import model_misfit_reason, raise_own_mistake
from vitcore.models.model_cards import ModelError
from vitcore.models.transformers_models.token_layout import (
    TokenLayout,
    UndefinedLayout,
    find_pooling,
    find_positions,
    find_token_layout,
)
from vitcore.models.transformers_models.vision_part import expected_picture_shape, read_output_tensor, run_vision_part
from vitcore.module_swaps import with_swapped_modules

TOLERANCE = 1e-5  # of the largest number of an answer


def build_vision_module(model: Any, has_text_parts: bool, image_px: tuple[int, int] | None = None) -> "TransformersVision":
    """The module of a model that is nobody else's, for pictures of `image_px` (height, width), else of its own size.

    has_text_parts: whether it reads texts, too. Raises: ModelError, for one that takes no such pictures, or can't be looked into.
    """
    channels, *own = expected_picture_shape(model.config)
    try:
        return TransformersVision(model, has_text_parts, channels, image_px or (own[0], own[1])).eval()
    except ModelError:
        raise
    except Exception as error:  # each class refuses pictures in its own way
        raise_own_mistake(error)
        raise ModelError("{name} can't be read: it gives no output for a single picture ({reason}).",
                         name=type(model).__name__, reason=model_misfit_reason(error)) from None  # fmt: skip


class TransformersVision(nn.Module):
    """One of transformers' models, for pictures of one size (B, 3, H, W): to logits or features (B, numbers)."""

    library = "transformers"
    needs_memory = True  # classes of theirs remember tensors of a pass, and would those of torch's meta device, too

    def __init__(self, model: Any, has_text_parts: bool, channels: int, image_px: tuple[int, int]) -> None:
        super().__init__()
        self.has_text_parts, self.channels, self.image_px = has_text_parts, channels, image_px
        self.places: dict[str, str] = {}  # parts by their names here: their names in the model
        self.why_not_global, self.reads_class_token = "", False
        self.layout: TokenLayout | None = None
        x = torch.randn(1, channels, *image_px, generator=torch.Generator().manual_seed(0))
        answers: list[Any] = []

        def run(part: Any) -> Tensor:
            answers[:] = [run_vision_part(part, x, has_text_parts)]
            return self._vector(answers[0])

        layout: TokenLayout | UndefinedLayout = find_token_layout(model, run, image_px)
        whole = answers[0]
        field, numbers = read_output_tensor(whole) or ("", x)
        self.num_classes = numbers.shape[-1] if field == "logits" else 0
        if isinstance(layout, TokenLayout):
            self.layout = layout
            self.reads_class_token = layout.prefix[:1] == ("class",) and layout.order[0] == 0
            self.pooling = find_pooling(model, layout, run)
            if not self.pooling:
                layout = UndefinedLayout("answer", layout.patches, layout.grid)
        elif layout.why == "order" and field == "last_hidden_state":
            raise ModelError("{name} can't be read: which of its tokens are patches could not be established.",
                             name=type(model).__name__)  # fmt: skip
        self.layout = layout if isinstance(layout, TokenLayout) else None
        self._place(model, layout)
        if self.layout is None:
            self._place_features(model, x)
        with torch.no_grad():
            self.positions = find_positions(model, self.layout, run) if self.layout else None
        self.model = model  # after its parts: their names here come first
        with torch.no_grad():
            expected, given = self._vector(whole), self(x)
        if not bool((given - expected).abs().max() <= TOLERANCE * expected.abs().max()):
            raise ModelError("{name} can't be read: its blocks, run one by one, do not give the same answer twice.",
                             name=type(model).__name__)  # fmt: skip

    def _place(self, model: Any, layout: TokenLayout | UndefinedLayout) -> None:
        """Give the parts that were found the names of timm's, before the model's own."""
        if layout.patches:
            cut: Any = model.get_submodule(layout.patches)
            self.patch_embed = _PatchEmbedding(cut, self.image_px, layout.grid)
            self.embed_dim = cut.out_channels
            self.places["patch_embed.proj"] = layout.patches
        else:
            first = next((name for name, part in model.named_modules() if isinstance(part, nn.Conv2d)), "")
            if first:
                self.stem, self.places["stem"] = model.get_submodule(first), first
        if isinstance(layout, UndefinedLayout):
            self.why_not_global = layout.why
            return
        self.prefix_names, self.num_prefix_tokens = layout.prefix, len(layout.prefix)
        blocks: Any = model.get_submodule(layout.blocks)
        self.blocks = nn.ModuleList(blocks if layout.given < 0 else [_TokensOnly(block) for block in blocks])

    def _place_features(self, model: Any, x: Tensor) -> None:
        """Of a model without blocks over one grid, name the last part that makes a picture of features."""
        found: list[str] = []

        def note(name: str) -> Any:
            def hook(part: nn.Module, given: Any, out: Any) -> None:
                if isinstance(out, Tensor) and out.ndim == 4 and min(out.shape[2:]) > 1 and out.shape[2] * 4 <= x.shape[2]:
                    found.append(name)

            return hook

        with ExitStack() as hooks, torch.no_grad():
            for name, part in model.named_modules():
                if name:
                    hooks.enter_context(part.register_forward_hook(note(name)))
            run_vision_part(model, x, self.has_text_parts)
        if found:
            self.places["features"] = found[-1]
            self.features = model.get_submodule(found[-1])

    def forward(self, x: Tensor) -> Tensor:
        """Logits or features (B, numbers) of pictures (B, 3, H, W); of a model of one channel they are made grey."""
        x = to_luma(x) if self.channels == 1 else x
        parts: dict[str, nn.Module] = {place: self.get_submodule(name) for name, place in self.places.items()}
        if self.layout is not None:
            parts[self.layout.blocks] = nn.ModuleList(
                _InPlace(block, self.layout.order, self.layout.given) for block in self.blocks
            )
        answer = self._vector(run_vision_part(with_swapped_modules(self.model, **parts), x, self.has_text_parts))
        if len(answer) != len(x):  # Pixtral: the pictures of a batch are one sequence
            raise ModelError("{name} takes one picture at a time.", name=type(self.model).__name__)
        return answer

    def _vector(self, out: Any) -> Tensor:
        """The answer as one vector a picture: transformers' own, else the class token, else the mean of the patches."""
        found = read_output_tensor(out)
        if found is None:
            raise ModelError("{name} does not give one vector of numbers for a picture.", name=type(out).__name__)
        given = found[1]
        if given.ndim == 4:
            return given.mean((2, 3))
        if given.ndim == 2:
            return given
        return given[:, 0] if self.reads_class_token else given[:, self._patch_places(given)].mean(1)

    def _patch_places(self, tokens: Tensor) -> list[int]:
        """The places of the patches in a sequence of tokens; all, where there are other tokens than the blocks had."""
        layout, count = self.layout, tokens.shape[1]
        return list(range(count)) if layout is None or len(layout.order) != count else list(layout.order[len(layout.prefix) :])

    @property
    def position_table(self) -> Tensor | None:
        """Learned positions of the patches (1, N, D); None where there is no such table."""
        if self.positions is None:
            return None
        name, rows = self.positions
        table = self.model.get_parameter(name).detach()
        return table.view(-1, table.shape[-1])[list(rows)].unsqueeze(0)

    @torch.no_grad()
    def attention_bias(self, block: int) -> Tensor | None:
        """(H, T, T) that is added to a block's scores; None where nothing is."""
        found: list[Tensor | None] = []
        tokens = len(self.layout.order) if self.layout else 0

        def watch(event: AttentionEvent) -> None:
            if tuple(event.shape[-2:]) == (tokens, tokens):
                found.append(getattr(event, "mask", None))

        first = next(self.model.parameters())
        with AttentionHookMode(watch):
            self(torch.zeros(1, 3, *self.image_px, device=first.device, dtype=first.dtype))
        bias = found[block] if block < len(found) else None
        return None if bias is None else bias.reshape(-1, *bias.shape[-2:])

    @torch.no_grad()
    def init_weights(self) -> None:
        """Draw all weights anew, as transformers draws them before a training."""
        fresh = dict(type(self.model)(self.model.config).named_parameters())
        for name, p in self.model.named_parameters():
            p.copy_(fresh[name])

    @property
    def early_parameters(self) -> frozenset[str]:
        """Names of the parameters of what runs before the blocks."""
        early = self.layout.early if self.layout else ()
        return frozenset(f"model.{part}.{name}".replace("..", ".") for part in early
                         for name, _ in self.model.get_submodule(part).named_parameters(recurse=False))  # fmt: skip


class _PatchEmbedding(nn.Module):
    """The layer that embeds patches: pictures (B, 3, H, W) to (B, N, D), before positions."""

    def __init__(self, proj: nn.Conv2d, image_px: tuple[int, int], grid: tuple[int, int]) -> None:
        super().__init__()
        self.proj, self.img_size, self.grid_size, self.patch_size = proj, image_px, grid, proj.kernel_size

    def forward(self, x: Tensor) -> Tensor:
        return self.proj(x).flatten(2).transpose(1, 2)


class _TokensOnly(nn.Module):
    """A block that returns a tuple, as one that returns its tokens."""

    def __init__(self, block: nn.Module) -> None:
        super().__init__()
        self.block = block

    def forward(self, x: Tensor, *given: Any, **named: Any) -> Tensor:
        return self.block(x, *given, **named)[0]


class _InPlace(nn.Module):
    """A block as its model calls it: tokens are brought into the order of the grid and back, and returned as the model expects."""

    def __init__(self, block: nn.Module, order: tuple[int, ...], given: int) -> None:
        super().__init__()
        self.block, self.order, self.given = block, order, given

    def forward(self, x: Tensor, *given: Any, **named: Any) -> Any:
        plain = self.order == tuple(range(len(self.order)))
        if plain:
            x = self.block(x, *given, **named)
        else:
            order = torch.tensor(self.order, device=x.device)
            x = self.block(x[:, order], *given, **named)[:, order.argsort()]
        return x if self.given < 0 else (x, *(None for _ in range(self.given)))
