"""What the page's first part looks at: what is off, what takes its place, the map that is shown, and the drops of every head."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from app.state.recordings import interventions
from app.state.recordings.covered_photos import ChangedPass
from app.state.visit.visit import Visit
from app.widgets import outlier_masking
from vitcore.models.model_cards import ModelError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from vitcore.interventions.component_switches import Component


@dataclass(frozen=True, eq=False, kw_only=True)
class SwitchVisit(Visit):
    """Names of what is off, as text; the replacement; "rollout" or "class_attention"; the drops, where every head was tried."""

    components: list[Component]
    off: str
    by: str
    map_name: str
    drops: NDArray | None

    @cached_property
    def after(self) -> ChangedPass | str:
        """The pass without what is off, or why this model can't make it, as a sentence."""
        try:
            return interventions.switched_pass(self.recording, self.off, self.by, outlier_masking.is_on(), self.vit)
        except ModelError as error:
            return str(error)

    @cached_property
    def map_before(self) -> NDArray:
        """(rows, cols) of the pass as it is."""
        shown = outlier_masking.recording_to_show(self)
        return shown.rollout() if self.map_name == "rollout" else shown.pooled_attention(self.vit.blocks - 1)

    @cached_property
    def map_after(self) -> NDArray | None:
        """(rows, cols) without what is off; None where the model can't make it."""
        return None if isinstance(self.after, str) else getattr(self.after, self.map_name)
