"""Reports of one photo, made once and kept: handouts of a model and of two, rollout's animation and its last frame, quizzes."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import vitcore
from app.state.memory import memory_cache
from app.state.model_ref import ModelRef
from app.state.models import loaded_models, model_weights
from app.state.photos import sample_photos
from app.state.recordings import cached_block_activations, cached_recordings, model_comparisons
from vitcore.figures.drawing import Drawing, remove_title
from vitcore.figures.painters.png_and_svg import print_figure
from vitcore.figures.positions import position_similarity_tile
from vitcore.figures.theme_colours import Mode, file_to_data_uri
from vitcore.report.folder_or_zip import ZipWriter
from vitcore.report.report_settings import ReportOrigin, ReportSettings

if TYPE_CHECKING:
    from vitcore.forward.recording import Recording
    from vitcore.models.load_model import Vit
    from vitcore.quiz.draw_quiz import Quiz
    from vitcore.quiz.quiz_data import QuizMaterial, QuizPhoto
    from vitcore.report.model_facts import ModelFacts
    from vitcore.report.report_pictures import ReportPicture

LOOK = ("patches", "filters", "positions", "distance", "rollout")  # the pictures of the page Look, in its order
SHEET = (*LOOK, "heads")  # the pictures of `layer_picture_tiles`


@memory_cache.cached
def model_facts(model: str, _vit: Vit) -> ModelFacts:
    """What reports say of a model whatever the photo."""
    from vitcore.report.model_facts import collect_model_facts

    return collect_model_facts(_vit)


@memory_cache.cached
def layer_picture_tiles(rec: Recording, lang: str, mode: Mode, _vit: Vit) -> list[dict[str, str]]:
    """What `components.layer_pictures` shows: image, alt, name and words of each picture that is defined for the model."""
    facts, grid = model_facts(rec.model, _vit), rec.grid
    figures = _drawn(rec, ReportSettings(), mode, _vit)
    if facts.cosine is not None:  # one tile: so small, all of them could not be told apart
        middle = grid.rows // 2 * grid.cols + grid.cols // 2
        figures["positions"] = figures["positions"][0], position_similarity_tile(facts.cosine, grid, middle, mode)
    return [
        {"image": file_to_data_uri(print_figure(remove_title(figure)), "image/png"), "alt": one.alt, "name": one.title, "words": ""}
        for one, figure in (figures[name] for name in SHEET if name in figures)
    ]


def _drawn(rec: Recording, settings: ReportSettings, mode: Mode, vit: Vit) -> dict[str, tuple[ReportPicture, Drawing]]:
    """The pictures of a photo and of a model that are figures, by name, as far as they are defined for the model."""
    from vitcore.report.report_pictures import model_pictures, photo_pictures

    every = [*photo_pictures(vit, rec, settings), *model_pictures(vit, model_facts(rec.model, vit), settings)]
    return {one.name: (one, one.figure(mode)) for one in every if one.figure is not None}


def five_pictures(model: str, photo: str, settings: ReportSettings, mode: Mode) -> bytes:
    """The pictures of the page Look as PNG files in a ZIP file, numbered as there, as far as they are defined for the model."""
    vit, rec = cached_recordings.recording_from_key(model, photo, settings.fusion)
    rec = cached_recordings.cached_recording(vit, rec.photo, settings.block(vit.blocks))  # with the heads of one layer
    drawn = _drawn(cached_recordings.recording_with_fusion(vit, rec, settings.fusion), settings, mode, vit)
    pngs = {f"{n}-{name}.png": print_figure(drawn[name][1], "png") for n, name in enumerate(LOOK, 1) if name in drawn}
    ZipWriter(file := io.BytesIO()).write_files(pngs)
    return file.getvalue()


@memory_cache.cached
def photo_handout(
    rec: Recording, settings: ReportSettings, lang: str, address: str, lacking: str, sample_id: str, cautions: tuple[str, ...],
    cause_pictures_key: tuple[str, ...], _cause_pictures: Sequence[ReportPicture], _vit: Vit,
) -> bytes:  # fmt: skip
    """The handout of a photo and a model, made once; `cause_pictures_key` are what its further pictures say."""
    from vitcore.report.handout import handout as made

    credit = sample_photos.photo_credit(sample_id)
    file = f"assets/samples/{sample_id}.jpg" if credit else rec.photo.name
    origin = ReportOrigin(address=address, lacking=lacking, credit=credit, file=file, lang=lang, cautions=cautions)
    return made(_vit, rec, settings, origin, model_facts(rec.model, _vit), _cause_pictures)


def comparison_handout(
    key: model_comparisons.PairKey, names: tuple[str, str], origin: ReportOrigin, samples: tuple[str, str], mask_outliers: bool
) -> bytes:
    """The handout of two models; `samples` are the photos' names in the gallery, empty for one that a visitor brought."""
    from vitcore.report import comparison_handout as of_two

    comparison, vits = model_comparisons.comparison_from_keys(key, mask_outliers)
    named = zip(samples, comparison.recordings, strict=True)
    files = [f"assets/samples/{sample}.jpg" if sample else side.rec.photo.name for sample, side in named]
    refs = [ModelRef.parse(model) for model in key[:2]]  # the shell knows models, not variants of them
    files = files[: 2 - comparison.of_one_photo]
    command = of_two.comparison_command(refs[0].name, refs[1].name, *files, mask_outliers=mask_outliers)
    credit, second_credit = (sample_photos.photo_credit(sample) for sample in samples)
    known = replace(origin, credit=credit, second_credit=second_credit)
    return of_two.comparison_handout(comparison, vits, names, known, "" if refs[1].variant else command)


