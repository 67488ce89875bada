"""The mean over many photos, made while its page is looked at: with a progress bar, and a way to stop and to go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app import texts
from app.state.many_photos import averages

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from vitcore.models.load_model import Vit


def averaged(vit: Vit, photos: list[tuple[str, bytes]], place: DeltaGenerator) -> averages.Average | None:
    """Mean distances over photos, in `place` a progress bar and a way to stop; None while there are no photos."""
    if not photos:
        return None
    mean, text = averages.average(vit, photos), texts.prose("common")
    if mean.stopped:
        place.button(text["go on"], icon=":material/play_arrow:", on_click=setattr, args=(mean, "stopped", False))
    elif mean.done < mean.photos:
        bar, stop = place.progress(mean.done / mean.photos, text["looking"]), place.empty()
        stop.button(text["stop"], icon=":material/stop:", on_click=mean.stop)
        for done in averages.go_on(vit, photos, mean):
            bar.progress(done / mean.photos, text.fill("photos done", done=done, count=mean.photos))
        bar.empty()
        stop.empty()
    return mean if mean.images else None
