"""The mean over many photos, made while its page is looked at: with a progress bar, and a way to stop and to go on."""

from streamlit.delta_generator import DeltaGenerator

from app import texts
from app.state.jobs import average_distance
from vitcore.models.vit import Vit


def average_with_progress(
    vit: Vit, photos: list[tuple[str, bytes]], place: DeltaGenerator
) -> average_distance.AverageDistance | None:
    """Mean distances over photos, in `place` a progress bar and a way to stop; None while there are no photos."""
    if not photos:
        return None
    job, text = average_distance.current_average(vit, photos), texts.prose("common")
    if job.stopped:
        place.button(text["go on"], icon=":material/play_arrow:", on_click=setattr, args=(job, "stopped", False))
    elif job.done_count < job.photo_count:
        bar, stop = place.progress(job.done_count / job.photo_count, text["looking"]), place.empty()
        stop.button(text["stop"], icon=":material/stop:", on_click=job.stop)
        for done in average_distance.average_over_photos(vit, photos, job):
            bar.progress(done / job.photo_count, text.fill("photos done", done=done, count=job.photo_count))
        bar.empty()
        stop.empty()
    return job if job.averaged_count else None
