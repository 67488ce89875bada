"""What the steps of the story are made of: a step as a row of data, and the story all of them look at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from app.state.recordings import cached_block_activations, cached_recordings, photo_patches
from app.state.visit.visit import Visit
from vitcore.translation import decimal

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False, kw_only=True)
class StoryVisit(Visit):
    """The visit with a pinned patch; `layer` and `head` (from 0) are those of the step inside a block."""

    patch: int
    head: int

    @property
    def token(self) -> int:
        """The pinned patch's place in the sequence."""
        return self.grid.prefix + self.patch

    @cached_property
    def patch_pixels(self) -> NDArray:
        """(N, P, P, 3) patches."""
        return photo_patches.split_patches(self.recording, self.grid)

    @cached_property
    def normalised_patch(self) -> NDArray:
        """(P, P, 3) values of the pinned patch as the model gets them."""
        return photo_patches.normalise_patch(self.patch_pixels[self.patch], self.vit)

    @cached_property
    def embeddings(self) -> NDArray:
        """(N, D) patch embeddings before positions."""
        return cached_recordings.patch_embeddings(self.recording)

    @cached_property
    def facts(self) -> dict[str, Any]:
        """Numbers any text may name."""
        grid = self.grid
        (high, wide), (row, col) = grid.image_px, grid.row_col(self.patch)
        side, across = grid.step_px
        return {
            "high": high, "wide": wide, "pixels": f"{high * wide:,}", "all": f"{high * wide * 3:,}", "side": side, "across": across,
            "patches": grid.patches, "rows": grid.rows, "cols": grid.cols, "numbers": side * across * 3, "patch": self.patch,
            "row": row, "col": col, "token": self.token, "tokens": grid.tokens, "prefix": grid.prefix,
            "width": self.embeddings.shape[1], "heads": self.vit.heads, "layers": self.vit.blocks, "layer": self.layer,
            "head": self.head, "last": self.vit.blocks - 1, "classes": f"{len(self.vit.labels):,}",
            "readout": self.texts[self.vit.pooling], "value": self.patch_pixels[self.patch].flat[0],
            "given": decimal(self.normalised_patch.flat[0], 2),
        }  # fmt: skip

    @cached_property
    def activations(self) -> Any:
        """What the chosen layer does to the pinned patch's token, or None."""
        return cached_block_activations.trace_token(self.recording, self.layer, self.token, self.vit)

    def fill_text(self, key: str, **more_facts: Any) -> str:
        """A text with its numbers filled in."""
        return self.texts.fill(key, **self.facts | more_facts)


def _same_for_every_model(_: StoryVisit) -> str:
    """A step that is told in the same words for every model."""
    return ""


@dataclass(frozen=True)
class StoryStep:
    """A step: its key in the texts, its equation (a line of LaTeX or two), its picture, and its question's answer.

    `question_facts` gives the facts of the answer and the right option; `model_kind` names the texts for a different model,
    e.g. " hybrid"; `draw_below_text` draws below the prose, `draw_below_answer` below the answer what would give it away;
    `more_to_read` is said where a picture's reading is.
    """

    key: str
    equation: Callable[[StoryVisit], str]
    draw_picture: Callable[[StoryVisit], None]
    question_facts: Callable[[StoryVisit], tuple[dict[str, Any], int]]
    model_kind: Callable[[StoryVisit], str] = _same_for_every_model
    draw_below_text: Callable[[StoryVisit], None] | None = None
    draw_below_answer: Callable[[StoryVisit], None] | None = None
    more_to_read: Callable[[StoryVisit], str] | None = None

    def text_key(self, story: StoryVisit, part: str = "") -> str | None:
        """The key of a part ("", "how", "question", …) of this step's texts for this model; None where there is none."""
        for name in (f"{self.key}{self.model_kind(story)}", self.key):
            key = f"{name} {part}".strip()
            if key in story.texts:
                return key
        return None
