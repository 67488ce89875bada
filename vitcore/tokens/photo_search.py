"""Photos of a folder nearest to a photo, or to one of its patches, by a model's own features; kept on disk by what photos hold.

Of each photo one pass is kept as vectors of length 1, 16 bits a number: where the answer is read, and its patch tokens. Shapes:
P photos, N patches, D width of a token.
"""

import hashlib
import os
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vitcore.forward.layer_indices import layer_index
from vitcore.forward.recording import to_model_input
from vitcore.images import Photo, PhotoError, crop_for_model, open_photo
from vitcore.interventions.activation_sites import check_activations_defined
from vitcore.interventions.activations import run_keeping_activations
from vitcore.models.vit import Vit
from vitcore.report.model_facts import weights_digest
from vitcore.tokens.patch_tokens import STREAM
from vitcore.tokens.similarity import normalise_tokens

MAX_INDEXED = 2000  # photos of one index
BATCH = 8  # photos that are run together
KEPT_AS = "1"  # what a file of vectors holds; another number where this changes
Progress = Callable[[int, int], object]
Source = str | Path | bytes


class NearestPhoto(NamedTuple):
    """A photo of an index, by its place there, how alike it is (a cosine), and its nearest patch; None of a whole photo."""

    photo: int
    cosine: float
    patch: int | None = None


@dataclass(frozen=True, eq=False, repr=False)
class PhotoIndex:
    """Photos and the vectors of each (1 + N, D), float16: where the answer is read, then the patches; in memory, or a file."""

    model: str
    layer: int  #: whose patch tokens are kept
    names: tuple[str, ...]  #: P
    sources: tuple[Source, ...]  #: P: what each photo is opened of
    vectors: tuple[NDArray[np.float16] | Path, ...]  #: P
    problems: tuple[str, ...] = ()  #: of photos that can't be opened, a sentence each
    key: str = field(default_factory=lambda: uuid.uuid4().hex)  #: what it is known by; another for each index that is made

    def __repr__(self) -> str:
        return f"<PhotoIndex: {len(self.names)} photos by {self.model}; patches of layer {self.layer}>"

    def nearest(self, vectors: NDArray[np.floating], patch: int | None = None, count: int = 12) -> list[NearestPhoto]:
        """The `count` photos most like a photo's `vectors` (`photo_vectors`), or whose likest patch is most like its `patch`.

        Raises: ValueError, for a patch that there is not.
        """
        place = 0 if patch is None else 1 + patch
        if not 0 <= place < len(vectors):
            raise ValueError(f"a patch is from 0 to {len(vectors) - 2}, not {patch!r}")
        asked, found = vectors[place].astype(np.float32), []
        for photo, kept in enumerate(self.vectors):
            rows = np.load(kept, mmap_mode="r") if isinstance(kept, Path) else kept
            cosines = (rows[:1] if patch is None else rows[1:]).astype(np.float32) @ asked
            best = int(cosines.argmax())
            found.append(NearestPhoto(photo, min(float(cosines[best]), 1.0), None if patch is None else best))
        return sorted(found, key=lambda one: -one.cosine)[:count]


def photo_vectors(vit: Vit, photos: Sequence[Photo], layer: int | None = None) -> NDArray[np.float32]:
    """(B, 1 + N, D): of each photo vectors of length 1. The first is the class token after the last layer, or the mean of the
    patches of a model that reads its answer elsewhere; then the patch tokens (the residual stream) after a layer.

    `layer`: default three quarters of the way up, where tokens tell more of places than at the end. Raises: ValueError, for a
    layer that there is not; ModelError, for a model without one attention over its patches in each block.
    """
    import torch

    check_activations_defined(vit)
    chosen, last, prefix = (
        default_search_layer(vit) if layer is None else layer_index(layer, vit.blocks),
        vit.blocks - 1,
        vit.grid.prefix,
    )
    crops = [crop_for_model(photo.image, vit.transform, photo.bands) for photo in photos]
    inputs = torch.cat([to_model_input(vit, crop.numbers) for crop in crops])
    kept = run_keeping_activations(vit, inputs, [(STREAM, one) for one in sorted({chosen, last})])
    end = kept[STREAM, last].cpu().numpy()
    whole = end[:, 0] if prefix and "class" in vit.pooling else end[:, prefix:].mean(1)
    return normalise_tokens(np.concatenate([whole[:, None], kept[STREAM, chosen].cpu().numpy()[:, prefix:]], 1))


