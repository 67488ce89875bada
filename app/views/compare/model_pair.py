"""Two models, on one photo or on one each: what every part of the page looks at, and the two columns that they stand in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from streamlit.delta_generator import DeltaGenerator

from app import texts
from app.components.figure import picture_container
from app.state.model_ref import ModelRef
from app.state.recordings.model_comparisons import PairKey
from app.state.visit.visit import Visit
from vitcore.file_names import FileSubject
from vitcore.report.gallery_and_imagenet_names import photo_title

if TYPE_CHECKING:
    from vitcore.forward.compare_models import Comparison
    from vitcore.forward.recording import Recording
    from vitcore.models.load_model import Vit

TwoNames = tuple[str, str]


class ControlPlaces(NamedTuple):
    """Where a picture's controls stand, beside the menu of pictures or among the settings; and what stands below them."""

    row: DeltaGenerator
    settings: DeltaGenerator
    below: DeltaGenerator


@dataclass(frozen=True, eq=False, kw_only=True)
class ModelPair(Visit):
    """The visit of the first model, and the second one's of its photo; `comparison` is None where one has no one grid."""

    second: Visit
    model_names: TwoNames  # in the visitor's language, as plain text
    comparison: Comparison | None

    @property
    def visits(self) -> tuple[Visit, Visit]:
        """Both, the first first."""
        return self, self.second

    @property
    def of_one_photo(self) -> bool:
        """Whether both models look at the same photo."""
        return self.photo.digest == self.second.photo.digest

    @property
    def names(self) -> TwoNames:
        """What both pictures are called: by their models, and of two photos by these, too."""
        if self.of_one_photo:
            return self.model_names
        one, two = (photo_title(visit.photo) for visit in self.visits)
        return f"{one} · {self.model_names[0]}", f"{two} · {self.model_names[1]}"

    @property
    def vits(self) -> tuple[Vit, Vit]:
        """Both models."""
        return self.vit, self.second.vit

    @property
    def recs(self) -> tuple[Recording, Recording]:
        """Both recordings."""
        return self.recording, self.second.recording

    @property
    def key(self) -> PairKey:
        """What tells this pair from others, for what is kept."""
        return self.vit.name, self.second.vit.name, self.photo.key, self.second.photo.key

    def file_subjects(self, *sides: str, with_photo: bool = True) -> tuple[str, ...]:
        """What a file of these sides ("a", "b") is named for: the photos, and the models."""
        chosen = ["ab".index(side) for side in sides]
        photos = dict.fromkeys(self.visits[which].subjects[0] for which in chosen if with_photo)
        return *photos, *(FileSubject(_model_name(self.vits[which]), self.model_names[which]) for which in chosen)


def _model_name(vit: Vit) -> str:
    """A model by its name, and how it was varied."""
    ref = ModelRef.parse(vit.name)
    return f"{vit.card.called or replace(ref, variant='')} {ref.variant.partition('.')[0]}".strip()


def side_columns(pair: ModelPair, of_photo: bool = True) -> Iterator[tuple[DeltaGenerator, str, str]]:
    """Two columns, each with its model's name above: the place, "a" or "b", and the name."""
    places = picture_container().columns(2, gap="large", vertical_alignment="bottom")  # one name may take two lines
    for place, key, name in zip(places, "ab", pair.names if of_photo else pair.model_names, strict=True):
        place.markdown(f"### {key.upper()} · {texts.escape_markdown(name)}")
        yield place, key, name
