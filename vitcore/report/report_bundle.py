"""Everything of many photos in one folder or one ZIP file: handouts, pictures, numbers, animations, an index and a manifest.

A photo is made in memory and then put on the shelf at once, so whoever stops in between leaves nothing half done, and no
more than one photo's files are ever held.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from vitcore import figures
from vitcore.csv_and_npz import to_csv, to_npz
from vitcore.figures import print_figure
from vitcore.file_names import append_number_if_taken, safe_folder_name
from vitcore.forward.recording import Recording, record
from vitcore.images import Photo
from vitcore.models.load_model import Vit
from vitcore.report import index_page
from vitcore.report.animations.rollout_animation import rollout_animation
from vitcore.report.folder_or_zip import OutputFolder
from vitcore.report.handout import handout, recording_title
from vitcore.report.model_facts import ModelFacts, collect_model_facts
from vitcore.report.report_numbers import (
    PhotoReport,
    current_time_text,
    mean_distance_px,
    model_arrays,
    package_versions,
    report_arrays,
    report_numbers,
)
from vitcore.report.report_pictures import model_pictures, photo_pictures
from vitcore.report.report_settings import DEFAULT_SETTINGS, ReportOrigin, ReportSettings


class ReportBundleWriter:
    """A folder or ZIP file being filled: `render_photo` a photo, `add_photo` it, and `close` when all are in."""

    def __init__(
        self, vit: Vit, output: OutputFolder, settings: ReportSettings = DEFAULT_SETTINGS, lang: str = "en",
        model_facts: ModelFacts | None = None,
    ) -> None:  # fmt: skip
        self.settings = settings.fit_to_model(vit.grid, vit.blocks, vit.heads)
        self.vit, self.shelf, self.lang = vit, output, lang
        self.side = model_facts or collect_model_facts(vit)
        self.photos: list[PhotoReport] = []
        self.problems: list[str] = []
        self.files: dict[str, dict[str, Any]] = {}

    def render_photo(self, photo: Photo, origin: ReportOrigin | None = None) -> PhotoReport:
        """Look at a photo and make all its files; puts nothing. Raises: ModelError, as `record` does."""
        vit, settings = self.vit, self.settings
        rec = record(vit, photo, maps=[settings.block(vit.blocks)], fusions=(settings.fusion,))
        return _photo_files(vit, rec, settings, replace(origin or ReportOrigin(), lang=self.lang), self.side)

    def add_photo(self, report: PhotoReport) -> None:
        """Put a photo's files into a folder of its own. Raises: FullError, before anything is put."""
        self.shelf.require_space(sum(map(len, report.files.values())))
        folder = append_number_if_taken(safe_folder_name(report.name), [one.folder for one in self.photos])
        self._put({f"{folder}/{name}": data for name, data in report.files.items()})
        self.photos.append(replace(report, files={}, folder=folder))

    def add_problem(self, problem: str) -> None:
        """Remember a photo that could not be read, as a sentence."""
        self.problems.append(problem)

    def close(self) -> None:
        """Put the model's pictures, the index and the manifest."""
        made = model_files(self.vit, self.side, self.settings)
        self._put({f"model/{name}": data for name, data in made.items()})
        self._put(
            {"index.html": index_page.index_page(self.vit, self.side.digest, self.lang, self.photos, self.problems, self.files)}
        )
        self.shelf.write_files({"manifest.json": (json.dumps(self.manifest(), ensure_ascii=False, indent=1) + "\n").encode()})

    def manifest(self) -> dict[str, Any]:
        """What is on the shelf, as one JSON object."""
        return {
            "made": current_time_text(), "versions": package_versions(), "model": self.vit.display_name,
            "weights_sha256": self.side.digest,
            "photos": [{"folder": one.folder, "name": one.name, "title": one.title, "digest": one.digest,
                        "answer": list(one.top) if one.top else None} for one in self.photos],
            "left_out": self.problems,
            "mean_distance_px": None if not self.photos else mean_distance_px(self.photos).tolist(),
            "files": self.files,
        }  # fmt: skip

    def _put(self, files: Mapping[str, bytes]) -> None:
        self.shelf.write_files(files)
        for name, data in files.items():
            self.files[name] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def _photo_files(vit: Vit, rec: Recording, settings: ReportSettings, origin: ReportOrigin, model_facts: ModelFacts) -> PhotoReport:
    """All files of a photo."""
    by_name, files = report_arrays(rec, settings), {"handout.html": handout(vit, rec, settings, origin, model_facts)}
    small = None
    for one in photo_pictures(vit, rec, settings):
        if one.figure:
            files[f"{one.name}.png"] = print_figure(one.figure("light"), "png")
        if one.name == "rollout":
            small = index_page.rollout_thumbnail(one)
    if rec.top_classes():
        files["answer.png"] = print_figure(figures.predictions(rec.top_classes(translated=True)), "png")
    files["animation.webp"] = rollout_animation(vit, rec, settings)
    files["numbers.json"] = json.dumps(report_numbers(vit, rec, settings, model_facts), ensure_ascii=False, indent=1).encode()
    files["numbers.csv"] = to_csv({name: by_name[name] for name in ("rollout", "distance_px", "distance_renormalised_px")})
    files["numbers.npz"] = to_npz(by_name)
    top, called = rec.top_classes(1), "".join(label for label, _ in rec.top_classes(1, translated=True))
    title = recording_title(rec, origin)
    return PhotoReport(title, rec.photo.name, rec.photo.digest, top[0] if top else None, called, small, rec.distance_px, files)


def model_files(vit: Vit, model_facts: ModelFacts, settings: ReportSettings) -> dict[str, bytes]:
    """The files of a model, the same for all photos; fewer where something isn't defined for it."""
    files = {
        f"{p.name}.png": print_figure(p.figure("light"), "png") for p in model_pictures(vit, model_facts, settings) if p.figure
    }
    by_name = model_arrays(model_facts)
    return files | ({"numbers.npz": to_npz(by_name)} if by_name else {})
