"""The index of a bundle: one page with every photo, its answer and the way to its handout, and the mean over all photos."""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from PIL import Image

from vitcore import figures
from vitcore.analysis.attention_distance import uniform_distance_px
from vitcore.models.load_model import Vit
from vitcore.report import html_page
from vitcore.report.report_numbers import PhotoReport, mean_distance_px
from vitcore.report.report_pictures import ReportPicture
from vitcore.translation import percent, say

THUMBNAIL_PX = 360


def index_page(
    vit: Vit, weights: str, lang: str, photos: Sequence[PhotoReport], problems: Sequence[str], files: Collection[str]
) -> bytes:
    """The page as bytes of a self-contained HTML file; its links lead to the `files` beside it; `weights` is their hash."""
    links = (("filters", say("Embedding filters")), ("positions", say("Position-embedding similarity")))
    return html_page.render_html(
        "index.html", lang=lang, title=say("All photos"), problems=problems, model=vit.display_name, weights=weights,
        lead=say("{count} {count:photo|photos} seen by {model}", count=len(photos), model=vit.card.title),
        photos=[_card(one) for one in photos], mean=_mean(vit, photos) if photos else None,
        links=[(name, words) for name, words in links if f"model/{name}.png" in files],
    )  # fmt: skip


def rollout_thumbnail(rollout: ReportPicture) -> html_page.EmbeddedImage:
    """The rollout on the photo, small."""
    drawn = Image.fromarray(rollout.tiles[0][1])
    drawn.thumbnail((THUMBNAIL_PX, THUMBNAIL_PX), Image.Resampling.LANCZOS)
    return html_page.embed_image(drawn, rollout.alt, True)


def _card(one: PhotoReport) -> dict[str, Any]:
    answer = say("{label}, {share}", label=one.called, share=percent(one.top[1])) if one.top else one.name
    return {"folder": one.folder, "small": one.small, "title": one.title, "answer": answer}


def _mean(vit: Vit, photos: Sequence[PhotoReport]) -> html_page.ThemedSvg:
    px, grid, images = mean_distance_px(photos).astype(np.float32), vit.grid, len(photos)
    even = uniform_distance_px(grid)
    fig = figures.attention_distance(px, grid, even, images=images)
    return html_page.embed_figure(fig, say("Mean attention distance over all photos"))
