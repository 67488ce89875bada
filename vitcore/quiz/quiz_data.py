"""What a quiz is drawn from: one recording, a few other photos' maps and answers, and what the weights say."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from vitcore.analysis.filters import PrincipalComponents, principal_components
from vitcore.analysis.position_embeddings import position_similarity
from vitcore.assets import SAMPLES, sample_photo_rows
from vitcore.figures.attention import resize_for_figure
from vitcore.forward.logit_lens import logit_lens
from vitcore.forward.mask_outliers import mask_outlier_tokens, outliers_in_recording
from vitcore.forward.recording import Recording, record
from vitcore.images import Photo, open_photo, sharp_crop
from vitcore.models import load_model
from vitcore.models.load_model import Vit
from vitcore.probabilities import probabilities
from vitcore.report.gallery_and_imagenet_names import gallery_photo_digest as digest_of
from vitcore.report.gallery_and_imagenet_names import photo_title
from vitcore.translation import say

OTHER_PHOTO_COUNT = 3  # photos beside the one that is asked about
BLOCK_COUNT = 3  # whose heads are asked about, at most
SIDE_PX = 320  # of a photo in a question, its longer side


@dataclass(frozen=True, eq=False)
class QuizPhoto:
    """A photo through the model: its picture, where the answer is read from, (rows, cols) or None, and logits (classes,)."""

    title: str
    picture: NDArray[np.uint8]
    pooled_attention: Any  # (rows, cols) of the token the answer is read from, last block, mean of its heads; None: it has no maps
    logits: NDArray[np.float32]
    outliers: tuple[int, ...] = ()  # the patches whose tokens are


@dataclass(frozen=True, eq=False)
class QuizMaterial:
    """Everything questions are computed from; what a model lacks is None, and kinds of questions that need it are not asked."""

    vit: Vit
    rec: Recording  # with the maps of `quiz_blocks`
    photo: QuizPhoto  # the photo that is asked about
    other_photos: tuple[QuizPhoto, ...]
    components: PrincipalComponents | None  # of the filters that read a patch, or of a network's first convolution
    position_similarity: NDArray[np.float64] | None  # (N, N) of the position embeddings
    logit_lens: NDArray[np.float64] | None  # (L + 1, classes) of the logit lens
    masked: bool = False  # whether outlier tokens are masked in all maps and distances

    @property
    def pooling_words(self) -> str:
        """Where the answer is read, in words."""
        return say("the {readout}", readout=say(self.vit.pooling))


def make_quiz_material(vit: Vit, photo: Photo | str | Path | bytes, seed: int = 0, mask_outliers: bool = False) -> QuizMaterial:
    """The material of a photo: it and three photos of the gallery go through the model once; attention is masked where asked.

    Raises: PhotoError and ModelError, as `open_photo` and `record` do.
    """
    every = range(vit.blocks) if vit.is_global else []
    rec = record(vit, open_photo(photo), maps=every if mask_outliers else quiz_blocks(vit, seed))
    names = other_gallery_photos(seed, rec.photo.digest)
    seen = [record(vit, SAMPLES / f"{name}.jpg") for name, _ in names]
    if mask_outliers:
        rec, seen = mask_outliers_in_recording(rec), [mask_outliers_in_recording(one) for one in seen]
    photos = [quiz_photo(vit, title, one) for (_, title), one in zip(names, seen, strict=True)]
    kernel, table = load_model.first_layer_filters(vit), load_model.position_embeddings(vit)
    return quiz_material_from_parts(
        vit, keep_maps_of_blocks(rec, quiz_blocks(vit, seed)), photos,
        None if kernel is None else principal_components(kernel), None if table is None else position_similarity(table),
        probabilities(logit_lens(vit, rec.model_input), vit.output) if vit.is_global and vit.labels else None,
        mask_outliers,
    )  # fmt: skip


def keep_maps_of_blocks(rec: Recording, blocks: Sequence[int]) -> Recording:
    """The recording with the maps of these blocks alone."""
    return replace(rec, maps={block: rec.maps[block] for block in blocks})


def mask_outliers_in_recording(rec: Recording) -> Recording:
    """The recording with its outlier tokens masked; distances of blocks whose maps are not there are NaN, so nobody asks."""
    made = mask_outlier_tokens(rec)
    if made is rec:
        return rec
    there = np.isin(np.arange(len(rec.distance_px)), list(rec.maps))[:, None]
    names = ("distance_px", "distance_renormalised_px", "prefix_attention_share")
    known = {name: np.where(there, getattr(made, name), np.float32(np.nan)) for name in names}
    return replace(made, **known)  # type: ignore[arg-type]


def quiz_material_from_parts(
    vit: Vit, rec: Recording, photos: Sequence[QuizPhoto], components: PrincipalComponents | None,
    position_cosines: NDArray[np.float64] | None, lens_probabilities: NDArray[np.float64] | None, masked: bool = False,
) -> QuizMaterial:  # fmt: skip
    """A quiz's material from what a caller has already; `rec` holds the maps of `quiz_blocks`."""
    asked = quiz_photo(vit, photo_title(rec.photo), rec)
    return QuizMaterial(vit, rec, asked, tuple(photos), components, position_cosines, lens_probabilities, masked)


def quiz_photo(vit: Vit, title: str, rec: Recording) -> QuizPhoto:
    """What a quiz needs of a photo's recording."""
    photo = resize_for_figure(sharp_crop(rec.photo, rec.model_input))
    scale = SIDE_PX / max(photo.size)
    small = photo.resize((max(1, round(photo.width * scale)), max(1, round(photo.height * scale))))
    outliers = tuple(outliers_in_recording(rec).patches.tolist()) if vit.is_global else ()
    return QuizPhoto(
        title, np.asarray(small), rec.pooled_attention(vit.blocks - 1) if vit.is_global else None, rec.logits, outliers
    )


def purpose_seeded_generator(seed: int, *about: object) -> np.random.Generator:
    """The randomness of a seed for one purpose: the same on every machine."""
    return np.random.default_rng([seed, *(crc32(str(part).encode()) for part in about)])


def quiz_blocks(vit: Vit, seed: int) -> list[int]:
    """The blocks whose heads a quiz of this seed asks about; none where attention is not over one grid."""
    if not vit.is_global:
        return []
    chosen = purpose_seeded_generator(seed, "blocks").permutation(vit.blocks)[:BLOCK_COUNT]
    return sorted(int(block) for block in chosen)


def other_gallery_photos(seed: int, digest: str) -> list[tuple[str, str]]:
    """Names and titles of the gallery's photos that a quiz of this seed compares with; `digest` is of the photo asked about."""
    rows = sample_photo_rows()
    chosen: list[tuple[str, str]] = []
    for place in purpose_seeded_generator(seed, "others").permutation(len(rows)):
        row = rows[place]
        if len(chosen) < OTHER_PHOTO_COUNT and digest_of(row["id"]) != digest:
            chosen.append((row["id"], say(row["title"])))
    return chosen
