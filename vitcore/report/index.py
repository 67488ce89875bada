"""The index of a bundle: one page with every photo, its answer and the way to its handout, and the mean over all photos."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from vitcore import figures
from vitcore.analysis.distance import uniform_distance_px
from vitcore.figures import print_figure
from vitcore.report import html
from vitcore.report.contents import Made, mean_distance_px
from vitcore.report.layout import header, page_of
from vitcore.report.pictures import Picture
from vitcore.translation import say

if TYPE_CHECKING:
    from vitcore.models.zoo import Vit

THUMB_PX = 360


def page(
    vit: Vit, weights: str, lang: str, photos: Sequence[Made], problems: Sequence[str], files: Collection[str]
) -> bytes:
    """The page as bytes of a self-contained HTML file; its links lead to the `files` beside it; `weights` is their hash."""
    count = len(photos)
    lead = say("{count} photos seen by {model}", count=count, model=vit.card.title)
    body = [header(say("Inside a Vision Transformer"), say("All photos"), lead)]
    cards = [_card(one) for one in photos]
    body.append(html.tag("section", html.text("h2", say("The photos")), html.tag("div", *cards, class_="cards")))
    if problems:
        rows = [html.text("li", problem) for problem in problems]
        body.append(html.tag("section", html.text("h2", say("Left out")), html.tag("ul", *rows)))
    if count:
        body.append(_mean(vit, photos))
    model = [html.text("h2", say("The model")), html.facts({say("Name"): html.text("span", vit.name),
             say("Weights, SHA-256"): html.text("span", weights)})]  # fmt: skip
    for name, words in (("filters", say("Embedding filters")), ("positions", say("Position-embedding similarity"))):
        if f"model/{name}.png" in files:
            model.append(html.tag("p", html.text("a", words, href=f"model/{name}.png")))
    return page_of(say("All photos"), lang, [*body, html.tag("section", *model)])


def thumbnail(rollout: Picture) -> str:
    """The rollout on the photo, small."""
    drawn = Image.fromarray(rollout.tiles[0][1])
    drawn.thumbnail((THUMB_PX, THUMB_PX), Image.Resampling.LANCZOS)
    return html.image(drawn, rollout.alt, True)


def _card(one: Made) -> str:
    answer = say("{label}, {share}", label=one.top[0], share=f"{one.top[1]:.0%}") if one.top else one.name
    words = html.text("h3", one.title) + html.text("p", answer, class_="about")
    return html.tag("a", one.small, words, class_="card", href=f"{_quoted(one.folder)}/handout.html")


def _quoted(folder: str) -> str:
    from urllib.parse import quote

    return quote(folder)


def _mean(vit: Vit, photos: Sequence[Made]) -> str:
    px, grid, images = mean_distance_px(photos).astype(np.float32), vit.grid, len(photos)
    even = uniform_distance_px(grid)
    drawn = []
    for mode in ("light", "dark"):
        fig = figures.distance(px, grid, even, images=images, mode=mode)
        fig.layout.title = None
        drawn.append(print_figure(fig, "svg"))
    title = say("Mean attention distance over all photos")
    picture = html.tag("div", html.drawing(drawn[0], drawn[1], title), class_="pixels")
    return html.tag("section", html.text("h2", title), html.tag("figure", picture, class_="measure"))
