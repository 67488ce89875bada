"""Films of trainings, cached: the recordings that ship, those of runs, and the figures of each frame."""

import json
from pathlib import Path
from typing import Any

import streamlit as st

from app import texts
from app.state.memory import memory_cache
from app.state.training import run_status
from app.state.training.training_processes import find_run
from vitcore.analysis import attention_distance, training_curves_and_masks
from vitcore.analysis.training_curves_and_masks import EmergedStructure
from vitcore.assets import asset_path
from vitcore.models.model_cards import DEFAULT_MODEL
from vitcore.train import film_files, run_folder
from vitcore.train.film_files import Film, FilmAccuracy

RECORDINGS = asset_path("recordings")


def film_titles(lang: str | None = None) -> dict[str, str]:
    """Title by name of what can be watched: the recordings that ship, the default model's first, then `runs/<id>`, newest first.

    The titles are in the visitor's language, or in `lang`.
    """
    words = texts.translation_table(lang)
    files_there = sorted(RECORDINGS.glob("*.safetensors"), key=lambda file: (file.stem != DEFAULT_MODEL, file.stem))
    titles = {file.stem: _film_title(str(file), run_status.file_size_and_time(file)[1]) for file in files_there}
    shipped = {name: words.get(title, title) for name, title in titles.items()}
    filmed = [run for run in map(find_run, run_status.run_ids()) if run and any(run.frames.glob("[0-9]*.safetensors"))]
    return shipped | {f"runs/{run.id}": f"runs/{run.id}" for run in filmed}


@st.cache_data(max_entries=32, show_spinner=False)
def _film_title(file: str, changed_ns: int) -> str:
    try:
        return str(json.loads(Path(file).with_suffix(".json").read_text(encoding="utf-8"))["title"])
    except (OSError, ValueError, KeyError, TypeError):
        return Path(file).stem


def final_accuracy(name: str) -> FilmAccuracy | None:
    """What the film of a model that ships ends with; None where there is no such film, or it does not say of how many photos."""
    file = RECORDINGS / f"{name}.json"
    return _final_accuracy(str(file), run_status.file_size_and_time(file)[1]) if file.is_file() else None


@st.cache_data(max_entries=8, show_spinner=False)
def _final_accuracy(file: str, changed_ns: int) -> FilmAccuracy | None:
    found = film_files.last_accuracy(json.loads(Path(file).read_text(encoding="utf-8"))["log"])
    return found if found and found.photos else None


def open_film(name: str) -> tuple[str, Film]:
    """A film and the key its pictures are kept under, which changes when frames are added. Raises: RunError."""
    run = find_run(name.removeprefix("runs/")) if name.startswith("runs/") else None
    if run is None:
        if name not in film_titles():
            raise run_folder.RunError(texts.prose("learn")["gone"])
        path = RECORDINGS / f"{name}.safetensors"
        key = f"{name}@{run_status.file_size_and_time(path)[1]}"
    else:
        frames = [written_ns for file in run.frames.glob("*") if (written_ns := run_status.file_size_and_time(file)[1])]
        path, key = run.path, f"{name}@{len(frames)}-{max(frames, default=0)}"
    with st.spinner(texts.prose("learn")["opening"]):
        return key, _open_film(str(path), key)


@memory_cache.cached
def _open_film(path: str, key: str) -> Film:
    return film_files.open_film(Path(path)) if path.endswith(".safetensors") else film_files.film_of_run(path)


@memory_cache.cached
def frame_chart_specs(key: str, part: str, frame: int, photo: int, theme: str, lang: str, _film: Film) -> dict[str, Any]:
    """The pictures of one frame as `app.components.chart.chart` takes them, by name: of the "weights", or of a "photo"."""
    from app.components.chart.chart import chart_spec
    from app.state.training import film_figures

    make = film_figures.weight_figures if part == "weights" else film_figures.photo_figures
    return {name: chart_spec(fig) for name, fig in make(_film, frame, photo, theme).items()}


@memory_cache.cached
def first_emergence_steps(key: str, _film: Film) -> dict[str, int | None]:
    """The step of the first snapshot of a film in which filters, positions and parted heads are there, or None."""
    frames = training_curves_and_masks.first_emergence_frames(_film.arrays, _film.grid)
    return {name: None if frame is None else int(_film.steps[frame]) for name, frame in frames.items()}


@memory_cache.cached
def film_curve_specs(
    key: str, records: int, last: int, theme: str, lang: str, on_training_photos: bool, _log: list[dict[str, Any]]
) -> dict[str, Any]:
    """The curves of a film as `app.components.chart.chart` takes them; the marker of the frame is added by `chart`."""
    from app.components.chart.chart import chart_spec
    from app.state.training import film_figures

    drawn = film_figures.curve_figures(_log, theme, last=last, log_steps=True, on_training_photos=on_training_photos)
    return {name: chart_spec(figure) for name, figure in drawn.items()}


def emerged_structure(film: Film, frame: int) -> EmergedStructure:
    """What is there in one frame: smooth filters, near positions alike, heads that part."""
    return training_curves_and_masks.emerged_structure(film.arrays, frame, film.grid)


def most_changed_head(film: Film, frame: int) -> tuple[int, int, float, float]:
    """The block and the head whose distance has changed most since the first frame; its distances then and now, px."""
    first, now = film.array_at("distance_px", 0), film.array_at("distance_px", frame)
    block, head = attention_distance.most_changed_head(first, now)
    return block, head, float(first[block, head]), float(now[block, head])
