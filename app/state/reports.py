"""Reports of one photo, made once and kept: handouts, rollout's animation and its last frame, quizzes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from app.state import insights, models, session
from app.state.memory import budget

if TYPE_CHECKING:
    from vitcore.forward.recording import Recording
    from vitcore.models.load_model import Vit
    from vitcore.quiz.draw_quiz import Quiz
    from vitcore.quiz.quiz_data import Material, Other
    from vitcore.report.model_facts import ModelSide
    from vitcore.report.report_settings import Origin, Settings


@budget.kept
def model_side(model: str, _vit: Vit) -> ModelSide:
    """What reports say of a model whatever the photo."""
    from vitcore.report.model_facts import look_at

    return look_at(_vit)


@budget.kept
def handout(
    rec: Recording, settings: Settings, lang: str, address: str, lacking: str, name: str, cautions: tuple[str, ...], _vit: Vit
) -> bytes:  # fmt: skip
    """The handout of a photo and a model, made once."""
    from vitcore.report.handout import handout as made
    from vitcore.report.report_settings import Origin

    credit = credit_of(name)
    file = f"assets/samples/{name}.jpg" if credit else rec.photo.name
    origin = Origin(address=address, lacking=lacking, credit=credit, file=file, lang=lang, cautions=cautions)
    return made(_vit, rec, settings, origin, model_side(rec.model, _vit))


@budget.kept
def animation(rec: Recording, settings: Settings, lang: str, mode: Any, kind: str, _vit: Vit) -> bytes:
    """Rollout through the layers as an animation, made once."""
    from vitcore.report.animation import animation as made

    return made(_vit, rec, settings, kind, mode=mode)  # type: ignore[arg-type]


@budget.kept
def still(rec: Recording, settings: Settings, lang: str, mode: Any, _vit: Vit) -> Any:
    """The animation's last frame, for who wants nothing to move."""
    from vitcore.report.animation import still as last

    return last(_vit, rec, settings, mode)


def credit_of(name: str) -> dict[str, str]:
    """The gallery's row of a photo; nothing for one that a visitor brought."""
    return next((row for row in session.samples() if row["id"] == name), {})


@budget.kept
def quiz(rec: Recording, seed: int, lang: str, masks: bool, _vit: Vit) -> Quiz:
    """The quiz of a seed on a photo and a model, drawn once a language; it holds neither of them. `masks`: outlier tokens."""
    from vitcore.quiz.draw_quiz import draw

    return draw(_quiz_material(_vit, rec, seed, masks), seed)


def quiz_handout(model: str, key: str, seed: int, name: str, origin: Origin, masks: bool) -> bytes:
    """The quiz as a page to print, made when it is asked for; `name` is of a photo of the gallery, or nothing."""
    from vitcore.quiz.quiz_handout import handout as made

    vit, rec = session.again(model, key, "mean")
    credit = credit_of(name)
    known = replace(origin, credit=credit, file=f"assets/samples/{name}.jpg" if credit else rec.photo.name)
    return made(_quiz_material(vit, rec, seed, masks), quiz(rec, seed, origin.lang, masks, vit), known)


def _quiz_material(vit: Vit, rec: Recording, seed: int, masks: bool) -> Material:
    """What a quiz is drawn from, of what is kept already."""
    from vitcore.quiz import quiz_data

    blocks = quiz_data.blocks(vit, seed)
    maps = {block: session.recording(vit, rec.photo, block).maps[block] for block in blocks}
    rec = replace(rec, maps={**rec.maps, **maps})
    rec = quiz_data.only(quiz_data.masked(rec) if masks else rec, blocks)
    named = quiz_data.others(seed, rec.photo.digest)
    photos = [replace(_quiz_photo(vit.name, name, masks, vit), title=title) for name, title in named]
    by_depth = insights.answers_by_depth(rec, vit) if vit.is_global else None
    parts, cosine = session.components(vit.name), session.similarity(vit.name)
    return quiz_data.gathered(vit, rec, photos, parts, cosine, by_depth, masks)


@budget.kept
def _quiz_photo(model: str, name: str, masks: bool, _vit: Vit) -> Other:
    """A photo of the gallery through the model, as others are compared with."""
    from vitcore.forward.recording import record
    from vitcore.quiz.quiz_data import masked, of_photo

    with budget.STORE.room(models.shape(_vit).pass_bytes):
        rec = record(_vit, session.SAMPLES / f"{name}.jpg")
        return of_photo(_vit, name, masked(rec) if masks else rec)
