"""Many photos, a batch at a time: numbers of each photo come as a stream, and memory does not grow with their number.

    for one in vitcore.record_many(vit, "folder", keep=("distance_px", "rollout")):
        print(one.name, one.rollout.max())

Each image of a batch is watched by itself, as `record` watches one. Shapes: L blocks, H heads, T tokens, C classes.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from tqdm import tqdm

from vitcore.analysis.rollout import HEAD_FUSIONS, HeadFusion
from vitcore.errors import check_choice, warn_caller
from vitcore.forward.recording import Recording, record_batch
from vitcore.forward.recordings.model_inputs import as_photo_list
from vitcore.forward.recordings.open_photos import OpenedPhoto, SkippedPhoto, count_photos, open_in_batches
from vitcore.images import InputKind, PhotoError
from vitcore.models.model_cards import ModelError
from vitcore.models.vit import Vit, check_vit, no_classes_error
from vitcore.translation import say

BATCH = 32
MOST_NAMED = 5  # photos that a warning names
OF_FUSED_HEADS = ("attention_per_layer", "rollout", "rollout_per_layer")
KEEPABLE = (
    "distance_px", "distance_renormalised_px", "prefix_attention_share", "norms", "pooling_weights", "logits", "probabilities",
    "top_classes", *OF_FUSED_HEADS, "recording",
)  # fmt: skip
OF_ANSWERS = ("logits", "probabilities", "top_classes")
OF_ANY_MODEL = (*OF_ANSWERS, "recording")
CountDone = Callable[[int, int | None], None]  # photos so far, and in all, if that is known


class SkippedPhotosWarning(UserWarning):
    """Some of many photos could not be opened."""


@dataclass(frozen=True, eq=False)
class PhotoNumbers:
    """What is kept of one of many photos, by the names in `keep`: each is an attribute, such as `numbers.rollout`."""

    index: int  #: its place among the photos, from 0
    name: str
    notes: tuple[str, ...]  #: what was changed to open it
    label: Any  #: what a DataLoader, or a pair (photo, label), has beside it; a single number is Python's; else None
    kept: Mapping[str, Any] = field(repr=False)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.kept]

    def __getattr__(self, name: str) -> Any:
        if name in KEEPABLE and name in self.kept:
            return self.kept[name]
        if name in KEEPABLE:
            raise AttributeError(f"{name} was not kept: record_many(vit, photos, keep=[{name!r}]) keeps it")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


class PhotoStream(Iterator[PhotoNumbers]):
    """Numbers of one photo after another. `skipped` are those that could not be opened so far; `total` may be unknown (None)."""

    def __init__(self, run: Callable[["PhotoStream"], Iterator[PhotoNumbers]], total: int | None) -> None:
        self.total, self.done = total, 0
        self.skipped: list[SkippedPhoto] = []
        self._numbers = run(self)

    def __next__(self) -> PhotoNumbers:
        return next(self._numbers)

    def __repr__(self) -> str:
        return f"<PhotoStream: {self.done} of {self.total if self.total is not None else '?'} photos, {len(self.skipped)} skipped>"


def record_many(
    vit: Vit, photos: Any, *, batch: int = BATCH, keep: Sequence[str] = ("distance_px", "rollout"), fusion: HeadFusion = "mean",
    workers: int | None = None, progress: bool | CountDone = True, inputs: InputKind | None = None,
) -> PhotoStream:  # fmt: skip
    """Run the model on many photos, `batch` at a time, and stream what is kept of each, in their order: `index`, `name`,
    `label` (of a DataLoader's pairs, also where it shuffles) and each name of `keep` as an attribute, `one.rollout`.

    `photos` is a folder, whose own pictures by Inside ViT are left out; an iterable of whatever `record` takes; an array or tensor
    (B, H, W, 3) or (B, 3, H, W); or a DataLoader of such batches. Of a batch that is a dict, as transformers makes them, its
    `pixel_values` are taken, which are normalised. Each is taken as `record` takes it, and what the first array of exactly the
    model's input size is, all of them are; `inputs` says it: "photos", "pixels" or "normalised". `keep` names fields and methods of
    `Recording`: distance_px and distance_renormalised_px and prefix_attention_share (L, H), norms (L, T), pooling_weights (T,),
    logits and probabilities (C,), top_classes, attention_per_layer (L, T, T), rollout (rows, cols), rollout_per_layer (L, rows,
    cols); or "recording", all of it with the whole photo. Numbers are `record`'s within float32's rounding. `workers` threads open
    photos ahead (0: none). `progress` shows a bar on standard error, or is called with the photos so far and in all.

    A photo that can't be opened is skipped and named, with its reason, in `PhotoStream.skipped`, and in a warning at the end.
    Warns: SkippedPhotosWarning; UnclearInputsWarning, for arrays that could be several of these.
    Raises: ValueError, for what can't be kept; TypeError, for other dicts; ModelError; PhotoError, where no photo can be opened.
    Those of photos come while they are read.
    """
    check_vit(vit)
    keep = (keep,) if isinstance(keep, str) else tuple(keep)
    _check(vit, batch, keep, fusion, workers)
    listed = as_photo_list(photos)
    fusions = (fusion,) if "recording" in keep or set(keep) & set(OF_FUSED_HEADS) else ()
    settings: dict[str, Any] = {"fusions": fusions, "attention": not set(keep) <= set(OF_ANSWERS)}

    def run(stream: PhotoStream) -> Iterator[PhotoNumbers]:
        given = 0
        with ExitStack() as stack:
            count = _count_done(progress, stream.total, stack)
            for some in open_in_batches(vit, listed, batch, workers, "recording" in keep, inputs):
                opened = [one for one in some if isinstance(one, OpenedPhoto)]
                stream.skipped += [one for one in some if isinstance(one, SkippedPhoto)]
                recordings = record_batch(vit, [(one.photo, one.crop) for one in opened], **settings) if opened else []
                numbers = [_numbers(one, rec, keep, fusion) for one, rec in zip(opened, recordings, strict=True)]
                del opened, recordings
                stream.done += len(some)
                count(stream.done, stream.total)
                given += len(numbers)
                yield from numbers
        _tell_of_skipped(stream, given)

    return PhotoStream(run, count_photos(listed))


def _check(vit: Vit, batch: int, keep: tuple[str, ...], fusion: str, workers: int | None) -> None:
    for name in keep:
        check_choice("what is kept", name, KEEPABLE)
    check_choice("fusion", fusion, HEAD_FUSIONS)
    if batch < 1 or (workers is not None and workers < 0):
        raise ValueError(f"batch is 1 or more and workers 0 or more, not {batch} and {workers}")
    if not vit.is_global and (undefined := [name for name in keep if name not in OF_ANY_MODEL]):
        raise ModelError(vit.why_undefined(undefined[0]))
    if "probabilities" in keep and vit.output == "features":
        raise no_classes_error(vit)


def _numbers(one: OpenedPhoto, rec: Recording, keep: tuple[str, ...], fusion: HeadFusion) -> PhotoNumbers:
    return PhotoNumbers(one.index, rec.photo.name, rec.photo.notes, one.label, {name: _kept(rec, name, fusion) for name in keep})


def _kept(rec: Recording, name: str, fusion: HeadFusion) -> Any:
    if name == "recording":
        return rec
    value = getattr(rec, name)
    if callable(value):
        value = value(fusion=fusion) if name in OF_FUSED_HEADS else value()
    if not isinstance(value, np.ndarray):
        return value
    own = value.copy()  # else one photo's row would hold its whole batch
    own.flags.writeable = False
    return own


def _count_done(progress: bool | CountDone, total: int | None, stack: ExitStack) -> CountDone:
    if callable(progress):
        return progress
    alone = total is not None and total < 2
    bar = stack.enter_context(tqdm(total=total, unit="photo", file=sys.stderr, disable=not progress or alone))
    return lambda done, _: bar.update(done - bar.n) and None


def _tell_of_skipped(stream: PhotoStream, given: int) -> None:
    """Warns: SkippedPhotosWarning. Raises: PhotoError, where every photo was skipped."""
    if not stream.skipped:
        return
    if not given and stream.done == 1:
        raise PhotoError(stream.skipped[0].reason)
    first = stream.skipped[0].reason
    if not given:
        raise PhotoError("None of the {count} {count:photo|photos} can be opened: {first}", count=stream.done, first=first)
    reasons = " ".join(one.reason for one in stream.skipped[:MOST_NAMED])
    told = say("{skipped} of {count} {count:photo|photos} can't be opened and {skipped:is|are} skipped: {reasons}",
               skipped=len(stream.skipped), count=stream.done, reasons=reasons)  # fmt: skip
    more = " …" if len(stream.skipped) > MOST_NAMED else ""
    warn_caller(f"{told}{more}", SkippedPhotosWarning)