@memory_cache.cached
def rollout_animation(rec: Recording, settings: ReportSettings, lang: str, mode: Any, kind: str, _vit: Vit) -> bytes:
    """Rollout through the layers as an animation, made once."""
    from vitcore.report.animations.rollout_animation import rollout_animation as made

    return made(_vit, rec, settings, kind, mode=mode)  # type: ignore[arg-type]


@memory_cache.cached
def rollout_end_frame(rec: Recording, settings: ReportSettings, lang: str, mode: Any, _vit: Vit) -> Any:
    """The animation's last frame, for who wants nothing to move."""
    from vitcore.report.animations.rollout_animation import rollout_end_frame as last

    return last(_vit, rec, settings, mode)


@memory_cache.cached
def draw_cached_quiz(rec: Recording, seed: int, lang: str, mask_outliers: bool, _vit: Vit) -> Quiz:
    """The quiz of a seed on a photo and a model, drawn once a language; it holds neither. `mask_outliers`: outlier tokens."""
    from vitcore.quiz.draw_quiz import draw_quiz

    return draw_quiz(_quiz_material(_vit, rec, seed, mask_outliers), seed)


def quiz_handout(model: str, key: str, seed: int, name: str, origin: ReportOrigin, mask_outliers: bool) -> bytes:
    """The quiz as a page to print, made when it is asked for; `name` is of a photo of the gallery, or nothing."""
    from vitcore.quiz.quiz_handout import quiz_handout as make_quiz_handout

    vit, rec = cached_recordings.recording_from_key(model, key, "mean")
    credit = sample_photos.photo_credit(name)
    known = replace(origin, credit=credit, file=f"assets/samples/{name}.jpg" if credit else rec.photo.name)
    return make_quiz_handout(
        _quiz_material(vit, rec, seed, mask_outliers), draw_cached_quiz(rec, seed, origin.lang, mask_outliers, vit), known
    )


def _quiz_material(vit: Vit, rec: Recording, seed: int, mask_outliers: bool) -> QuizMaterial:
    """What a quiz is drawn from, of what is kept already."""
    from vitcore.quiz import quiz_data

    blocks = quiz_data.quiz_blocks(vit, seed)
    maps = {block: cached_recordings.cached_recording(vit, rec.photo, block).maps[block] for block in blocks}
    rec = replace(rec, maps={**rec.maps, **maps})
    rec = quiz_data.keep_maps_of_blocks(quiz_data.mask_outliers_in_recording(rec) if mask_outliers else rec, blocks)
    named = quiz_data.other_gallery_photos(seed, rec.photo.digest)
    photos = [replace(_quiz_photo(vit.name, name, mask_outliers, vit), title=title) for name, title in named]
    by_depth = cached_block_activations.logit_lens_probabilities(rec, vit) if vit.is_global else None
    parts, cosine = model_weights.filter_components(vit.name), model_weights.position_similarity(vit.name)
    return quiz_data.quiz_material_from_parts(vit, rec, photos, parts, cosine, by_depth, mask_outliers)


@memory_cache.cached
def _quiz_photo(model: str, name: str, mask_outliers: bool, _vit: Vit) -> QuizPhoto:
    """A photo of the gallery through the model, as others are compared with."""
    from vitcore.quiz.quiz_data import mask_outliers_in_recording, quiz_photo

    with memory_cache.CACHE.reserve(loaded_models.model_size(_vit).pass_bytes):
        rec = vitcore.record(_vit, sample_photos.SAMPLES / f"{name}.jpg")
        return quiz_photo(_vit, name, mask_outliers_in_recording(rec) if mask_outliers else rec)
