"""Streamed photos: sets too large to keep decoded, and RandAugment, through timm's transform in worker processes."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from vitcore.images import PhotoError
from vitcore.train.data.batches_and_mixup import Batch, make_batch, photo_indices_of_epoch_stream, places_in_batch
from vitcore.train.data.photos import DataError, Photos, unreadable_photos_sentence
from vitcore.train.recipe import Recipe
from vitcore.train.seeds import ITEMS, seeded_generators

Place = tuple[int, int]  # step, position in its whole batch
BatchRequest = tuple[int, int, int, int, int]  # step, micro, passes, rank, world


class StreamedPhotos:
    """Photos decoded when they are needed; the same batches come out as from any other number of workers."""

    def __init__(self, recipe: Recipe, photos: Photos, device: torch.device | str, mean: Sequence[float],
                 std: Sequence[float]) -> None:  # fmt: skip
        import timm  # noqa: F401
        from timm.data import create_transform

        if not len(photos):
            raise DataError("{name} holds no photos.", name=photos.name)
        self.recipe, self.photos, self.device = recipe, photos, torch.device(device)
        self.problems: list[str] = []
        transform = create_transform(
            recipe.image_px, is_training=True, scale=(recipe.crop_area, 1.0), hflip=0.5 if recipe.flip else 0.0,
            color_jitter=0.0, auto_augment=recipe.rand_augment or None, interpolation="bicubic", mean=tuple(mean),
            std=tuple(std), crop_pct=1.0,
        )  # fmt: skip
        self._items = TrainingStepPhotos(recipe, photos, transform)
        self._next: BatchRequest | None = None
        self._stream: Iterator[Any] = iter(())

    def __len__(self) -> int:
        return len(self.photos)

    def batch(self, step: int, micro: int = 0, passes: int = 1, rank: int = 0, world: int = 1) -> Batch:
        """Pass `micro` of `passes` of a step (from 0) in process `rank` of `world`; fast if asked for in order.

        Raises: DataError, if the photos are gone or all are broken; RecipeError, if the batch can't be shared so.
        """
        places_in_batch(self.recipe, micro, passes, rank, world)
        ask = step, micro, passes, rank, world
        if ask != self._next:
            self._stream = iter(self._loader(ask))
        pixels, labels, problems = next(self._stream)
        self._next = _next_batch_request(ask)
        self.problems += [said for said in dict.fromkeys(problems) if said not in self.problems]
        if pixels is None:
            raise DataError(problems[-1])
        pixels, labels = pixels.to(self.device, non_blocking=True), labels.to(self.device, non_blocking=True)
        return make_batch(self.recipe, pixels, labels, len(self.photos.classes), step, micro * world + rank)

    def _loader(self, ask: BatchRequest) -> DataLoader:
        return DataLoader(
            self._items,
            batch_sampler=_batch_places_from(self.recipe, ask),
            num_workers=self.recipe.workers,
            collate_fn=_collate_photos,
            pin_memory=self.device.type == "cuda",
            generator=torch.Generator(),  # else it draws from everybody's
        )


def _next_batch_request(request: BatchRequest) -> BatchRequest:
    """What is asked for after `request` by a loop that leaves nothing out."""
    step, micro, passes, rank, world = request
    return (step, micro + 1, passes, rank, world) if micro + 1 < passes else (step + 1, 0, passes, rank, world)


def _batch_places_from(recipe: Recipe, request: BatchRequest) -> Iterator[list[Place]]:
    """The places of batch after batch from `request` on, without end."""
    while True:
        step, *share = request
        yield [(step, position) for position in places_in_batch(recipe, *share)]
        request = _next_batch_request(request)


class PhotoItem(NamedTuple):
    """One photo on its way: pixels (3, px, px), or None where there is nothing to be had, and what went wrong."""

    pixels: Tensor | None
    label: int
    problems: tuple[str, ...]


class TrainingStepPhotos(Dataset[PhotoItem]):
    """Photos by place, transformed with every generator seeded by their place."""

    def __init__(self, recipe: Recipe, photos: Photos, transform: Any) -> None:
        self.recipe, self.photos, self.transform = recipe, photos, transform

    def __getitem__(self, place: Place) -> PhotoItem:
        step, position = place
        first, count, problems = step * self.recipe.batch + position, len(self.photos), list[str]()
        try:
            for at in range(first, first + 2 * count):  # the photo planned for this place, then those after it: each at least once
                i = int(photo_indices_of_epoch_stream(self.recipe.seed, count, at, 1)[0])
                try:
                    image = self.photos.open(i)
                except PhotoError as error:
                    problems.append(str(error))
                    continue
                with seeded_generators(ITEMS, self.recipe.seed, step, position):
                    return PhotoItem(self.transform(image), int(self.photos.labels[i]), tuple(problems))
        except DataError as error:  # told, not raised: a worker's exception arrives inside a traceback
            return PhotoItem(None, -1, (*problems, str(error)))
        return PhotoItem(None, -1, (*problems, unreadable_photos_sentence(self.photos, problems)))


def _collate_photos(items: list[PhotoItem]) -> tuple[Tensor | None, Tensor, list[str]]:
    """Pixels (B, 3, px, px), or None if one is missing, labels (B,) and all problems; the fatal one comes last."""
    items = sorted(items, key=lambda item: item.pixels is None)
    pixels = [item.pixels for item in items if item.pixels is not None]
    whole = torch.stack(pixels) if len(pixels) == len(items) else None
    return whole, torch.tensor([item.label for item in items]), [said for item in items for said in item.problems]
