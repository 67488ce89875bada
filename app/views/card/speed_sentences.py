"""What a measurement says, in sentences: the best rate beside the limit, what larger batches bring, and what they take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.texts import Prose, escape_markdown
from vitcore.translation import percent

if TYPE_CHECKING:
    from vitcore.profiling.throughput import ThroughputProfile

NOTICEABLE_SPEEDUP = 1.1  # times as fast: less is within what a machine varies by


def speed_sentences(profile: ThroughputProfile, title: str, text: Prose) -> str:
    """The sentences, for a profile with one batch size or more."""
    speeds, limit = profile.speeds, profile.limit_images_per_s
    best = max(speeds, key=lambda one: one.images_per_s)
    sentences = [text.fill(
        "training finding" if profile.training else "finding", model=escape_markdown(title), rate=f"{best.images_per_s:.3g}",
        batch=best.batch, share=percent(best.images_per_s / limit, 0), limit=f"{limit:.3g}",
    )]  # fmt: skip
    if len(speeds) > 1:
        times = best.images_per_s / speeds[0].images_per_s
        key = "batches help" if times >= NOTICEABLE_SPEEDUP else "batches do not help"
        sentences.append(text[key].format(times=f"{times:.2g}", more=percent(times - 1, 0), batch=best.batch))
    known = [one for one in speeds if one.memory_mb is not None]
    if len(known) > 1:
        facts = {"low": f"{known[0].memory_mb:,.0f}", "high": f"{known[-1].memory_mb:,.0f}", "batch": known[-1].batch}
        sentences.append(text["memory finding"].format(**facts))
    if profile.too_large is not None:
        sentences.append(text["too large"].format(batch=profile.too_large))
    if profile.largest_batch is not None:
        key = "largest" if profile.largest_batch else "none fits"
        sentences.append(text[key].format(batch=profile.largest_batch, gb=f"{profile.memory_gb:g}"))
    return text.joined(sentences)
