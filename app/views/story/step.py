"""What the steps of the story are made of: a step as a row of data, and the scene all of them look at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from app.components import address
from app.components.figure import plot
from app.state import insights, session
from app.texts import Prose
from vitcore.translation import decimal

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from vitcore.forward.recording import Recording
    from vitcore.images import Photo
    from vitcore.models.load_model import Vit


@dataclass(frozen=True, eq=False)
class Scene:
    """One photo, one model, one pinned patch; `layer` and `head` (from 0) are those of the step inside a block."""

    vit: Vit
    photo: Photo
    rec: Recording
    patch: int
    layer: int
    head: int
    mode: Any
    text: Prose

    @property
    def token(self) -> int:
        """The pinned patch's place in the sequence."""
        return self.rec.grid.prefix + self.patch

    @cached_property
    def address(self) -> str:
        """What the model sees, at the photo's own sharpness."""
        return address(session.shown(self.rec)[1], "image/jpeg", "photo")

    @cached_property
    def detail(self) -> str:
        """The photo's fine detail, under heat."""
        return address(insights.detail(self.rec), "image/jpeg", "detail")

    @cached_property
    def cuts(self) -> NDArray:
        """(N, P, P, 3) patches."""
        from vitcore.analysis.patches import split_patches

        return split_patches(self.rec.model_input.pixels, self.rec.grid)

    @cached_property
    def given(self) -> NDArray:
        """(P, P, 3) values of the pinned patch as the model gets them."""
        from vitcore.analysis.patches import normalise_pixels

        return normalise_pixels(self.cuts[self.patch], self.vit.mean, self.vit.std)

    @cached_property
    def embeddings(self) -> NDArray:
        """(N, D) patch embeddings before positions."""
        return session.embeddings(self.rec)

    @cached_property
    def facts(self) -> dict[str, Any]:
        """Numbers any text may name."""
        grid = self.rec.grid
        (high, wide), (row, col) = grid.image_px, grid.row_col(self.patch)
        side, across = grid.step_px
        return {
            "high": high, "wide": wide, "pixels": f"{high * wide:,}", "all": f"{high * wide * 3:,}", "side": side, "across": across,
            "patches": grid.patches, "rows": grid.rows, "cols": grid.cols, "numbers": side * across * 3, "patch": self.patch,
            "row": row, "col": col, "token": self.token, "tokens": grid.tokens, "prefix": grid.prefix,
            "width": self.embeddings.shape[1], "heads": self.vit.heads, "layers": self.vit.blocks, "layer": self.layer,
            "head": self.head, "last": self.vit.blocks - 1, "classes": f"{len(self.vit.labels):,}",
            "readout": self.text[self.vit.readout], "value": self.cuts[self.patch].flat[0], "given": decimal(self.given.flat[0], 2),
        }  # fmt: skip

    @cached_property
    def inside(self) -> Any:
        """What the chosen layer does to the pinned patch's token, or None."""
        return insights.token_in_block(self.rec, self.layer, self.token, self.vit)

    def say(self, key: str, **more: Any) -> str:
        """A text with its numbers filled in."""
        return self.text.fill(key, **self.facts | more)


def always(_: Scene) -> str:
    """A step that is told in the same words for every model."""
    return ""


@dataclass(frozen=True)
class Step:
    """A step: its key in the texts, its equation (a line of LaTeX or two), its picture, and its question's answer.

    `ask` gives the facts of the answer and which option is right; `kind` names the texts for a model that is different,
    e.g. " hybrid"; `beside` draws below the prose,
    `shown_after` below the answer what would give it away.
    """

    key: str
    equation: Callable[[Scene], str]
    draw: Callable[[Scene], None]
    ask: Callable[[Scene], tuple[dict[str, Any], int]]
    kind: Callable[[Scene], str] = always
    beside: Callable[[Scene], None] | None = None
    shown_after: Callable[[Scene], None] | None = None

    def words(self, scene: Scene, part: str = "") -> str | None:
        """The key of a part ("", "how", "question", …) of this step's texts for this model; None where there is none."""
        for name in (f"{self.key}{self.kind(scene)}", self.key):
            key = f"{name} {part}".strip()
            if key in scene.text:
                return key
        return None


def chart(fig: Any, key: str, alt: str) -> None:
    """A figure of the story."""
    plot(fig, key, alt)