def default_search_layer(vit: Vit) -> int:
    """The layer whose patch tokens are compared where none is named."""
    return 3 * vit.blocks // 4


def index_photos(
    vit: Vit, photos: Iterable[tuple[str, Source]], *, layer: int | None = None, folder: Path | None = None,
    on_progress: Progress = lambda done, count: None,
) -> PhotoIndex:  # fmt: skip
    """An index of photos (name, path or bytes), at most `MAX_INDEXED`; those that can't be opened are among its problems.

    With a `folder` vectors are files there, by model, layer and photo: a photo whose file was seen before is not run again, and
    one that changed is. Without, they stay in memory. `on_progress` is called with how many photos are done, and of how many.
    Raises: ValueError, for none or too many photos; PhotoError, where none can be opened; ModelError.
    """
    listed = list(photos)
    if not 0 < len(listed) <= MAX_INDEXED:
        raise ValueError(f"an index is of 1 to {MAX_INDEXED} photos, not {len(listed)}")
    chosen = default_search_layer(vit) if layer is None else layer_index(layer, vit.blocks)
    home = None if folder is None else folder / _index_name(vit, chosen)
    if home:
        home.mkdir(parents=True, exist_ok=True)
    names, sources, vectors, problems = [], [], [], []
    for done, rows in _each_batch(vit, listed, chosen, home):
        for name, source, kept in rows:
            if isinstance(kept, PhotoError):
                problems.append(str(kept))
                continue
            names.append(name)
            sources.append(source)
            vectors.append(kept)
        on_progress(done, len(listed))
    if not names:
        raise PhotoError("None of the {count} {count:photo|photos} can be opened: {first}", count=len(listed), first=problems[0])
    return PhotoIndex(vit.name, chosen, tuple(names), tuple(sources), tuple(vectors), tuple(problems))


Row = tuple[str, Source, NDArray[np.float16] | Path | PhotoError]


def _each_batch(vit: Vit, listed: Sequence[tuple[str, Source]], layer: int, home: Path | None) -> Iterator[tuple[int, list[Row]]]:
    """How many photos are done, and a few of them with their vectors."""
    for start in range(0, len(listed), BATCH):
        rows: dict[int, Row] = {}
        waiting: list[tuple[int, Photo, Path | None]] = []
        for place, (name, source) in enumerate(listed[start : start + BATCH]):
            try:
                data = source if isinstance(source, bytes) else _read(Path(source))
                file = home and home / f"{hashlib.sha256(data).hexdigest()[:32]}.npy"
                if file and file.exists():
                    rows[place] = name, source, file
                else:
                    waiting.append((place, open_photo(data, name, bands=vit.bands), file))
            except PhotoError as error:
                rows[place] = name, source, error
        if waiting:
            found = photo_vectors(vit, [photo for _, photo, _ in waiting], layer).astype(np.float16)
            for (place, _, file), one in zip(waiting, found, strict=True):
                rows[place] = *listed[start + place], _keep(one, file) if file else one
        yield min(start + BATCH, len(listed)), [rows[place] for place in sorted(rows)]


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise PhotoError("{name} can't be read: {reason}.", name=file.name, reason=error.strerror or str(error)) from None


def _keep(vectors: NDArray[np.float16], file: Path) -> Path:
    """Vectors as a file, whole or not at all: it has its name once it is written."""
    part = file.with_name(f"{file.stem}.{os.getpid()}.part.npy")
    np.save(part, vectors)
    part.replace(file)
    return file


def _index_name(vit: Vit, layer: int) -> str:
    """What the vectors of one model's layer lie under: its weights and how photos are cut for it."""
    made_by = f"{KEPT_AS} {weights_digest(vit)} {vit.transform} {vit.grid}"
    return f"{hashlib.sha256(made_by.encode()).hexdigest()[:16]}-layer{layer}"


def default_index_folder() -> Path:
    """Where indices are kept: VITCORE_INDEX, or a folder in the user's cache."""
    return Path(os.environ.get("VITCORE_INDEX") or Path.home() / ".cache" / "inside-vit" / "index")
