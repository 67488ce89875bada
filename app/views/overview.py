"""Overview: the paper's five pictures of one photo, each a door to its page."""

import streamlit as st

from app import controls, session
from app.components.figure import explain

text = session.prose("overview")
st.markdown(text["intro"])
vit, photo, rec = controls.current()

from vitcore import figures  # noqa: E402
from vitcore.analysis.distance import uniform_distance_px  # noqa: E402
from vitcore.analysis.filters import as_picture  # noqa: E402
from vitcore.images import sharp  # noqa: E402

mode, grid = controls.theme(), rec.grid
found, cosine = session.components(vit.name), session.similarity(vit.name)
seen = sharp(photo, rec.seen)
left, right = st.columns(2, gap="large")


def door(place, slug: str, fig, alt: str) -> None:  # type: ignore[no-untyped-def]
    """A small figure, its one line, and the link to its page."""
    with place, st.container(border=True):
        if fig is None:
            st.info(text[f"{slug} none"])
        else:
            fig.update_layout(height=400)
            st.plotly_chart(fig, theme=None, key=f"overview_{slug}", config={"displayModeBar": False}, alt=alt)
        explain(text[slug])
        st.page_link(f"views/{slug}.py", label=text[f"{slug} link"], icon=":material/arrow_forward:")


door(left, "patches", figures.patches(rec.seen.pixels, grid, mode=mode), "The photo cut into patches")
door(right, "attention", figures.rollout(rec.rollout(), seen, grid, mode=mode), "Attention rollout on the photo")
filters = found and figures.filters(as_picture(found.vectors[:28]), found.variance, mode)
door(left, "filters", filters, "Principal components of the embedding filters")
tiles = None if cosine is None else figures.positions(cosine, grid, mode)
door(right, "positions", tiles, "Position-embedding similarity tiles")
far = figures.distance(rec.distance_px, grid, uniform_distance_px(grid), mode=mode)
door(left, "distance", far, "Mean attention distance of every head over depth")
with right, st.container(border=True):
    if rec.top():
        st.plotly_chart(figures.predictions(rec.top(), mode), theme=None, config={"displayModeBar": False}, alt="Top 5")
    explain(text["answer"])
