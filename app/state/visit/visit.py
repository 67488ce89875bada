"""What a page looks at: a model, a photo and their recording, the theme, the page's texts, and what is selected."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from PIL import Image

from app.components.component_files import media_url
from app.state.recordings import cached_recordings, relevance_maps
from vitcore.file_names import FileSubject
from vitcore.grid import Grid
from vitcore.images import Photo
from vitcore.report.gallery_and_imagenet_names import photo_title
from vitcore.translation import say

if TYPE_CHECKING:
    from app.texts import Prose
    from vitcore.forward.recording import Recording
    from vitcore.models.load_model import Vit

VisitKind = TypeVar("VisitKind", bound="Visit")


@dataclass(frozen=True, eq=False, kw_only=True)
class Visit:
    """One run of a page, made by the frame; `patch` None: where the answer is read, `head` None: the mean of heads.

    What a page leaves behind (a download, a callback) names what it needs and holds no visit: no model could make way.
    """

    vit: Vit
    photo: Photo
    recording: Recording
    mode: Any  # the theme, "light" or "dark"
    texts: Prose
    patch: int | None = None
    layer: int = 0
    head: int | None = None

    def extend(self, kind: type[VisitKind], **more: Any) -> VisitKind:
        """The same with what else a page's parts look at."""
        return kind(**{field.name: getattr(self, field.name) for field in fields(self)} | more)

    @property
    def grid(self) -> Grid:
        return self.recording.grid

    @property
    def subjects(self) -> tuple[str, str]:
        """What files are named for: the photo and the model, with the names that pages show."""
        return photo_subject(self.photo), model_subject(self.vit)

    @property
    def sample(self) -> str:
        """The photo's name in the gallery; empty for one that a visitor brought."""
        return "" if self.photo.whose else self.photo.name.removesuffix(".jpg")

    @property
    def prefix_names(self) -> tuple[str, ...]:
        """The names of the tokens before the patches: "class", "register 0", …"""
        from vitcore.forward.block_activations import prefix_token_names

        return prefix_token_names(self.vit)

    @property
    def readout(self) -> str:
        """Where the model's answer is read, in the visitor's language."""
        return say(self.vit.pooling)

    @property
    def input_picture(self) -> Image.Image:
        """What the model sees, at the photo's own sharpness."""
        return cached_recordings.input_picture(self.recording)[0]

    @cached_property
    def photo_url(self) -> str:
        return media_url(cached_recordings.input_picture(self.recording)[1], "image/jpeg", "photo")

    @cached_property
    def detail_url(self) -> str:
        """The address of the photo's fine detail, as it is added to heat."""
        return media_url(relevance_maps.fine_detail_jpeg(self.recording), "image/jpeg", "detail")


def photo_subject(photo: Photo) -> FileSubject:
    return FileSubject(photo.name, photo_title(photo))


def model_subject(vit: Vit) -> FileSubject:
    return FileSubject(vit.display_name, vit.card.title)
