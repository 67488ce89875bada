"""One photograph and one model become one `Recording`; every picture and number reads the recording.

The forward pass happens once; `AttentionHookMode` watches it, and reducers keep of its attention what pictures need: mean
distance of every head (arXiv 2010.11929 App. D.7), heads fused per block, and nothing else unless asked for. Shapes: L blocks,
H heads, T tokens = prefix + N patches.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vitcore.analysis.rollout import HEAD_FUSIONS, HeadFusion, rollout
from vitcore.attention_hooks import AttentionHookMode
from vitcore.errors import check_choice, warn_caller
from vitcore.forward.block_attention import AttentionCollector, attention_weights_buffer, read_only_array
from vitcore.forward.layer_indices import Layers, has_any_layer, layer_index, layer_indices
from vitcore.forward.onednn_linear import with_faster_modules
from vitcore.forward.query_key import QueryKey, QueryKeyReducer
from vitcore.forward.recordings import labelled_arrays, plots, recorded_attention, recording_file
from vitcore.forward.recordings.attention_per_image import PerImageAttentionCollector
from vitcore.forward.recordings.axial_attention import AxialAttentionCollector
from vitcore.grid import Grid
from vitcore.images import Crop, InputKind, Photo, PhotoSource, crop_for_model, open_photo
from vitcore.models.model_cards import ModelError
from vitcore.models.vit import Vit, check_bands, check_observed_calls, check_vit
from vitcore.module_swaps import with_block_hooks
from vitcore.probabilities import Output, probabilities, top_classes
from vitcore.translation import say, translated_labels


class AutocastWarning(UserWarning):
    """A model runs under `torch.autocast`, whose numbers have fewer digits than float32."""


told_of_passes: ContextVar[tuple[Callable[[Vit], None], ...]] = ContextVar("told_of_passes", default=())


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Recording:
    """What one forward pass left behind; arrays are float32 and read-only unless said otherwise."""

    model: str
    grid: Grid
    photo: Photo
    model_input: Crop  #: the pixels the model saw
    logits: NDArray[np.float32]  #: (classes,), or pooled features of a model without a head
    output: Output = "softmax"  #: what the logits mean
    labels: tuple[str, ...]
    distance_px: NDArray[np.float32]  #: (L, H), class token dropped, as the paper
    distance_renormalised_px: NDArray[np.float32]  #: (L, H), divided by what is left
    prefix_attention_share: NDArray[np.float32]  #: (L, H): what patches give to tokens that are not patches, of 1; 0 without prefix
    fused: dict[str, NDArray[np.float32]]  #: fusion -> (S, T, T); float16 beside queries and keys. S = L, of axial attention 2L
    maps: dict[int, NDArray[np.float16]]  #: block -> (H, T, T), only those asked for
    pooling_weights: NDArray[np.float32]  #: (T,): where the answer is read, a distribution over tokens
    norms: NDArray[np.float32]  #: (L, T): Euclidean norms of the tokens as they leave each block
    query_key: tuple[QueryKey, ...] = ()  #: of every block, where they were kept: see `record`
    masked: bool = False  #: whether outlier tokens are masked as keys: see `mask_outliers.mask_outlier_tokens`

    def __repr__(self) -> str:
        blocks = ", ".join(map(str, sorted(self.maps))) or "none"
        return (
            f"<Recording of {self.photo.name} by {self.model}: {self.grid.rows}×{self.grid.cols} patches, "
            f"{len(self.distance_px)} blocks, fused: {', '.join(self.fused)}; heads kept of blocks: {blocks}>"
        )

    @property
    def key(self) -> tuple[str, ...]:
        """What tells it from others: the model, the photo, and whether outlier tokens are masked in it."""
        return self.model, self.photo.key, *(["masked"] if self.masked else [])

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """(classes,) probabilities of the classes. Raises: ValueError, for a model that gives features."""
        return probabilities(self.logits, self.output)

    def top_classes(self, count: int = 5, translated: bool = False) -> list[tuple[str, float]]:
        """(label, probability) of the likeliest classes, as they are read if `translated`; empty for a model without classes."""
        return top_classes(self.logits, translated_labels(self.labels) if translated else self.labels, count, self.output)

    @property
    def steps(self) -> int:
        """Attention steps of a block: 1, of an axial one 2 (along rows, then along columns)."""
        fused = next(iter(self.fused.values()), None)
        return 1 if fused is None or not len(self.distance_px) else len(fused) // len(self.distance_px)

    save = recording_file.save_recording
    load = staticmethod(recording_file.load_recording)
    plot = plots.plot_recording
    to_xarray = labelled_arrays.to_xarray
    to_pandas = labelled_arrays.to_pandas
    attentions = property(recorded_attention.attention_maps)
    head_maps = recorded_attention.head_maps
    attention_per_layer = recorded_attention.attention_per_layer
    pooled_attention = recorded_attention.readout_attention
    rollout_per_layer = recorded_attention.rollout_per_layer

    def rollout(self, start: int | None = None, fusion: str = "mean", **settings: Any) -> NDArray[np.float64]:
        """Rollout of a token (default: where the answer is read) on the grid, (rows, cols).

        Settings are those of `analysis.rollout.rollout`: discard_ratio (of the weights between patches), residual, first_block and
        convention. Axial attention is followed through both of a block's steps, each with its residual. A map sums to 1 less the
        share of tokens that are not patches; the largest value of one by "vit-explain" is 1.
        Raises: ValueError, for a fusion that there is not; KeyError, for one that was not recorded; IndexError, for a token that
        there is not; ModelError, where rollout is not defined.
        """
        return self._roll_out(rollout, start, fusion, **settings)

    def _roll_out(
        self, run: Callable[..., NDArray], start: int | None, fusion: str, first_block: float = 0, **settings: Any
    ) -> NDArray:
        if not len(self.distance_px) or fusion not in self.fused:
            raise self._rollout_refusal(fusion)
        first = layer_index(int(first_block), len(self.distance_px), "blocks") * self.steps if first_block else 0
        begin = self.pooling_weights if start is None else start
        return self.grid.to_map(run(self.fused[fusion], begin, prefix=self.grid.prefix, first_block=first, **settings))

    def _rollout_refusal(self, fusion: str) -> Exception:
        if not len(self.distance_px):
            return ModelError("{name} does not attend over all patches of one grid in every block, so rollout is not defined "
                              "for it.", name=self.model)  # fmt: skip
        check_choice("fusion", fusion, HEAD_FUSIONS)
        return KeyError(f"heads were not fused by {fusion!r}: record(vit, image, fusions=[{fusion!r}]) does")


def record(
    vit: Vit, image: PhotoSource, *,
    maps: Layers = (), fusions: Iterable[HeadFusion] = ("mean",), exact: bool = False,
    store: Literal["maps", "query_key"] = "maps", inputs: InputKind | None = None,
) -> Recording:  # fmt: skip
    """Run the model once on one image and keep what the pictures need.

    `maps` names the blocks whose heads are kept whole: one or several, negative ones counted from the last, a slice, or "all";
    `fusions` the ways heads are fused. If `exact`, the model's own attention kernel computes its output and logits are
    bit-identical to a run that nobody watches; otherwise weights are computed once for both, linear layers are those that are
    faster on this CPU (`forward.onednn_linear`), and logits are within float32's rounding. `store="query_key"` holds fused
    heads in half precision and, where they tell all, each block's queries and keys: L·T·2D numbers instead of L·H·T², from
    which `query_key.recompute_heads` and `recompute_fused_heads` make the rest. `image` is a photo: a file, a picture, an array
    (H, W, 3) or (3, H, W) of bytes or of floats from 0 to 1, resized and cropped by the model's own transform. Floats (3, H, W) of
    the model's input size are normalised already, unless they are bytes over 255 (see `recordings.model_inputs`); a `Crop`, the
    `model_input` of a recording, is what the model sees. `inputs` says it: "photos"; "pixels" of that size; "normalised".
    Warns: UnclearInputsWarning, where an array of that size could be several of these.
    Raises: TypeError, for what is no Vit or no photo; ValueError, for what there is not; PhotoError; ModelError.
    """
    check_vit(vit)
    for fusion in sorted({*(fusions := tuple(fusions))} - {*HEAD_FUSIONS}):
        check_choice("fusion", fusion, HEAD_FUSIONS)
    if (wanted := has_any_layer(maps)) and not vit.is_global:
        raise ModelError(vit.why_undefined(say("attention of single heads")))
    blocks = layer_indices(maps, vit.structure.blocks, "blocks") if wanted else ()
    if inputs or isinstance(image, np.ndarray | Tensor | Crop | list | tuple):
        from vitcore.forward.recordings.model_inputs import open_for_model

        opened = open_for_model(vit, image, inputs)
    else:
        opened = (photo := open_photo(image, bands=vit.bands)), crop_for_model(photo.image, vit.transform, photo.bands)
    return record_batch(vit, [opened], maps=blocks, fusions=fusions, exact=exact, store=store)[0]


def record_batch(
    vit: Vit, photos: Sequence[tuple[Photo, Crop]], *, maps: Collection[int] = (), fusions: Sequence[HeadFusion] = ("mean",),
    exact: bool = False, store: Literal["maps", "query_key"] = "maps", attention: bool = True,
) -> list[Recording]:  # fmt: skip
    """`record` of several photos and their crops in one pass; settings are those of `record`, and already checked.

    Without `attention` only the photo and the logits of a recording mean anything. Raises: ModelError.
    """
    watched, norms = attention and vit.is_global, list[Tensor]()
    lean, buffer = store == "query_key" and vit.is_global, attention_weights_buffer(vit)
    kind = AxialAttentionCollector if vit.structure.axes else AttentionCollector
    watchers = [kind(vit, buffer, maps, fusions, exact, QueryKeyReducer() if lean else None) for _ in photos]
    module = with_faster_modules(vit.module, not exact, watched)
    if watched:
        module = with_block_hooks(module, lambda block, inputs, out: norms.append(out.float().norm(dim=-1).flatten(1)))
    watch = watchers[0] if len(watchers) == 1 else PerImageAttentionCollector(watchers)
    with torch.inference_mode(), AttentionHookMode(watch) if watched else nullcontext():
        logits = module(torch.cat([to_model_input(vit, crop.numbers) for _, crop in photos]))
    for one in watchers if watched else ():
        check_observed_calls(vit, one.calls)
    each_norms = torch.stack(norms, 1) if norms else torch.zeros(len(photos), 0, 0, dtype=torch.float32)
    return [
        Recording(
            model=vit.name, grid=vit.grid, photo=photo, model_input=crop, logits=read_only_array(answer.float()), output=vit.output,
            labels=vit.labels, norms=read_only_array(norm), **one.fields(),
        )
        for (photo, crop), answer, norm, one in zip(photos, logits, each_norms, watchers, strict=True)
    ]  # fmt: skip


def note_pass(vit: Vit) -> None:
    """What is to be called before each pass. Warns: AutocastWarning."""
    for tell in told_of_passes.get():
        tell(vit)
    if torch.is_autocast_enabled(vit.device.type):
        _warn_of_autocast(torch.get_autocast_dtype(vit.device.type))


def _warn_of_autocast(kind: torch.dtype) -> None:
    warn_caller(say("torch.autocast is on: numbers have the precision of {kind}.", kind=kind), AutocastWarning)


def to_model_input(vit: Vit, pixels: NDArray[np.uint8] | NDArray[np.float32]) -> Tensor:
    """Pixels (H, W, C), bytes or floats from 0 to 1, as the normalised tensor (1, C, H, W) the model takes, where it is and in its
    dtype. Raises: ModelError, where pixels have not as many numbers as the model reads."""
    note_pass(vit)
    check_bands(vit, pixels.shape[-1])
    x = torch.from_numpy(np.array(pixels)).permute(2, 0, 1).float().div_(255 if pixels.dtype == np.uint8 else 1)
    mean, std = torch.tensor([vit.mean, vit.std], dtype=torch.float32).view(2, -1, 1, 1)
    return ((x - mean) / std).unsqueeze(0).to(vit.weight)
